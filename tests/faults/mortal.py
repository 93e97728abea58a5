"""A system that writes down its calls and its process, and on one example does its worst."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import time

from tests.faults.bench import note


class Mortal:
    """`how` it goes wrong, and `on` which example; otherwise a call takes `call_s`."""

    name = "mortal"

    def __init__(self, how: str = "", on: int = 3, call_s: float = 0.0) -> None:
        self.how = how
        self.on = on
        self.call_s = call_s

    def process(self, example):
        note(f"s {example['id']} {os.getpid()}")
        time.sleep(self.call_s)
        output = {"response": f"answer {example['id']}."}
        if example["id"] == self.on:
            output |= getattr(self, self.how, dict)()
        note(f"e {example['id']}")
        return output

    def segfaults(self):
        ctypes.string_at(0)

    def exits(self):
        os._exit(3)

    def exits_from_c(self):
        ctypes.CDLL(None)._exit(7)

    def is_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def stops(self):
        os.kill(os.getpid(), signal.SIGSTOP)

    def takes_memory(self):
        return {"much": len(bytearray(2 << 30))}

    def sleeps(self):
        time.sleep(3600)

    def holds_the_interpreter(self):
        re.match(r"(a+)+$", "a" * 60 + "b")

    def leaves_a_child(self):
        """Which holds the pipe of its worker open, when that is gone."""
        if os.fork() == 0:
            time.sleep(3600)
        os.kill(os.getpid(), signal.SIGKILL)
