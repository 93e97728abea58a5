"""The sandbox, attacked: what a program may not do, by every mechanism this machine offers.

The environment, home, files outside, sockets, other processes, forks, memory, output, orphans,
signals, privileges, and the verdict itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from cb_code_execution import _server
from cb_code_execution._syscalls import call_filter
from cb_code_execution.limits import Limits
from cb_code_execution.machine import MECHANISMS, find, unconfined
from cb_code_execution.sandbox import Sandbox, SandboxError

LIMITS = Limits(time_s=20, memory_mb=256, processes=32, output_bytes=100_000, file_mb=8)


@pytest.fixture(params=MECHANISMS)
def sandbox(request):
    """A sandbox by each mechanism; skipped, with the reason, where one does not work."""
    try:
        return find(LIMITS, mechanisms=(request.param,))
    except SandboxError as error:
        pytest.skip(error.message)


def running(mark):
    """The processes of this machine that have a word among their arguments, not in their code."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [int(process.parent.name)] if mark in process.read_text().split("\0") else []
    return found


def patient(sandbox, time_s):
    return attrs.evolve(sandbox, limits=Limits(time_s=time_s))


@pytest.mark.parametrize(
    ("solution", "tests", "status", "message"),
    [
        ("def f(): return 1", "assert f() == 1", "passed", ""),
        (
            "def f(): return 2",
            "assert f() == 1, 'f is not 1'",
            "failed",
            "AssertionError: f is not 1",
        ),
        ("def f(: return 2", "", "failed", "SyntaxError"),
        ("raise ValueError('no')", "", "failed", "ValueError: no"),
        ("import sys; sys.exit(0)", "", "failed", "SystemExit: 0"),
        ("import os; os._exit(0)", "", "exited", "exit code 0"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "",
            "exited",
            "before its tests",
        ),
        ("class E(Exception):\n    __bool__ = lambda s: False\nraise E", "", "failed", "E"),
        ("x = '''", "'''\nassert False", "failed", "SyntaxError"),
        ("import atexit; atexit.register(print, 'bye')", "", "passed", ""),
        ("input()", "", "failed", "EOFError"),
        ("", "", "passed", ""),
        ("x = '\\ud800'", "", "passed", ""),
        ("é = 'ü'", "assert é == 'ü'", "passed", ""),
    ],
)
def test_only_coming_to_the_end_of_the_tests_is_a_pass(sandbox, solution, tests, status, message):
    """Leaving early is a fail, with whatever exit code."""
    outcome = sandbox.run(solution, tests)
    assert outcome.status == status
    assert message in outcome.message


def test_a_source_of_a_megabyte_is_run(sandbox):
    """Sources do not travel through arguments, which have a limit."""
    solution = "x = [\n" + "    12345678,\n" * 90_000 + "]\n"
    assert len(solution) > 1_000_000
    assert sandbox.run(solution, "assert len(x) == 90_000").passed


def test_the_environment_is_not_seen(sandbox, monkeypatch):
    """A key in the environment stays there."""
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    look = "import os\nassert 'SOME_API_KEY' not in os.environ\n"
    assert sandbox.run(look, "assert 'sk-secret' not in str(dict(os.environ))").passed


