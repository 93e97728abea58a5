"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from benchmarks import environments


def describe() -> dict[str, str]:
    """The machine, the interpreter and how busy it was. No names of hosts or users."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
        "load average before": load_average(),
    }


def load_average() -> str:
    """How busy the machine is; beyond the number of cores, wall times say little."""
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def versions() -> dict[str, str]:
    """The versions that were compared: ours, and those of the peers that are set up."""
    ours = environments.installed_cb()
    digest = environments.sources_digest(ours)
    found = {"cbcore": f"{environments.version(ours.python, 'cbcore')}, sources {digest}"}
    for name, distribution in environments.DISTRIBUTIONS.items():
        python = environments.ENVIRONMENTS / name / "bin" / "python"
        if python.exists():
            found[distribution] = environments.version(str(python), distribution)
    return found


def _processor() -> str:
    return _field("/proc/cpuinfo", "model name") or platform.processor() or "unknown"


def _memory() -> str:
    text = _field("/proc/meminfo", "MemTotal")
    return f"{int(text.split()[0]) / 1024**2:.1f} GiB" if text else "unknown"


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    found = [line.partition(":")[2].strip() for line in lines if line.startswith(name)]
    return found[0] if found else ""
