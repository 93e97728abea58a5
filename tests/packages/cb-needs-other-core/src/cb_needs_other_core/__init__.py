"""Leaves a trace when it is imported, which must not happen."""

import os
from pathlib import Path

if "CB_SIDE_EFFECT" in os.environ:
    Path(os.environ["CB_SIDE_EFFECT"]).write_text("imported")


class System:
    """Answer nothing."""

    name = "futuristic"

    def process(self, example):
        return {"response": ""}