@pytest.mark.parametrize(
    "path", ["{secret}", "/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/{pid}/environ"]
)
def test_files_cannot_be_read(sandbox, tmp_path, path):
    """Neither the user's nor the machine's."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for folder in (secret, *tmp_path.parents):
        if os.access(folder, os.W_OK) and folder.is_relative_to("/tmp/pytest"):
            folder.chmod(folder.stat().st_mode | 0o555)
    outcome = sandbox.run(f"open({path.format(secret=secret, pid=os.getpid())!r}).read()", "")
    assert outcome.status == "failed"
    assert outcome.message.startswith(("PermissionError", "FileNotFoundError"))


@pytest.mark.parametrize("folder", ["{tmp}", "/tmp", "/", "/usr", "/dev/shm", "{home}"])
def test_nothing_is_written_outside(sandbox, tmp_path, folder):
    """Wherever a program may write, nothing of it is left on this machine."""
    tmp_path.chmod(0o777)
    target = Path(folder.format(tmp=tmp_path, home=Path.home()), "cb-written-by-an-attack")
    sandbox.run(f"open({str(target)!r}, 'w').write('x')", "")
    assert not target.exists()


def test_the_scratch_folder_works_and_is_gone_afterwards(sandbox):
    """A program may use files of its own."""
    write = "open('notes.txt', 'w').write('x')\nimport os\n"
    assert sandbox.run(write, "assert open('notes.txt').read() == 'x'").passed
    assert sandbox.run("import os", "assert not os.path.exists('notes.txt')").passed


def test_output_can_be_thrown_away(sandbox):
    """As subprocesses and test runners do: what is written there is nowhere."""
    throw = "import subprocess, sys\nquiet = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL}\n"
    call = "subprocess.run([sys.executable, '-c', 'print(1)'], check=True, **quiet)"
    assert sandbox.run(throw, call).passed
    assert sandbox.run("open('/dev/null', 'w').write('x')", "").passed


@pytest.mark.parametrize("folder", [".", "/", "/etc", "/dev", "/dev/shm", "/tmp"])
def test_neither_disk_nor_memory_can_be_filled_with_files(sandbox, folder):
    """Neither with one file nor with many, in whichever folder."""
    fill = f"for i in range(20):\n    open(f'{folder}/{{i}}', 'wb').write(bytes(1 << 20))\n"
    outcome = sandbox.run(fill, "")
    assert outcome.message.startswith(("OSError", "PermissionError", "FileNotFoundError"))


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_no_socket_reaches_this_machine(sandbox, kind):
    """Not even over the loopback."""
    number = getattr(socket, kind)
    with socket.socket(socket.AF_INET, number) as listener:
        listener.bind(("127.0.0.1", 0))
        if number == socket.SOCK_STREAM:
            listener.listen()
        address = listener.getsockname()
        sandbox.run(
            f"import socket\ns = socket.socket(socket.AF_INET, socket.{kind})\n"
            f"s.connect({address!r})\ns.send(b'hello')",
            "",
        )
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept() if number == socket.SOCK_STREAM else listener.recv(10)


def test_no_abstract_socket_reaches_this_machine(sandbox):
    """They are named, but in no file system."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0cb-test-{os.getpid()}")
        listener.listen()
        attack = f"import socket\nsocket.socket(socket.AF_UNIX).connect('\\0cb-test-{os.getpid()}')"
        assert sandbox.run(attack, "").status == "failed"
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.fixture
def open_folder():
    """A folder that everybody may use, as far as the file system is concerned."""
    with tempfile.TemporaryDirectory(prefix="cb-open-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
@pytest.mark.parametrize(
    "make",
    ["socket.socket(socket.AF_UNIX, {kind})", "socket.socketpair(socket.AF_UNIX, {kind})[0]"],
)
def test_no_socket_with_a_path_reaches_this_machine(sandbox, open_folder, kind, make):
    """As that of an agent with keys, or of a daemon that starts programs."""
    number = getattr(socket, kind)
    with socket.socket(socket.AF_UNIX, number) as listener:
        path = open_folder / "socket"
        listener.bind(str(path))
        path.chmod(0o777)
        if number == socket.SOCK_STREAM:
            listener.listen()
        attack = f"import socket\ns = {make.format(kind=f'socket.{kind}')}\ns.connect({str(path)!r})\ns.send(b'x')"
        assert sandbox.run(attack, "").status == "failed"
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept() if number == socket.SOCK_STREAM else listener.recv(10)


@pytest.mark.parametrize("where", ["bin", "lib"])
def test_no_socket_beside_the_interpreter_reaches_this_machine(sandbox, open_folder, where):
    """What the interpreter is installed in can be seen, sockets in it included."""
    folder = open_folder / where
    folder.mkdir(mode=0o755)
    near = attrs.evolve(sandbox, prefixes=(*sandbox.prefixes, str(folder)))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        listener.listen()
        path = str(folder / "socket")
        attack = f"import os, socket\nassert os.path.exists({path!r})\nsocket.socket(socket.AF_UNIX).connect({path!r})"
        assert sandbox.run(f"import os\nassert not os.path.exists({path!r})", "").passed
        assert near.run(attack, "").message.startswith("PermissionError")


@pytest.mark.parametrize("family", [f for f in range(46) if f not in (2, 10)])
def test_sockets_are_of_an_empty_network_or_not_at_all(sandbox, family):
    """Other families reach the kernel, the host of a virtual machine, or devices."""
    attack = f"import socket\nfor kind in range(1, 6):\n    try:\n        socket.socket({family}, kind)\n    except PermissionError:\n        continue\n    raise AssertionError(kind)\n"
    assert sandbox.run(attack, "").passed


def test_pairs_of_sockets_can_be_used(sandbox):
    """As asyncio does."""
    use = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 1\n"
    assert sandbox.run(use, "assert asyncio.run(f()) == 1").passed


@pytest.mark.parametrize(
    "act",
    [
        "os.stat({path!r})",
        "os.chmod({path!r}, 0o666)",
        "os.chmod({folder!r}, 0o700)",
        "os.utime({path!r}, (1, 1))",
        "os.setxattr({path!r}, 'user.x', b'1')",
        "os.chdir({folder!r})",
        "os.listdir({folder!r})",
        "os.rename({path!r}, {path!r} + '2')",
        "os.link({path!r}, 'mine')",
        "os.open({path!r}, os.O_PATH)",
    ],
)
def test_nothing_is_done_to_files_outside(sandbox, open_folder, act):
    """Neither to what is in them nor to what is known about them."""
    path = open_folder / "file"
    path.write_text("x")
    path.chmod(0o640)
    if os.getuid() == 0:  # as if it were the program's own, which is harder to protect
        path.chmod(0o666)
    before = path.stat()
    outcome = sandbox.run("import os\n" + act.format(path=str(path), folder=str(open_folder)), "")
    assert outcome.message.startswith(("FileNotFoundError", "PermissionError", "OSError"))
    assert path.stat() == before
    assert open_folder.stat().st_mode & 0o777 == 0o777


@pytest.mark.parametrize("path", ["/usr/bin/python3", "/usr", "/dev/null", "/"])
def test_what_is_shown_cannot_be_changed(sandbox, path):
    """Not even by its owner, who may be the one that runs cb."""
    for act in (f"os.chmod({path!r}, 0o777)", f"os.utime({path!r}, (1, 1))"):
        outcome = sandbox.run(f"import os\n{act}", "")
        assert outcome.message.startswith(("PermissionError", "OSError"))


def test_files_are_counted(sandbox):
    """Empty ones take memory, too, that of the kernel."""
    few = attrs.evolve(sandbox, limits=attrs.evolve(LIMITS, files=100))
    fill = "for i in range(1000):\n    open(str(i), 'w').close()\n"
    assert few.run(fill, "").message.startswith("OSError: [Errno 28]")
    assert few.run(fill.replace("1000", "50"), "").passed


def test_what_waits_in_sockets_is_memory(sandbox):
    """It is not the program's own, but the kernel's: it is counted all the same."""
    bomb = (
        "import os, signal, socket\n"
        "for _ in range(12):\n"
        "    if os.fork() == 0:\n"
        "        kept = []\n"
        "        while len(kept) < 120:\n"
        "            pair = socket.socketpair()\n"
        "            for one in pair:\n"
        "                one.setblocking(False)\n"
        "                try:\n"
        "                    while True:\n"
        "                        one.send(bytes(65536))\n"
        "                except BlockingIOError:\n"
        "                    pass\n"
        "            kept.append(pair)\n"
        "        signal.pause()\n"
        "signal.pause()\n"
    )
    small = attrs.evolve(sandbox, limits=attrs.evolve(LIMITS, memory_mb=100))
    assert small.run(bomb, "").status == "too much memory"


@pytest.mark.parametrize("option", ["SO_SNDBUF", "SO_RCVBUF"])
def test_sockets_cannot_be_made_to_hold_more(sandbox, option):
    """What each of them holds at most is known, so they can be counted."""
    attack = f"import socket\nsocket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.{option}, 1 << 24)"
    assert sandbox.run(attack, "").message.startswith("PermissionError")


def test_a_home_with_an_interpreter_in_it_is_not_shown(sandbox, open_folder, monkeypatch):
    """Of an interpreter whose prefix is the home, only its library is: and with it, it works."""
    open_folder.chmod(0o755)
    subprocess.run([sandbox.python, "-m", "venv", "--without-pip", str(open_folder)], check=True)
    monkeypatch.setenv("HOME", str(open_folder))
    for name in ("bin", "lib", ".ssh", "."):
        (open_folder / name).mkdir(exist_ok=True)
        (open_folder / name / "secret").write_text("secret")
    python = str(open_folder / "bin" / "python")
    inside = find(LIMITS, python, (sandbox.mechanism,))
    assert inside.run(
        "import ctypes, json, sys", f"assert sys.prefix == {str(open_folder)!r}"
    ).passed
    for name in ("bin", "lib", ".ssh", "."):
        outcome = inside.run(f"open({str(open_folder / name / 'secret')!r})", "")
        assert outcome.message.startswith(("FileNotFoundError", "PermissionError"))


def test_the_two_processes_of_a_program_do_not_see_each_other(sandbox):
    """A solution can neither signal its tests nor find out that they are there."""
    look = (
        "import os, signal\n"
        "seen = []\n"
        "for pid in range(1, 400):\n"
        "    try:\n"
        "        os.kill(pid, 0)\n"
        "        seen.append(pid)\n"
        "    except OSError:\n"
        "        pass\n"
        "def end():\n"
        "    os.kill(-1, signal.SIGKILL)\n"
    )
    tests = "import os\nassert len(seen) <= 2\ntry:\n    end()\nexcept OSError:\n    pass\n"
    assert sandbox.run(look, tests).passed


def test_a_solution_is_told_nothing_of_its_tests(sandbox):
    """Not even in memory that its process has from the one it was forked from."""
    # Both are put together where they are needed: neither is to be in the other.
    needle = "xyzzy" * 3
    look = (
        "import ctypes, gc\n"
        "def found():\n"
        "    needle = 'xyz' + 'zy'\n"
        "    return [one for one in gc.get_objects() if isinstance(one, (dict, list)) and needle * 3 in repr(one)[:10**5]]\n"
    )
    assert sandbox.run(look, f"# {needle}\nassert found() == []").passed


def test_processes_of_this_machine_are_neither_seen_nor_signalled(sandbox):
    """The number of a process here is nobody there."""
    attack = f"import os\nos.kill({os.getpid()}, 0)"
    outcome = sandbox.run(attack, "")
    assert outcome.message.startswith(("ProcessLookupError", "PermissionError"))


def test_a_fork_bomb_is_stopped(sandbox):
    """There is a limit on processes, which counts the program's own."""
    bomb = "import os\nfor _ in range(1000):\n    if os.fork() == 0:\n        import signal\n        signal.pause()\n"
    assert sandbox.run(bomb, "").message.startswith("BlockingIOError")


def test_a_memory_bomb_is_stopped(sandbox):
    """The limit is the program's, not the machine's."""
    assert sandbox.run("x = bytearray(1 << 30)", "").message.startswith("MemoryError")


def test_the_limit_on_processes_is_not_that_of_the_user(sandbox):
    """Who runs more programs than a solution may start can still use the sandbox."""
    others = [subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) for _ in range(8)]
    few = attrs.evolve(sandbox, limits=attrs.evolve(LIMITS, processes=6))
    try:
        assert few.run("import os\nif os.fork() == 0: os._exit(0)", "").passed
    finally:
        for other in others:
            other.communicate()


