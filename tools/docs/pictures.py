"""Takes the pictures of the HTML report that the README and the first page show: `make pictures`.

The demo is run anew for them. Needs chromium; how letters look depends on the machine's fonts.
"""

from __future__ import annotations

import base64
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "docs" / "assets"
WIDTH, SCALE = 1240, 1.5


def main() -> None:
    ASSETS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _browser().started() as browser:
        command = [sys.executable, "-m", "cbcore", "run", str(ROOT / "examples/demo.yaml")]
        subprocess.run([*command, "-o", "html=report.html"], cwd=folder, check=True)
        page = Path(folder, "report.html").as_uri()
        with browser.looking(width=WIDTH, height=1000):
            browser.open(page)
            end = "return document.querySelector('#systems details').getBoundingClientRect().top"
            _take(browser, "report.png", height=browser.run(end))
        with browser.looking(width=WIDTH, height=900):
            browser.open(f"{page}#example=sample-10&system=head+150&outcome=worse")
            _take(browser, "example.png", height=900)


def _take(browser: Any, name: str, *, height: float) -> None:
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": SCALE}
    shot = {"captureBeyondViewport": True, "clip": clip}
    taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", shot)
    (ASSETS / name).write_bytes(base64.b64decode(taken["data"]))
    sys.stdout.write(f"{ASSETS / name}\n")


def _browser() -> Any:
    """The browser that the tests of the report use."""
    path = ROOT / "plugins/cb-reporters/tests/browser.py"
    spec = importlib.util.spec_from_file_location("browser", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
