"""A system and an evaluator that do to their worker what an example says."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Trial:
    """Does `example["do"]`, and returns the number of its process and of the call."""

    name = "trial"

    def __init__(self, start="", mark=""):
        """`start` is what goes wrong where workers make it."""
        self.n_calls = 0
        if multiprocessing.parent_process() is None:
            return
        if start == "exit":
            os._exit(3)
        if start == "raise":
            raise ValueError("no such model")
        if start == "die once" and not Path(mark).exists():
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def process(self, example):
        self.n_calls += 1
        done = getattr(self, f"do_{example.get('do', 'nothing')}")(example)
        return {"response": "done", "pid": os.getpid(), "n": self.n_calls, "done": done}

    def do_nothing(self, example):
        pass

    def do_segfault(self, example):
        ctypes.string_at(0)

    def do_leave(self, example):
        os._exit(3)

    def do_exit(self, example):
        sys.exit(3)

    def do_kill(self, example):
        os.kill(os.getpid(), signal.SIGKILL)

    def do_stop(self, example):
        os.kill(os.getpid(), signal.SIGSTOP)

    def do_leave_a_child(self, example):
        """It holds the pipe of its worker open, in a session of its own."""
        if os.fork() == 0:
            os.setsid()
            Path(example["mark"]).write_text(str(os.getpid()))
            time.sleep(3600)
        while not Path(example["mark"]).exists():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    def do_start_a_child(self, example):
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]).pid

    def do_sleep(self, example):
        Path(example["mark"]).touch()
        time.sleep(3600)

    def do_take_memory(self, example):
        return len(bytearray(2 << 30))

    def do_print(self, example):
        print("printed", os.environ.get("TRIAL_KEY"))
        sys.stdout.buffer.write(b"written\n")
        sys.stdout.flush()

    def do_write_without_end(self, example):
        sys.stdout.buffer.write(b"at the end of a call")

    def do_return_a_key(self, example):
        return os.environ["TRIAL_KEY"]

    def do_return_much(self, example):
        return "x" * 20_000_000


class Length:
    """Scores in a worker, too."""

    name = "length"
    emits = ("length",)

    def score(self, original, processed):
        return {"length": float(len(processed["response"])), "pid": float(os.getpid())}
