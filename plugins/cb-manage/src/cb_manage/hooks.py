"""`cb run --locked`: only with the plugins in cb-plugins.lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cbcore.settings import RunSettings


def cb_configure(settings: RunSettings, builder: Any) -> None:
    """Refuse the run if the plugins in use are not those locked."""
    if settings.get("locked"):
        from cb_manage.lockfile import require_locked

        require_locked(builder.catalog.plugins)
