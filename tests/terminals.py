"""Commands at a real terminal, with a person who answers."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

AT_A_TERMINAL = """
import fcntl, os, signal, sys, termios
os.setsid()
signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests in the background inherit that it is ignored
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "cbcore", *sys.argv[1:]])
"""
"""Makes the terminal the one whose Ctrl-C reaches the process."""


class Terminal:
    """A terminal with a command of `cb` in it."""

    def __init__(self, place, *arguments):
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_A_TERMINAL, *arguments],
            cwd=place.folder,
            env=place.environment(TERM="dumb"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self.text = ""
        self._read = 0

    def answer(self, question, text):
        """Wait until a question is asked, and type something."""
        self.said(question)
        os.write(self._ours, text.encode())

    def said(self, wanted):
        """Wait until something is said, after what was last waited for."""
        while wanted not in self.text[self._read :]:
            piece = self._piece()
            assert piece, f"{wanted!r} was never said:\n{self.text}"
            self.text += piece
        self._read = self.text.index(wanted, self._read) + len(wanted)

    def leave(self, question, keys):
        """Press keys at a question, and again where nothing comes of it.

        An interpreter that is about to read a line can miss the signal of the first.
        """
        self.answer(question, keys)
        for _ in range(20):
            if "interrupted" in self.text[self._read :]:
                return
            piece = self._piece(wait_s=5)
            self.text += piece
            if not piece:
                os.write(self._ours, keys.encode())
        self.process.kill()
        pytest.fail(f"{keys!r} did not end it:\n{self.text}")

    def _piece(self, wait_s=30):
        ready, _, _ = select.select([self._ours], [], [], wait_s)
        try:
            return os.read(self._ours, 4096).decode() if ready else ""
        except OSError:  # the other side was closed
            return ""

    def ended(self):
        """The exit code, after all that was said."""
        while piece := self._piece():
            self.text += piece
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"it did not end:\n{self.text}")
        finally:
            os.close(self._ours)
