"""The flags that cb-code-execution adds to `cb run`."""

from __future__ import annotations

from cbcore.settings import Option

ALLOW_UNSANDBOXED = Option(
    type=bool,
    help="Run generated code although no sandbox works on this machine.",
    fill=True,
)
