"""Which language a text is in, by langdetect, made repeatable."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

_loading = Lock()


def languages() -> frozenset[str]:
    """The codes of the languages that can be told apart."""
    return frozenset(_factory().langlist)


def detected_language(text: str) -> str | None:
    """The code of the text's language; None where the text has nothing to tell it by.

    langdetect draws at random; here it always starts from the same seed, so that a text has
    one language.
    """
    from langdetect.lang_detect_exception import LangDetectException

    detector = _factory().create()
    detector.seed = 0
    try:
        detector.append(text)
        return str(detector.detect())
    except LangDetectException:
        return None


def _factory() -> Any:
    with _loading:  # two threads would otherwise both read the profiles
        return _loaded_factory()


@lru_cache(maxsize=1)
def _loaded_factory() -> Any:
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory = DetectorFactory()
    # In the order of their names: the package reads them in the order of the folder.
    profiles = sorted(path for path in Path(PROFILES_DIRECTORY).iterdir() if path.is_file())
    factory.load_json_profile([path.read_text("utf-8") for path in profiles])
    return factory
