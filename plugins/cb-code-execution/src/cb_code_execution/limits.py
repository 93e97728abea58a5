"""What a program in the sandbox may use."""

from __future__ import annotations

import attrs


@attrs.frozen
class Limits:
    """What a program may use.

    Memory is what each process has for itself, used or not; all together may have four times
    as much. Threads count as processes, of which solution and tests may have so many each. Files
    are counted together.
    """

    time_s: float = 10.0
    memory_mb: int = 512
    processes: int = 64
    output_bytes: int = 1_000_000
    file_mb: int = 64
    files: int = 10_000

    @property
    def memory_bytes_of_all(self) -> int:
        """What all processes may have together; a page that several share counts for each."""
        return 4 * self.memory_mb << 20

    @property
    def thread_stack_bytes(self) -> int:
        """The stack of a thread: as many as there may be have half of the memory for it."""
        each = (self.memory_mb << 20) // 2 // self.processes
        return min(max(each >> 16, 4), 128) << 16

    def resources(self) -> dict[str, int]:
        """The limits on each process that the kernel keeps, by the names of module `resource`."""
        return {
            "CPU": int(self.time_s) + 1,
            # Of address space that is only reserved or maps a file there may be more.
            "DATA": self.memory_mb << 20,
            "AS": self.memory_bytes_of_all,
            "FSIZE": self.file_mb << 20,
            "NOFILE": 256,
            "CORE": 0,
            # Those of the solution and those of the tests are one user's.
            "NPROC": 2 * self.processes,
            "SIGPENDING": 4096,
            "MSGQUEUE": 0,
        }
