"""Remove what an installer byte-compiled in the template: cookiecutter copies it along."""

import shutil
from pathlib import Path

for folder in list(Path.cwd().rglob("__pycache__")):
    shutil.rmtree(folder)
