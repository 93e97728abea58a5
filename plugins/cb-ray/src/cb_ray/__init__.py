"""Ray as an executor of cb: `--executor ray` starts one here, `ray:address=…` joins a cluster.

Ray is imported when a run opens its first workers.
"""

from cb_ray.executor import RayExecutor

__all__ = ("RayExecutor",)
