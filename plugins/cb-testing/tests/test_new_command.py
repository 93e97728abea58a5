"""`cb new` and the template behind it: what is written works at once, and nothing else changes.

The slow tests generate, install and run every kind for real, in an environment of their own
that borrows the packages of this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

from cb_memory.kinds import MEMORY
from cb_testing.scaffold import LICENSES, MAX_LENGTH, Project, known_kinds, write
from cbcore import names
from cbcore.exceptions import UsageError
from tests.fake_distributions import write_distribution

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "cookiecutter-plugin"
KINDS = known_kinds()


def run(*command, cwd, code=0, **environ):
    """Run a program to its end and return what it printed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CB_", "PYTHON", "PYTEST"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, "HOME": str(cwd), "XDG_CACHE_HOME": str(cwd), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tree(folder):
    """Every file below a folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# -- what is written ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "licence"), [(kind, LICENSES[n % len(LICENSES)]) for n, kind in enumerate(KINDS)]
)
def test_cookiecutter_writes_the_same(workplace, kind, licence):
    """The template used directly, by the same answers, gives the same files."""
    asked = {"author": 'Zoë "Z" O\'Hara \\ Co', "github_user": "zoe", "license": licence}
    options = [f"--{key.replace('_', '-')}={value}" for key, value in asked.items()]
    done = workplace.cb("new", kind, "my-own", "--no-input", "--output-dir", "one", *options)
    assert done.returncode == 0, done.stderr
    run(
        *(sys.executable, "-m", "cookiecutter", TEMPLATE, "--no-input"),
        *("--output-dir", workplace.folder / "two", f"kind={kind}", "name=my-own"),
        *(f"{key}={value}" for key, value in asked.items()),
        cwd=workplace.folder,
    )
    assert tree(workplace.folder / "one") == tree(workplace.folder / "two")


def test_the_defaults_are_those_of_the_template(workplace):
    """Asked nothing and given nothing, both write the same."""
    assert workplace.cb("new", "metric", "my-metric", "--no-input").returncode == 0
    run(
        *(sys.executable, "-m", "cookiecutter", TEMPLATE, "--no-input"),
        *("--output-dir", workplace.folder / "two", "kind=metric"),
        cwd=workplace.folder,
    )
    assert tree(workplace.folder / "cb-my-metric") == tree(workplace.folder / "two/cb-my-metric")


def test_a_project_is_complete(workplace):
    """Project file, code, type marker, tests, licence, change log, workflow."""
    done = workplace.cb(
        *("new", "evaluators", "cb_my_toxicity", "--no-input", "--license", "apache-2.0"),
        *(
            "--author",
            'Zoë "Z" O\'Hara \\ Co',
            "--description",
            "Söme “words”",
            "--github-user=zoe",
        ),
    )
    assert done.returncode == 0, done.stderr
    assert str(workplace.folder / "cb-my-toxicity") in done.stdout
    files = tree(workplace.folder / "cb-my-toxicity")
    assert set(files) == {
        *(".github/workflows/ci.yml", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md"),
        *("pyproject.toml", "src/cb_my_toxicity/__init__.py", "src/cb_my_toxicity/evaluator.py"),
        *("src/cb_my_toxicity/py.typed", "tests/conftest.py", "tests/pieces.py"),
        *("tests/questions.jsonl", "tests/test_conformance.py", "tests/test_evaluator.py"),
    }
    written = tomllib.loads(files["pyproject.toml"].decode())
    project = written["project"]
    assert project["name"] == "cb-my-toxicity"
    assert project["description"] == "Söme “words”"
    assert project["authors"] == [{"name": 'Zoë "Z" O\'Hara \\ Co'}]
    assert project["license"] == "Apache-2.0"
    assert project["dependencies"] == ["cbcore>=0.1,<0.2"]
    assert project["entry-points"] == {
        "cb.evaluators": {"my-toxicity": "cb_my_toxicity:MyToxicityEvaluator"}
    }
    assert written["tool"]["mypy"]["strict"] is True
    assert b"Apache License" in files["LICENSE"]
    assert b"github.com/zoe/cb-my-toxicity/actions" in files["README.md"]
    jobs = yaml.safe_load(files[".github/workflows/ci.yml"])["jobs"]
    assert set(jobs) == {"test", "lint", "build", "publish"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["test"]["runs-on"] == "${{ matrix.os }}"


@pytest.mark.parametrize(
    ("licence", "words"),
    [
        ("MIT", "Permission is hereby granted"),
        ("Apache-2.0", "END OF TERMS AND CONDITIONS"),
        ("BSD-3-Clause", "Neither the name"),
        ("none", None),
    ],
)
def test_the_licence_is_the_one_chosen(workplace, licence, words):
    """Its whole text, the author in it where there is a place for that; or none at all."""
    workplace.cb("new", "suite", "mine", "--no-input", "--license", licence, "--author", "Zoë")
    folder = workplace.folder / "cb-mine"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if words is None:
        assert not (folder / "LICENSE").exists()
        assert "license" not in project
    else:
        text = (folder / "LICENSE").read_text(encoding="utf-8")
        assert words in text
        assert ("Zoë" in text) is (licence != "Apache-2.0")
        assert project["license"] == licence


@pytest.mark.parametrize("name", ["a", "a-1", "w" * MAX_LENGTH])
def test_style_does_not_depend_on_the_name(tmp_path, name):
    """The linter and the formatter find nothing to change, be the name short or long."""
    for kind in KINDS:
        write(Project(kind=kind, name=name), tmp_path / kind)
    memory = Project(kind="memory", name=name, template=MEMORY.template, brought_by="cb-memory")
    write(memory, tmp_path / "memory")
    run(sys.executable, "-m", "ruff", "check", "--no-cache", ".", cwd=tmp_path)
    run(sys.executable, "-m", "ruff", "format", "--no-cache", "--diff", ".", cwd=tmp_path)


def test_nothing_is_written_elsewhere(workplace):
    """No settings, no record of answers in the home folder."""
    assert workplace.cb("new", "suite", "mine", "--no-input").returncode == 0
    assert [path.name for path in workplace.folder.iterdir()] == ["cb-mine"]
    assert not [path for path in workplace.cache.rglob("*") if "cookiecutter" in path.name]


# -- asking ------------------------------------------------------------------------------------


def answered(workplace, *arguments, answers):
    return subprocess.run(
        [sys.executable, "-m", "cbcore", "new", *arguments],
        cwd=workplace.folder,
        env=workplace.environment(),
        input=answers,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_what_is_not_given_is_asked_for(workplace):
    """An empty answer takes the default, a wrong one is asked again, a flag is not asked."""
    done = answered(
        *(workplace, "system", "mine", "--author", "Zoë"),
        answers="It {{cuts}}.\nIt cuts.\nGPL\nmit\na/b\n\n",
    )
    assert done.returncode == 0, done.stderr
    assert "A system for cb" in done.stderr
    assert "Author" not in done.stderr
    assert "'a/b' is not the name of a GitHub user" in done.stderr
    text = (workplace.folder / "cb-mine" / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    assert project["description"] == "It cuts."
    assert project["authors"] == [{"name": "Zoë"}]
    assert project["license"] == "MIT"
    assert "urls" not in project


def test_input_that_ends_too_early(workplace):
    """Nothing is written, and the flag that asks nothing is named."""
    done = answered(workplace, "system", "mine", answers="It cuts.\n")
    assert done.returncode == 2
    assert "--no-input" in done.stderr
    assert list(workplace.folder.iterdir()) == []


# -- refusals ----------------------------------------------------------------------------------

REFUSED = {
    "uppercase": (("evaluator", "My-Toxicity"), "'My-Toxicity' is not a name"),
    "empty": (("evaluator", ""), "'' is not a name"),
    "separator": (("evaluator", "../toxicity"), "'../toxicity' is not a name"),
    "digit": (("evaluator", "3d"), "'3d' is not a name"),
    "keyword": (("evaluator", "class"), "a word of the Python language"),
    "installed": (("evaluator", "metrics"), "cb-metrics 0.1.0 is installed already"),
    "installed, with prefix": (("suite", "cb-metrics"), "is installed already"),
    "offered": (("metric", "mean-score"), "cb-metrics offers it"),
    "offered by the core": (("dataset", "file"), "cbcore offers it"),
    "kind": (("evaluater", "mine"), "did you mean evaluators?"),
    "kind without template": (("directory", "mine"), "no template for the kind 'directory'"),
    "licence": (("evaluator", "mine", "--license", "GPL"), "'GPL' is not one of"),
    "description": (("evaluator", "mine", "--description", "{{ x }}"), "cannot be used"),
    "github user": (("evaluator", "mine", "--github-user", "a/b"), "not the name of a GitHub"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_refusal(workplace, arguments, message):
    """Exit 2, the reason in one message, and not a file written."""
    done = workplace.cb("new", *arguments, "--no-input")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(workplace.folder.iterdir()) == []


def test_a_name_that_a_hook_offers_is_refused(workplace):
    """Also what only a hook module tells of is known."""
    workplace.install("cb-good-hooks")
    offered = next(
        component
        for component in workplace.json("list")
        if component["plugin"] == "cb-good-hooks" and component["kind"] in KINDS
    )
    done = workplace.cb("new", offered["kind"], offered["name"], "--no-input")
    assert done.returncode == 2
    assert "cb-good-hooks offers it" in done.stderr


def test_a_distribution_that_is_no_plugin_is_refused(workplace):
    write_distribution(workplace.site, "cb-mine")
    done = workplace.cb("new", "metric", "mine", "--no-input")
    assert done.returncode == 2
    assert "cb-mine 1.0 is installed already" in done.stderr


def test_a_broken_plugin_does_not_stop_it(workplace):
    workplace.install("cb-raises-on-import", "cb-unknown-hook")
    assert workplace.cb("new", "metric", "mine", "--no-input").returncode == 0


@pytest.mark.parametrize("what", ["folder", "file", "dangling link"])
def test_what_exists_is_never_overwritten(workplace, what):
    """Whatever stands in the way stays as it is."""
    path = workplace.folder / "cb-mine"
    if what == "folder":
        path.mkdir()
        (path / "pyproject.toml").write_text("mine")
    elif what == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere")
    before = tree(workplace.folder)

    done = workplace.cb("new", "metric", "mine", "--no-input")

    assert done.returncode == 2
    assert f"{path} exists already" in done.stderr
    assert tree(workplace.folder) == before
    assert path.is_symlink() is (what == "dangling link")


def test_a_place_that_cannot_be_written_to(workplace):
    """A file where the folder should be is the user's to fix."""
    workplace.write("taken", "")
    done = workplace.cb("new", "metric", "mine", "--no-input", "--output-dir", "taken/below")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failure_half_way_leaves_nothing_behind(tmp_path, monkeypatch):
    """The folder appears when it is complete, or not at all."""

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(UsageError, match="disk full"):
        write(Project(kind="suite", name="mine"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_cookiecutter_is_not_needed(workplace):
    """All that the command needs comes with the core."""
    (workplace.site / "cookiecutter").mkdir()
    (workplace.site / "cookiecutter" / "__init__.py").write_text("raise ImportError('gone')")
    assert workplace.cb("new", "metric", "mine", "--no-input").returncode == 0


def test_a_kind_that_a_plugin_brings_can_bring_its_template(workplace):
    """It is written like any other, and requires the plugin that brings the kind."""
    write_distribution(
        workplace.site,
        "cb-riddling",
        entries={"cb.kinds": {"riddle": "cb_riddling:RIDDLE"}},
        modules={
            "cb_riddling/__init__.py": "from pathlib import Path\n"
            "from cbcore.components import Kind\n"
            "RIDDLE = Kind(name='riddle', offer='riddles', target='It asks.', methods=('ask',),\n"
            "    template=Path(__file__).parent / 'template')\n",
            "cb_riddling/template/component.py.jinja": "class {{ cookiecutter.__class }}: ...\n",
            "cb_riddling/template/test_component.py.jinja": "NAME = '{{ cookiecutter.__name }}'\n",
            "cb_riddling/template/usage.md": "Ask it.\n",
        },
    )
    done = workplace.cb("new", "riddle", "sphinx", "--no-input")
    assert done.returncode == 0, done.stderr
    files = tree(workplace.folder / "cb-sphinx")
    assert files["src/cb_sphinx/riddle.py"] == b"class SphinxRiddle: ...\n"
    project = tomllib.loads(files["pyproject.toml"].decode())["project"]
    assert project["entry-points"] == {"cb.riddles": {"sphinx": "cb_sphinx:SphinxRiddle"}}
    assert project["dependencies"] == ["cbcore>=0.1,<0.2", "cb-riddling"]


def test_the_template_used_directly_refuses_bad_names_too(workplace):
    """Nothing is left of a name that leads out of the folder."""
    run(
        *(sys.executable, "-m", "cookiecutter", TEMPLATE, "--no-input"),
        *("--output-dir", workplace.folder / "out", "name=../../Mine"),
        cwd=workplace.folder,
        code=1,
    )
    assert tree(workplace.folder / "out") == {}
    assert list((workplace.folder / "out").iterdir()) == []


# -- every kind for real -----------------------------------------------------------------------


def new_environment(folder):
    """An environment whose packages come before those of this one, which it sees too."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(run(python, "-c", code, cwd=folder).strip())
    borrowed = sysconfig.get_path("purelib")
    (own / "borrowed.pth").write_text(f"import site; site.addsitedir({borrowed!r})\n")
    return python


def install(python, *what, cwd):
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    run(python, "-m", "pip", "--disable-pip-version-check", "install", *options, *what, cwd=cwd)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scaffold")
    return folder, new_environment(folder / "env")


def row_scores(result):
    return [row["scores"] for row in result["rows"]]


USES = {
    "evaluator": (
        ("-s", "identity | extractive", "-d", "hotpotqa:sample", "-e", "my-evaluator"),
        lambda result: all("my_evaluator" in scores for scores in row_scores(result)),
    ),
    "dataset": (
        ("-s", "identity | extractive", "-d", "my-dataset:hard"),
        lambda result: [row["example_id"] for row in result["rows"]] == ["hard-1", "hard-2"],
    ),
    "system": (
        ("-s", "my-system:max_words=30 | extractive", "-d", "hotpotqa:sample"),
        lambda result: all(row["output_tokens"] < row["input_tokens"] for row in result["rows"]),
    ),
    "metric": (
        ("-s", "identity | extractive", "-d", "hotpotqa:sample", "-m", "my-metric"),
        lambda result: result["summary"]["identity | extractive"].keys() == {"my_metric"},
    ),
    "reporter": (
        ("-s", "identity | extractive", "-d", "hotpotqa:sample", "-o", "my-reporter=report.txt"),
        lambda result: (
            Path(result["folder"], "report.txt")
            .read_text()
            .startswith("identity | extractive: 2 of 2")
        ),
    ),
    "executor": (
        (
            *("-s", "identity | extractive", "-d", "hotpotqa:sample"),
            *("--executor", "my-executor", "--max-workers", "2"),
        ),
        lambda result: [row["error"] for row in result["rows"]] == [None, None],
    ),
    "tokenizer": (
        (
            *("-s", "identity | extractive", "-d", "hotpotqa:sample"),
            *("--tokenizer", "my-tokenizer:characters=1"),
        ),
        lambda result: all(row["input_tokens"] > 1000 for row in result["rows"]),
    ),
    "memory": (
        ("--memory", "my-memory:k=3 | extractive", "-d", "locomo:sample"),
        lambda result: all(row["metadata"]["n_contexts"] <= 3 for row in result["rows"]),
    ),
    "suite": (
        ("-s", "identity | extractive", "--suite", "my-suite"),
        lambda result: (
            [(part["name"], part["state"]) for part in result["sections"]["suites"]["lines"]]
            == [("my-suite", "ran"), ("capitals", "ran"), ("rivers", "ran")]
        ),
    ),
}
"""For each kind a run that uses it beside first-party plugins, and how its result shows that."""


EVERY_DAY = {"system", "evaluator", "observer"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=() if kind in EVERY_DAY else pytest.mark.full)
        for kind in [*KINDS, "memory"]
    ],
)
def installed(request, environment):
    """A project of each kind, generated and installed as its author would."""
    folder, python = environment
    kind = request.param
    run(python, "-m", "cbcore", "new", kind, f"my-{kind}", "--no-input", cwd=folder)
    project = folder / f"cb-my-{kind}"
    install(python, "-e", ".", cwd=project)
    return kind, project, python


@pytest.mark.slow
class TestEveryKind:
    """Generated, installed and used as its author would."""

    def test_its_tests_pass_at_once(self, installed):
        """The conformance kit, the table of cases and the run from end to end."""
        _, project, python = installed
        printed = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
        assert "failed" not in printed
        assert "skipped" not in printed

    def test_its_types_are_strict(self, installed, environment):
        _, project, python = installed
        cache = environment[0] / "mypy"
        run(python, "-m", "mypy", "--strict", "--cache-dir", cache, "src", cwd=project)

    def test_it_is_listed_as_working(self, installed):
        kind, project, python = installed
        strict = ("--require-plugin", f"cb-my-{kind}")
        printed = run(python, "-m", "cbcore", "list-plugins", "--json", *strict, cwd=project)
        plugins = {plugin["name"]: plugin for plugin in json.loads(printed)}
        listed = plugins[f"cb-my-{kind}"]
        assert listed["status"] in ("ok", "not loaded yet")
        offered = {} if kind == "observer" else {names.plural(kind): [f"my-{kind}"]}
        assert listed["components"] == offered

    def test_the_example_of_its_readme_works(self, installed, tmp_path):
        """In its folder, with no plugin but those it requires."""
        kind, project, python = installed
        required = {"suite": ",cb-suites", "format": ",cb-suites", "memory": ",cb-memory"}.get(
            kind, ""
        )
        readme = (project / "README.md").read_text(encoding="utf-8")
        used = readme.partition("## Use")[2].partition("## Develop")[0]
        commands = [line[2:] for line in used.splitlines() if line.startswith("$ ")]
        assert commands
        program = tmp_path / "bin" / "cb"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {python} -m cbcore "$@"\n')
        program.chmod(0o755)
        run(
            *("sh", "-ec", "\n".join(commands)),
            cwd=project,
            PATH=f"{program.parent}:{os.environ['PATH']}",
            CB_ONLY_PLUGINS=f"cb-my-{kind}{required}",
        )

    def test_a_run_uses_it(self, installed, tmp_path):
        kind, _, python = installed
        if kind not in USES:
            assert kind in ("format", "option", "command", "observer")
            return  # its own example is all there is to be done with it
        arguments, shows = USES[kind]
        run(
            *(python, "-m", "cbcore", "run", "-n", "2", "-o", "json=result.json", *arguments),
            cwd=tmp_path,
        )
        result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        assert shows({**result, "folder": tmp_path})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dataset", "suite"])
def test_a_wheel_holds_the_data(tmp_path, kind):
    """Installed from a wheel instead of the source, the tests of a project still pass."""
    project = write(Project(kind=kind, name="my-own"), tmp_path)
    python = new_environment(tmp_path / "env")
    install(python, project, cwd=tmp_path)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", project, cwd=tmp_path)


@pytest.mark.slow
def test_the_template_is_in_the_wheel(tmp_path):
    """Installed from the wheel, without git, the command writes what the checkout writes.

    What an installer byte-compiles in the template may not get into a project.
    """
    python = new_environment(tmp_path / "env")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--no-index", "--wheel-dir", tmp_path, ROOT / "plugins" / "cb-testing"),
        cwd=tmp_path,
    )
    install(python, *tmp_path.glob("cb_testing-*.whl"), cwd=tmp_path)
    code = "from cb_testing.scaffold import TEMPLATE; print(TEMPLATE)"
    template = Path(run(python, "-c", code, cwd=tmp_path).strip())
    assert tmp_path in template.parents
    (project_part,) = template.glob("{{*")
    (project_part / "__pycache__").mkdir()
    (project_part / "__pycache__" / "stray.pyc").write_bytes(b"\0")
    for kind in ("dataset", "suite"):
        project = ("-m", "cbcore", "new", kind, "mine", "--no-input", "--output-dir")
        run(python, *project, tmp_path / "wheel" / kind, cwd=tmp_path, PATH="")
        run(sys.executable, *project, tmp_path / "checkout" / kind, cwd=tmp_path)
    assert tree(tmp_path / "wheel") == tree(tmp_path / "checkout")
    assert not list((tmp_path / "wheel").rglob("__pycache__"))