def test_many_processes_have_no_more_memory_than_few(sandbox):
    """Each stays within its own limit, but together they do not."""
    bomb = (
        "import os, signal\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0:\n"
        "        x = b'x' * (100 << 20)\n"
        "        signal.pause()\n"
        "signal.pause()\n"
    )
    assert sandbox.run(bomb, "").status == "too much memory"


CALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nassert libc.{} == -1\nassert ctypes.get_errno() == 1"


@pytest.mark.skipif(not call_filter(), reason="the calls of this kind of machine are not known")
@pytest.mark.parametrize(
    "call",
    [
        "memfd_create(b'x', 0)",
        "shmget(0, 4096, 0o1600)",
        "unshare(0x10000000)",
        "ptrace(0, 0, 0, 0)",
        "setns(3, 0)",
        "mount(b'none', b'.', b'tmpfs', 0, None)",
    ],
)
def test_calls_that_no_solution_needs_are_refused(sandbox, call):
    """Memory that nobody counts, other processes, other namespaces."""
    assert sandbox.run(CALL.format(call), "").passed


def test_every_known_machine_has_a_filter():
    """Steps of eight bytes, few enough that every jump fits into one."""
    assert call_filter("riscv64") == b""
    for machine in ("x86_64", "aarch64"):
        assert 0 < len(call_filter(machine)) // 8 < 256
        assert len(call_filter(machine)) % 8 == 0


