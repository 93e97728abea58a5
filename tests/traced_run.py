"""What of the core a run enters: `python tests/traced_run.py` prints it as JSON.

`frames` are the functions of the core between the command and the code of the user, `modules` and
`functions` those that are entered until the run is over. Bodies of classes and modules, lambdas and
comprehensions do not count.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import cb_baselines
import cbcore

CORE = str(Path(cbcore.__file__).parent)
READER = str(Path(cb_baselines.__file__).parent)
COMMAND = ["run", "-s", "bm25:max_tokens=150 | extractive", "-d", "hotpotqa:sample", "--no-cache"]
_NAMELESS = ("<module>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def main() -> None:
    entered: set[tuple[str, str, int]] = set()
    frames: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call":
            return
        # The body of a class has no variables that are faster than a dictionary's.
        if code.co_filename.startswith(CORE) and code.co_flags & 1:
            if code.co_name not in _NAMELESS:
                name = str(Path(code.co_filename).relative_to(CORE))
                entered.add((name, code.co_qualname, code.co_firstlineno))
        elif code.co_name == "process" and code.co_filename.startswith(READER) and not frames:
            frames.extend(_list_frames(frame))

    sys.argv = ["cb", *COMMAND, *sys.argv[1:]]
    threading.setprofile(note)
    sys.setprofile(note)
    from cbcore.cli import main as run_command

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        run_command()
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    modules = {name for name, _, _ in entered}
    counts = {"modules": len(modules), "functions": len(entered)}
    sys.stdout.write(json.dumps({"frames": frames, **counts}) + "\n")
    if "-v" in sys.argv:
        for name, function, line in sorted(entered):
            sys.stdout.write(f"{name}:{line} {function}\n")


def _list_frames(frame: FrameType | None) -> list[str]:
    """The functions of the core below a frame, the outermost first."""
    found: list[str] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(CORE) and code.co_name not in _NAMELESS:
            found.insert(0, code.co_qualname)
        frame = frame.f_back
    return found


if __name__ == "__main__":
    main()
