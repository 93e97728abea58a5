"""Ray as an executor of cb: `--executor ray` starts one here, `ray:address=…` joins a cluster.

Ray itself is imported in a process of its own, `cb_ray.envoy`, when a run opens a crew, and never
in the process of the run: it ends a process that has lost its cluster, and waits without a limit
for a head that is gone. What it does there costs a run no more than the batches under way.
"""

from cb_ray.executor import RayExecutor

__all__ = ("RayExecutor",)