def test_endless_output_is_stopped(sandbox):
    """Not after a gigabyte but at the limit."""
    flood = "import sys\nwhile True:\n    sys.stdout.write('x' * 65536)\n"
    assert sandbox.run(flood, "").status == "too much output"


@pytest.mark.parametrize(
    "attack",
    [
        "while True: pass",
        "import signal\nfor s in (15, 2, 1): signal.signal(s, signal.SIG_IGN)\nwhile True: signal.pause()",
        "import os, signal\nos.setsid() if os.fork() == 0 else None\nwhile True: signal.pause()",
        "import os, signal\nos.closerange(3, 256)\nsignal.pause()",
        "import os, signal\nos.closerange(0, 256)\nsignal.pause()",
    ],
)
def test_time_is_limited_whatever_a_program_ignores(sandbox, attack):
    """Being deaf to signals does not help."""
    assert patient(sandbox, 0.5).run(attack, "").status == "timed out"


@pytest.mark.parametrize("end", ["", "import os; os._exit(0)", "while True: pass"])
def test_no_grandchild_outlives_the_program(sandbox, end):
    """Passed, ended or killed: when `run` returns, all of it has ended."""
    mark = f"cb-orphan-{os.getpid()}-{threading.get_ident()}"
    attack = (
        "import os, signal, sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', 'import signal; signal.pause()', {mark!r}])\n"
        "    signal.pause()\n" + end
    )
    patient(sandbox, 1.0).run(attack, "")
    assert running(mark) == []


