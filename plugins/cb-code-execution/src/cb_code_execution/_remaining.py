"""What tests define as a test and do not call: TestCases, functions of pytest's kind, `check`.

Runs inside the sandbox, in the process of the tests. Standard library only, pytest where tests
need it and it is there.
"""
# ruff: noqa: S307

from __future__ import annotations

import os
import sys

from cb_code_execution._examiner import UnmeasuredError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_HOOKS_OF_PYTEST = frozenset(
    f"{when}_{what}"
    for when in ("setup", "teardown")
    for what in ("module", "function", "class", "method")
)


class Remaining:
    """What the tests define as a test and do not call themselves."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._ran = plan["acts"]
        self._cases_ran = False
        self._space: dict[str, Any] = {}
        self._pytest_main: Callable[..., Any] | None = None

    def begin(self, space: dict[str, Any]) -> None:
        """Before the tests are run: stand in for the runners that these may call themselves.

        `unittest.main` ends the program, and pytest's would look for another module.
        """
        self._space = space
        if self._plan["uses_unittest"]:
            import unittest

            unittest.main = self._main_of_unittest  # type: ignore[assignment]
        if self._plan["uses_pytest"]:
            try:
                import pytest
            except ImportError:
                return  # they may do without; if not, they will say so
            self._pytest_main = pytest.main
            pytest.main = lambda *_, **__: 0

    def run(self) -> str:
        """Run what is left. Raises what a test raises; returns why nothing was measured."""
        if not self._cases_ran:
            self._run_cases()
        left = {name: value for name, value in self._own() if name not in self._plan["called"]}
        plain = [value for name, value in left.items() if _is_plain_test(name, value)]
        try:
            if plain:
                self._run_plain(plain)
            if "check" in left:
                self._run_check(left["check"])
        except UnmeasuredError as error:
            return str(error)
        return "" if self._ran else "nothing in the tests can be run: they neither assert nor call"

    def _own(self) -> list[tuple[str, Any]]:
        """The functions and classes that the tests define."""
        return [
            (name, value)
            for name, value in list(self._space.items())
            if isinstance(value, (type, type(_call))) and value.__module__ == "__main__"
        ]

    def _main_of_unittest(self, *_: Any, **__: Any) -> Any:
        program = type(sys)("program")
        program.__dict__["result"] = self._run_cases()
        self._cases_ran = True
        return program

    def _run_cases(self) -> Any:
        cases = [value for _, value in self._own() if _is_case(value)]
        if not cases:
            return None
        import unittest

        result = _result()
        load = unittest.defaultTestLoader.loadTestsFromTestCase
        unittest.TestSuite(map(load, cases)).run(result)
        if result.wrong is not None:
            raise result.wrong
        self._ran = self._ran or result.testsRun > len(result.skipped)
        return result

    def _run_plain(self, plain: list[Any]) -> None:
        tests = [test for value in plain for test in _tests_of(value)]
        hooked = [one for one in (self._space, *map(vars, plain)) if _HOOKS_OF_PYTEST & one.keys()]
        if self._plan["uses_pytest"] or hooked or any(map(_takes_arguments, tests)):
            self._run_by_pytest()
            return
        for test in tests:
            self._ran = _call(test) or self._ran

    def _run_by_pytest(self) -> None:
        import pytest

        # What the solution defines is none of the tests, and TestCases have been run.
        shown = type(sys)("tests")
        for name, value in self._space.items():
            if getattr(value, "__module__", None) != "solution" and not _is_case(value):
                shown.__dict__[name] = value
        watching = _watching(shown)
        # The folder is the solution's too: nothing in it is run here. The file only has to be one.
        here = ("--rootdir=.", "--noconftest", f"-c{os.devnull}", "-pno:cacheprovider")
        options = ["-qq", "-x", "--tb=no", *here, os.__file__]
        code = (self._pytest_main or pytest.main)(options, plugins=[watching])
        if _is_called("FixtureLookupError", watching.wrong):
            raise UnmeasuredError(f"the tests need a fixture: {str(watching.wrong)[:200]}")
        if watching.wrong is not None:
            raise watching.wrong
        if code not in (0, 5):
            why = f"it ended with {code}" if watching.broken is None else repr(watching.broken)
            raise UnmeasuredError(f"pytest could not run the tests: {why}")
        self._ran = self._ran or watching.passed > 0

    def _run_check(self, check: Any) -> None:
        import inspect

        if not self._plan["entry_point"]:
            raise UnmeasuredError(
                "the tests do not call their check(), and no entry_point is named"
            )
        try:
            inspect.signature(check).bind(None)
        except TypeError as error:
            raise UnmeasuredError(f"check() cannot be called with the solution: {error}") from None
        check(eval(self._plan["entry_point"], self._space))
        self._ran = True


def _is_case(value: Any) -> bool:
    unittest: Any = sys.modules.get("unittest")
    return bool(unittest) and isinstance(value, type) and issubclass(value, unittest.TestCase)


def _is_plain_test(name: str, value: Any) -> bool:
    """Whether pytest takes this for a test, and unittest does not."""
    beginning = "Test" if isinstance(value, type) else "test"
    return name.startswith(beginning) and not _is_case(value)


def _result() -> Any:
    """A result that keeps the first exception as it was raised."""
    import unittest

    class Result(unittest.TestResult):
        wrong: Any = None

        def addError(self, test: Any, err: Any) -> None:  # noqa: N802 - named by unittest
            self._keep(err)
            super().addError(test, err)

        def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
            self._keep(err)
            super().addFailure(test, err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
            if err is not None:
                self._keep(err)
            super().addSubTest(test, subtest, err)

        def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
            self._keep((None, AssertionError(f"{test} was expected to fail")))
            super().addUnexpectedSuccess(test)

        def _keep(self, err: Any) -> None:
            self.wrong = err[1] if self.wrong is None else self.wrong

    result = Result()
    result.failfast = True
    return result


def _watching(shown: Any) -> Any:
    """A plugin of pytest that hands it a module which has been run, and keeps what is raised."""
    import asyncio
    import inspect

    import pytest

    class Ready(pytest.Module):
        def _getobj(self) -> Any:
            return shown

    class Watching:
        wrong: Any = None
        broken: Any = None
        passed = 0

        def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> Any:
            return Ready.from_parent(parent, path=module_path)

        def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
            if not inspect.iscoroutinefunction(pyfuncitem.obj):
                return None
            wanted = inspect.signature(pyfuncitem.obj).parameters.keys() & pyfuncitem.funcargs
            asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
            return True

        def pytest_exception_interact(self, call: Any) -> None:
            self.wrong = call.excinfo.value if self.wrong is None else self.wrong

        def pytest_internalerror(self, excinfo: Any) -> None:
            self.broken = excinfo.value

        def pytest_runtest_logreport(self, report: Any) -> None:
            self.passed += report.when == "call" and report.passed

    return Watching()


def _tests_of(value: Any) -> list[Any]:
    """A function, or the methods of a class, each of an instance of its own, as pytest has it."""
    if not isinstance(value, type):
        return [value]
    if value.__init__ is not object.__init__:  # type: ignore[misc]
        return []
    tests = [getattr(value(), name) for name in dir(value) if name.startswith("test")]
    return [test for test in tests if callable(test)]


def _takes_arguments(test: Any) -> bool:
    import inspect

    try:
        inspect.signature(test).bind()
    except TypeError:
        return True
    return False


def _is_called(name: str, error: Any) -> bool:
    """Whether that was raised here: a solution may call its exceptions what it likes."""
    return type(error).__name__ == name and "_cb_id" not in error.__dict__


def _call(test: Any) -> bool:
    """Call a test; whether it was run and not skipped."""
    try:
        given = test()
    except Exception as error:
        if _is_called("SkipTest", error):
            return False
        raise
    if hasattr(given, "__await__"):
        import asyncio

        asyncio.run(given)
    elif hasattr(given, "__next__"):
        raise UnmeasuredError(f"the test {test.__name__} yields, and nothing is known to take it")
    return True
