"""How much of somebody else's tree can be run, told without running any of it."""

from __future__ import annotations

import pytest

from cb_suites.engine.surveying import folder_of, survey
from cbcore.exceptions import UsageError

TASK = "dataset_path: x\ntest_split: test\ndoc_to_text: a\ndoc_to_target: b\noutput_type: {}\n{}"


@pytest.fixture
def found(suites):
    """The survey of a folder with these tasks, each an output type and more lines."""

    def look(sandboxed=False, **tasks):
        for name, (output_type, more) in tasks.items():
            suites.write(f"{name}.yaml", f"task: {name}\n" + TASK.format(output_type, more))
        return survey(suites.root, suites.manager(), sandboxed=sandboxed)

    return look


def test_tasks_are_counted_by_how_they_are_measured(found):
    """Those with code of their own for the results are told apart."""
    seen = found(
        a=("generate_until", ""),
        b=("multiple_choice", "doc_to_choice: [x, y]\n"),
        c=("generate_until", ""),
    )
    assert seen.by_measure() == [("generate_until", 2, ["a", "c"]), ("multiple_choice", 1, ["b"])]
    assert (seen.n_running, seen.by_reason()) == (3, [])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("doc_to_image: i\n", "… asks about images, and only text is put to systems"),
        ("unsafe_code: true\n", "… runs the code of responses, for which there is no sandbox"),
        ("process_results: !function utils.f\n", "its code needs no_such_package_at_all"),
        ("wrong_key: 1\n", "a task has no key 'wrong_key'"),
    ],
)
def test_what_cannot_be_run_has_its_reason(found, suites, more, reason):
    """The same words for all tasks of which it is true."""
    suites.write("utils.py", "raise SystemExit\nimport no_such_package_at_all\ndef f(d, r): ...\n")
    seen = found(one=("generate_until", more), two=("generate_until", ""))
    assert [(kind, n) for kind, n, _ in seen.by_reason()] == [(reason, 1)]
    assert seen.n_running == 1


def test_a_package_is_found_without_being_imported(site):
    """Its folder `tasks`, where it has one."""
    (site / "their_tree" / "tasks").mkdir(parents=True)
    (site / "their_tree" / "__init__.py").write_text("raise SystemExit('imported')\n")
    assert folder_of("their_tree") == site / "their_tree" / "tasks"


def test_what_is_neither_a_folder_nor_a_package_is_refused():
    """With what could be named."""
    with pytest.raises(UsageError, match="no folder and no installed package 'no-such-thing'"):
        folder_of("no-such-thing")