def test_a_program_ends_with_its_watcher(sandbox):
    """Also when that is killed and cannot clean up."""
    mark = f"cb-abandoned-{os.getpid()}-{threading.get_ident()}"
    attack = (
        "import os, sys\nos.execv(sys.executable, "
        f"[sys.executable, '-c', 'import signal; signal.pause()', {mark!r}])"
    )
    watching = (
        "from cb_code_execution import Sandbox\n"
        f"Sandbox({sandbox.mechanism!r}, {sandbox.python!r}, {sandbox.prefixes!r})"
        f".run({attack!r}, '')"
    )
    watcher = subprocess.Popen([sys.executable, "-c", watching])
    try:
        while not (found := running(mark)):
            assert watcher.poll() is None
        descriptors = [os.pidfd_open(process) for process in found]
    finally:
        watcher.kill()
        watcher.wait()
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], 60)[0]
        os.close(descriptor)


def test_a_server_that_was_killed_is_started_again(sandbox):
    """Programs are forked from it; the next one finds another."""
    assert sandbox.run("", "assert True").passed
    spec = _server.Spec(sandbox.mechanism, sandbox.python, sandbox.prefixes)
    process = _server._servers[os.getpid(), spec]._process
    process.kill()
    process.wait()
    assert sandbox.run("", "assert True").passed


def test_programs_that_run_at_once_do_not_meet(sandbox):
    """Neither in files nor in processes nor in verdicts."""
    write = "import os\nopen('mine', 'x').write(WHO)\ndef who():\n    return open('mine').read(), os.listdir('.')\n"

    def run(number):
        asked = number if number % 2 else -1
        return sandbox.run(f"WHO = '{number}'\n{write}", f"assert who() == ('{asked}', ['mine'])")

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(run, range(24)))
    assert [outcome.passed for outcome in outcomes] == [bool(n % 2) for n in range(24)]


def test_privileges_cannot_be_gained_again(sandbox):
    """Root is nobody there."""
    outcome = sandbox.run("import os\nassert os.getuid() != 0\nos.setuid(0)", "")
    assert outcome.message.startswith(("PermissionError", "OSError"))


def test_a_forged_verdict_is_no_pass(sandbox):
    """It is told where the solution has no way to, whatever it writes to what it has."""
    forge = (
        "import json, os, struct\n"
        "told = json.dumps(['passed', '']).encode()\n"
        "for fd in range(64):\n"
        "    try:\n"
        "        os.write(fd, struct.pack('<Q', len(told)) + told)\n"
        "    except OSError:\n"
        "        pass\n"
    )
    assert not sandbox.run(forge, "assert False").passed
    assert not sandbox.run(f"{forge}os._exit(0)", "").passed


def test_without_a_sandbox_limits_still_hold():
    """For those who asked for it, and it says so in its name."""
    bare = unconfined(LIMITS)
    assert bare.mechanism == "none"
    assert bare.run("def f(): return 1", "assert f() == 1").passed
    assert bare.run("x = bytearray(1 << 30)", "").message.startswith("MemoryError")
    assert bare.run("import os", "assert 'PYTEST_CURRENT_TEST' not in os.environ").passed


def test_what_cannot_be_locked_up_is_not_run(tmp_path):
    """A mechanism that fails says why, before anything runs."""
    with pytest.raises(SandboxError, match="cannot be started"):
        Sandbox("landlock", str(tmp_path / "python")).run("", "")
