"""A stranger's suite gives values, never programs, by whichever way it tries."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest

from cb_compare.merging import merge
from cb_suites.engine.untrusted import UntrustedSource
from cbcore import evaluate
from cbcore.binding import check_parameters, make
from cbcore.exceptions import CBError, ConfigError
from cbcore.introspection import signature_of
from cbcore.plugins import default_catalog
from cbcore.specs import Spec

ASKS = "dataset: data.jsonl\ndoc_to_text: question\ndoc_to_target: answer\n"
RAN = "open('{}/ran', 'w').close()\n"


class Says:
    name = "says"

    def process(self, example):
        return {"response": "a" * 40 + "b"}


@pytest.fixture
def strange(tmp_path, monkeypatch):
    """A folder with data and code of a stranger, and a secret beside it. Gives what runs tasks."""
    folder = tmp_path / "strange"
    folder.mkdir()
    (folder / "data.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (folder / "code.py").write_text(
        RAN.format(tmp_path)
        + "def f(*_): return 'a'\n"
        + "def docs(documents): return documents\n"
        + "class Task:\n    def docs(self): return [{'question': 'q', 'answer': 'a'}]\n"
        + "class Score:\n    name = 'own'\n    emits = ('own',)\n"
        + "    def score(self, original, processed): return {'own': 1.0}\n"
    )
    (tmp_path / "secret.jsonl").write_text('{"question": "secret", "answer": "a"}\n')
    (tmp_path / "test.jsonl").write_text('{"question": "secret", "answer": "a"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(text, trust=()):
        (folder / "t.yaml").write_text(f"task: t\n{text}")
        return evaluate([Says()], suites=["t"], include_path=[folder, *trust], trust=trust)

    run.folder = folder
    return run


def has_run(folder):
    return (folder.parent / "ran").exists()


JUDGE = "rubric: '{response}'"
PROGRAMS = {
    "a function to import": f"evaluators: [{{llm_judge: {{judge: 'os:getcwd', {JUDGE}}}}}]",
    "the same in a spec": "evaluators: ['llm_judge:judge=os:getcwd']",
    "an address": f"evaluators: [{{llm_judge: {{base_url: 'http://127.0.0.1:9', model: m, {JUDGE}}}}}]",
    "the same in a spec, first": "evaluators: ['llm_judge:http://127.0.0.1:9,model=m']",
    "a variable": "evaluators: [{llm_judge: {api_key_env: HOME}}]",
    "a key": "evaluators: [{llm_judge: {api_key: '${HOME}'}}]",
    "headers": "evaluators: [{llm_judge: {headers: {X-Key: '${HOME}'}}}]",
    "an interpreter": "evaluators: [{code_execution: {python: ./evil.sh}}]",
    "a judge of no type": "evaluators: [{context_precision: {judge: 'os:getcwd'}}]",
    "a judge's address": "evaluators: [{context_precision: {judge: 'http://127.0.0.1:9', model: m}}]",
    "a rubric elsewhere": f"evaluators: [{{llm_judge: {{rubric: {__file__}}}}}]",
    "a metric's judge": "metrics: [{pairwise_judge: {judge: 'os:getcwd'}}]",
    "a metric's folder": "metrics: [{pairwise_judge: {cache_dir: elsewhere}}]",
    "a column": "evaluators: [{answer_quality: {answer_column: 'py:./code.py:f'}}]",
    "columns": "evaluators: [answer_quality]\ncolumns: {answer: 'py:./code.py:f'}",
    "columns that are chosen for": "columns: {answer: 'py:./code.py:f'}",
    "a column of a parameter": (
        "evaluators: [{context_precision_ids: {context_ids_column: 'py:os:getcwd'}}]"
    ),
    "a column beside columns": (
        "evaluators: [{context_precision_ids: {context_ids_column: 'py:os:getcwd'}}]\n"
        "columns: {reference_context_ids: question}"
    ),
    "code in a spec": "evaluators: ['py:./code.py:Score']",
    "a function for documents": "process_docs: !function code.docs",
    "a function for prompts": "doc_to_choice: !function code.f",
    "a function that scores": "process_results: !function code.f",
    "a class that scores": "evaluators: [!function code.Score]",
    "a function as a parameter": "evaluators: [{llm_judge: {judge: !function code.f}}]",
    "a function for examples": "fewshot_config: {samples: !function code.f}",
    "a filter": "filter_list: [{name: x, filter: [{function: !function code.f}]}]",
}


@pytest.mark.parametrize("way", PROGRAMS)
def test_a_program_is_refused_wherever_it_is_named(strange, way):
    """With the file, the line, and how to allow it; nothing is run."""
    with pytest.raises(ConfigError) as caught:
        strange(f"{ASKS}{PROGRAMS[way]}\n")
    assert caught.value.source.startswith(f"{strange.folder / 't.yaml'}:")
    assert "--trust strange" in (caught.value.hint or "") or way == "code in a spec"
    assert not has_run(strange.folder)


@pytest.mark.parametrize("way", ["a class that scores", "a function for documents", "columns"])
def test_a_folder_the_user_vouches_for_may_name_programs(strange, way, monkeypatch):
    """By its own name, by that of one above it, and by a link to it."""
    monkeypatch.chdir(strange.folder)
    (strange.folder.parent / "link").symlink_to(strange.folder)
    for trust in (strange.folder, "..", strange.folder.parent / "link"):
        result = strange(f"{ASKS}{PROGRAMS[way]}\n", trust=[trust])
        assert [row.error for row in result.rows] == [None]


def test_a_task_that_is_a_class_is_code(strange):
    """It is run for who is trusted."""
    with pytest.raises(ConfigError, match="nobody vouched"):
        strange("class: !function code.Task\n")
    assert not has_run(strange.folder)
    assert len(strange("class: !function code.Task\n", trust=["strange"]).rows) == 1


def test_trust_is_asked_of_the_file_that_says_a_thing(strange):
    """A trusted file does not vouch for what it includes, nor an included one for who includes it."""
    other = strange.folder.parent / "other"
    other.mkdir()
    program = PROGRAMS["a function to import"]
    (other / "base.yaml").write_text(f"{program}\n")
    with pytest.raises(ConfigError, match="would import") as caught:
        strange(f"{ASKS}include: ../other/base.yaml\n", trust=["strange"])
    assert (caught.value.source, caught.value.hint) == (
        f"{other / 'base.yaml'}:1",
        "if you know what is in it, add --trust other",
    )
    (other / "base.yaml").write_text("limit: 1\n")
    with pytest.raises(ConfigError, match="would import"):
        strange(f"{ASKS}include: ../other/base.yaml\n{program}\n", trust=["other"])


def test_links_do_not_lead_into_or_out_of_a_trusted_folder(strange):
    """Neither a module, nor a folder, nor a suite file that really lies elsewhere."""
    own = strange.folder.parent / "own"
    own.mkdir()
    (own / "code.py").symlink_to(strange.folder / "code.py")
    (own / "data.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (own / "a.yaml").write_text(f"task: a\n{ASKS}process_docs: !function code.docs\n")
    (own / "b.yaml").symlink_to(strange.folder / "t.yaml")
    (strange.folder / "t.yaml").write_text(f"task: b\n{ASKS}process_docs: !function code.docs\n")
    (own / "linked").symlink_to(strange.folder)
    for name, says in {"a": "leads out of", "b": "nobody vouched"}.items():
        with pytest.raises(ConfigError, match=says):
            evaluate([Says()], suites=[name], include_path=[own], trust=[own])
    with pytest.raises(ConfigError, match="nobody vouched"):
        evaluate([Says()], suites=["own/linked/t.yaml"], trust=[own])
    assert not has_run(strange.folder)


DATA = {
    "a haystack": "dataset: 'needle:niah_single_1,haystack={}/secret.txt'",
    "the folder of a benchmark": "dataset: 'helmet:nq,data_dir={}'",
    "a full path": "dataset: {}/secret.jsonl",
    "dots": "dataset: ../secret.jsonl",
    "a link": "dataset: link.jsonl",
    "through a linked folder": "dataset: linked/secret.jsonl",
    "a hub path that is a file": "dataset_path: {}/secret.jsonl",
    "a hub path that is a folder": "dataset_path: ..",
    "a hub path with a link in it": "dataset_path: folder",
    "data_files": "dataset_path: json\ndataset_kwargs: {{data_files: {}/secret.jsonl}}",
    "data_files in the working directory": (
        "dataset_path: json\ndataset_kwargs: {{data_files: secret.jsonl}}"
    ),
    "data_dir": "dataset_path: some/where\ndataset_kwargs: {{data_dir: {}}}",
    "data_dir of a benchmark": "dataset: hotpotqa\ndataset_kwargs: {{data_dir: {}}}",
    "data_dir in a spec": "dataset: 'hotpotqa:data_dir={}'",
    "files": (
        "dataset_path: folder2\ndataset_name: x\ndataset_kwargs: {{files: ../../secret.jsonl}}"
    ),
    "a config": "dataset_path: folder2\ndataset_name: ../..",
    "the home": "dataset: ~/secret.jsonl",
    "another folder that was named": "dataset: ../own/secret.jsonl",
}


@pytest.mark.parametrize("way", DATA)
def test_data_is_taken_from_the_folder_that_was_named(strange, way, monkeypatch):
    """Whatever lies elsewhere is not read, and so sent to no model; who is trusted may name it."""
    monkeypatch.setenv("HOME", str(strange.folder.parent))
    (strange.folder / "link.jsonl").symlink_to("../secret.jsonl")
    (strange.folder.parent / "secret.txt").write_text("The secret is out.")
    (strange.folder / "linked").symlink_to("..")
    (strange.folder / "folder").mkdir()
    (strange.folder / "folder/test.jsonl").symlink_to("../../secret.jsonl")
    (strange.folder / "folder2").mkdir()
    own = strange.folder.parent / "own"
    own.mkdir()
    (own / "secret.jsonl").write_text('{"question": "secret", "answer": "a"}\n')
    text = DATA[way].format(strange.folder.parent)
    with pytest.raises(CBError, match=r"leads (out|away)"):
        strange(f"{text}\n", trust=[own])


ASKED = (
    "output_type: generate_until\ntest_split: test\n"
    "doc_to_text: '{{text or question}}'\ndoc_to_target: \"{{'a'}}\"\nmetric_list: [{metric: exact_match}]\n"
)
LOADED = {
    "a folder beside, by dots": "dataset_path: text\ndataset_kwargs: {data_dir: ../private}",
    "a folder beside, in full": "dataset_path: text\ndataset_kwargs: {data_dir: ROOT/private}",
    "a folder of the home": "dataset_path: text\ndataset_kwargs: {data_dir: ~/private}",
    "the home of nobody": "dataset_path: text\ndataset_kwargs: {data_dir: ~nobody-here/private}",
    "the current folder, by a file": (
        "dataset_path: text\ndataset_kwargs: {data_files: {test: test.jsonl}}"
    ),
    "the current folder, by nothing": "dataset_path: text",
    "the current folder, by json": "dataset_path: json",
    "the current folder, by an option": "dataset_path: json\ndataset_kwargs: {streaming: true}",
    "the current folder, by files": "dataset_path: json\ndataset_kwargs: {files: test.jsonl}",
    "files out of a folder": (
        "dataset_path: json\ndataset_kwargs: {data_dir: folder2, files: ../../secret.jsonl}"
    ),
    "a list": "dataset_path: json\ndataset_kwargs: {data_files: [data.jsonl, ../secret.jsonl]}",
    "a list in a mapping": (
        "dataset_path: csv\ndataset_kwargs: {data_files: {test: [data.jsonl, ../secret.jsonl]}}"
    ),
    "a split with a path": (
        "dataset_path: json\ndataset_kwargs: {data_files: [{split: test, path: ../secret.jsonl}]}"
    ),
    "a number": "dataset_path: json\ndataset_kwargs: {data_files: [5]}",
    "a pattern": "dataset_path: text\ndataset_kwargs: {data_files: '../private/*'}",
    "a pattern in brackets": "dataset_path: text\ndataset_kwargs: {data_files: '[.][.]/private/*'}",
    "a pattern over links": "dataset_path: text\ndataset_kwargs: {data_files: 'folder/*.jsonl'}",
    "a pattern over linked folders": "dataset_path: text\ndataset_kwargs: {data_files: '**/s*.txt'}",
    "a folder with a link to one with a link": "dataset_path: text\ndataset_kwargs: {data_dir: hop}",
    "a file within a folder": (
        "dataset_path: text\ndataset_kwargs: {data_dir: ., data_files: ../private/s.txt}"
    ),
    "a chain": "dataset_path: text\ndataset_kwargs: {data_files: 'filecache::ROOT/private/s.txt'}",
    "a hop": "dataset_path: text\ndataset_kwargs: {data_files: 'zip://s.txt::../private/x.zip'}",
    "an address": "dataset_path: text\ndataset_kwargs: {data_files: 'file://ROOT/private/s.txt'}",
    "a file of the hub": (
        "dataset_path: parquet\ndataset_kwargs: {data_files: 'hf://datasets/a/b/x.parquet'}"
    ),
    "a path that is a folder": (
        "dataset_path: ../private\ndataset_kwargs: {data_files: {test: s.txt}}"
    ),
    "the same in full": "dataset_path: ROOT/private\ndataset_kwargs: {data_files: {test: s.txt}}",
    "the same in the current folder": (
        "dataset_path: private/below\ndataset_kwargs: {data_files: {test: s.txt}}"
    ),
    "a folder that ends like a file": (
        "dataset_path: ../x.json\ndataset_kwargs: {data_files: {test: s.txt}}"
    ),
    "its own folder, by the library": (
        "dataset_path: folder2\ndataset_kwargs: {data_files: {test: x.jsonl}}"
    ),
    "a pickle": "dataset_path: pandas\ndataset_kwargs: {data_files: {test: x.pkl}}",
    "a pickle without a file": "dataset_path: pandas",
    "a pickle of the hub": (
        "dataset_path: pandas\ndataset_kwargs: {data_files: 'hf://datasets/a/b/x.pkl'}"
    ),
    "another builder": "dataset_path: imagefolder\ndataset_kwargs: {data_dir: folder2}",
    "a builder in capitals": "dataset_path: Pandas\ndataset_kwargs: {data_files: {test: x.pkl}}",
    "a builder in wide letters": (
        "dataset_path: ｐandas\ndataset_kwargs: {data_files: {test: x.pkl}}"
    ),
    "a builder by its module": (
        "dataset_path: datasets/packaged_modules/pandas\ndataset_kwargs: {data_files: {test: x.pkl}}"
    ),
    "an address as a path": "dataset_path: hf://datasets/a/b",
    "a bucket": "dataset_path: buckets/a/b",
    "a path with a null": 'dataset_path: "a/b\\0"\ndataset_kwargs: {data_files: {test: x.pkl}}',
    "a folder for what is kept": "dataset_path: a/b\ndataset_kwargs: {cache_dir: ../private}",
    "options of a storage": "dataset_path: a/b\ndataset_kwargs: {storage_options: {key: x}}",
    "a token": "dataset_path: a/b\ndataset_kwargs: {token: true}",
    "a file of a hub dataset, in full": (
        "dataset_path: a/b\ndataset_kwargs: {data_files: {test: ROOT/private/s.txt}}"
    ),
    "a folder of a hub dataset": "dataset_path: a/b\ndataset_kwargs: {data_dir: ../../private}",
    "a config that is a path": "dataset_path: a/b\ndataset_name: ../../private",
    "an included file": "include: ../private/base.yaml",
    "an included file by a link": "include: base.yaml",
    "an included file of an included one": "include: below/base.yaml",
    "an included file in a group": "dataset_path: a/b\ninclude: [{include: ../private/base.yaml}]",
    "an included file of the home": "include: ~/private/base.yaml",
    "a price list": "metrics: [{net_cost: {prices: ROOT/private/prices.json}}]\ndataset: data.jsonl",
    "a price list of a judge": "evaluators: [{llm_judge: {prices: p.json}}]\ndataset: data.jsonl",
    "an endless text": "dataset: 'needle:niah_single_2,length=2000000000'",
    "endless needles": "dataset: 'needle:niah_multikey_3,distractors=2000000000'",
    "an endless response": (
        "dataset_path: json\ndataset_kwargs: {data_files: data.jsonl}\n"
        "generation_kwargs: {max_gen_toks: 1000000000}"
    ),
    "an endless response in text": (
        "dataset_path: json\ndataset_kwargs: {data_files: data.jsonl}\n"
        "generation_kwargs: {max_gen_toks: '1000000000'}"
    ),
}


@pytest.mark.parametrize("way", LOADED)
def test_a_suite_reads_its_own_folder_and_the_hub(strange, way, monkeypatch):
    """Nothing else is opened, sent, unpickled or waited for, with and without the library."""
    root = strange.folder.parent
    monkeypatch.setenv("HOME", str(root))
    for folder in ("private/below", "x.json", "strange/folder", "strange/folder2", "strange/hop"):
        (root / folder).mkdir(parents=True)
    for folder in ("private", "private/below", "x.json"):
        (root / folder / "s.txt").write_text("secret\n")
    (root / "private/base.yaml").write_text("dataset: data.jsonl\ndescription: secret\n")
    (root / "private/prices.json").write_text('{"secret": 1}')
    (strange.folder / "x.pkl").write_bytes(
        b"cos\nsystem\n(S'touch " + bytes(root / "ran") + b"'\ntR."
    )
    (strange.folder / "base.yaml").symlink_to("../private/base.yaml")
    (strange.folder / "folder/test.jsonl").symlink_to("../../secret.jsonl")
    (strange.folder / "hop/on").symlink_to("../on")
    (strange.folder / "on").mkdir()
    (strange.folder / "on/s.txt").symlink_to(root / "private/s.txt")
    (strange.folder / "below").mkdir()
    (strange.folder / "below/base.yaml").write_text("include: ../../private/base.yaml\n")
    asked = ASKED if "dataset_path" in LOADED[way] else ""
    seen = []
    monkeypatch.setattr(
        Says, "process", lambda _, example: seen.append(example) or {"response": ""}
    )
    with pytest.raises(CBError) as caught:
        strange(LOADED[way].replace("ROOT", str(root)) + "\n" + asked)
    endless = way.startswith("endless needles") or way == "an endless text"
    assert endless or "--trust strange" in (caught.value.hint or ""), caught.value
    assert (seen, has_run(strange.folder)) == ([], False)
    assert "secret" not in str(caught.value).replace("secret.jsonl", "")


@pytest.mark.parametrize("key", ["dataset_kwargs", "metadata"])
@pytest.mark.parametrize(
    "given", ["data_dir: ../private", "x: [ROOT/private/s.txt]", "x: ~/private"]
)
@pytest.mark.parametrize("named", ["class", "custom_dataset"])
def test_trusted_code_is_given_no_path_of_a_stranger(strange, monkeypatch, key, given, named):
    """A group may set what a task of another, trusted file hands to its code."""
    root = strange.folder.parent
    monkeypatch.setenv("HOME", str(root))
    (root / "private").mkdir()
    (root / "private/s.txt").write_text("secret")
    (root / "own").mkdir()
    (root / "own/code.py").write_text(RAN.format(root) + "class Task:\n    docs = list\nf = dict\n")
    asked = ASKED if named == "custom_dataset" else ""
    function = "code.f" if named == "custom_dataset" else "code.Task"
    (root / "own/o.yaml").write_text(f"task: o\n{named}: !function {function}\n{asked}")
    given = f"{key}: {{{given.replace('ROOT', str(root))}}}"
    (strange.folder / "t.yaml").write_text(f"group: t\ntask: [{{task: o, {given}}}]\n")
    seen = []
    monkeypatch.setattr(
        Says, "process", lambda _, example: seen.append(example) or {"response": ""}
    )
    folders = [strange.folder, root / "own"]
    try:
        problems = str(
            evaluate([Says()], suites=["t"], include_path=folders, trust=folders[1:]).problems
        )
    except CBError as error:
        problems = str(error)
    assert "leads out" in problems
    assert seen == []


def test_text_of_the_folder_is_read_by_the_library(strange):
    """Next to the suite file, wherever the run is started, by name, pattern and folder."""
    pytest.importorskip("datasets")
    (strange.folder / "texts").mkdir()
    (strange.folder / "texts/test.txt").write_text("a line\n")
    for given in (
        "{data_files: {test: texts/test.txt}}",
        "{data_files: {test: 'texts/*.txt'}}",
        "{data_dir: texts}",
        "{data_dir: texts, data_files: {test: [test.txt]}}",
    ):
        result = strange(f"dataset_path: text\ndataset_kwargs: {given}\n{ASKED}")
        assert [row.error for row in result.rows] == [None], given


def test_a_dataset_within_a_dataset_is_the_users_to_name(strange):
    """Its parameters would be nobody's to check."""
    (strange.folder.parent / "secret.jsonl").write_text('{"question": "q", "answer": "a"}')
    source = f"file:{strange.folder.parent}/secret.jsonl"
    with pytest.raises(ConfigError, match="'source' is for the user to set"):
        strange(f"dataset: 'needle:qa,source={source}'\n")


def test_data_in_the_folder_is_read(strange):
    """Beside the file, further below, and through a link within the folder."""
    (strange.folder / "below").mkdir()
    (strange.folder / "below/test.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (strange.folder / "link.jsonl").symlink_to("data.jsonl")
    for text in ("dataset: below/test.jsonl", "dataset: link.jsonl", "dataset_path: below"):
        assert [row.error for row in strange(f"{text}\n").rows] == [None]


def test_what_python_says_is_the_users_word(strange):
    """A mapping given in Python may name whatever its author can call."""
    (strange.folder / "t.yaml").write_text(f"task: t\n{ASKS}")
    asked = {"task": "t", "evaluators": [{"llm_judge": {"judge": "os:getcwd"}}]}
    result = evaluate([Says()], suites=[asked], include_path=[strange.folder])
    assert "judge_score" in result.rows[0].missing


def test_a_column_that_reads_like_code_is_a_column(strange):
    """Also where the task has columns beside it, and the evaluator is made anew with them."""
    (strange.folder.parent / "code_of_cwd.py").write_text(RAN.format(strange.folder.parent))
    evaluators = "evaluators: [{context_precision_ids: {context_ids_column: 'code_of_cwd:f'}}]\n"
    strange(f"{ASKS}{evaluators}columns: {{reference_context_ids: question}}\n")
    assert not has_run(strange.folder)


def test_variables_of_the_environment_are_not_read(strange, monkeypatch):
    """`${NAME}` is text in a suite file."""
    monkeypatch.setenv("SECRET", "hunter2")
    text = f"{ASKS}description: '${{SECRET}} '\n"
    asked = []

    class Keeps(Says):
        def process(self, example):
            asked.append(example["question"])
            return {"response": "a"}

    (strange.folder / "t.yaml").write_text(f"task: t\n{text}")
    evaluate([Keeps()], suites=["t"], include_path=[strange.folder])
    assert asked == ["${SECRET} q"]


LOOKING = [
    ("run", "--suite", "t", "-s", "identity", "--dry-run", "--no-cache"),
    ("run", "--suite", "t", "-s", "identity", "--dry-run", "--no-cache", "--trust", "strange"),
    ("suite", "show", "t"),
    ("suite", "validate", "strange/t.yaml"),
    ("list", "tasks"),
    ("list", "suites"),
]


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_looking_runs_nothing(workplace, arguments):
    """A dry run, showing, checking and listing; the first says what it could not count."""
    (workplace.folder / "strange").mkdir()
    code = RAN.format(workplace.folder) + "def docs(documents): return documents\n"
    workplace.write("strange/code.py", code)
    workplace.write("strange/data.jsonl", '{"question": "q", "answer": "a"}\n')
    workplace.write("strange/t.yaml", f"task: t\n{ASKS}process_docs: !function code.docs\n")
    done = workplace.cb(*arguments, "--include-path", "strange")
    assert done.returncode == 0, done.stderr
    assert not (workplace.folder / "ran").exists()
    assert ("t is not counted" in done.stderr) == ("--dry-run" in arguments)


def test_trust_is_a_flag_and_a_key_of_run_files(workplace):
    """Both mean the same, and the hint names the flag."""
    (workplace.folder / "strange").mkdir()
    workplace.write("strange/code.py", "def docs(documents): return documents\n")
    workplace.write(
        "strange/data.jsonl", '{"question": "Who?", "context": "It is Ann.", "answer": "Ann"}\n'
    )
    workplace.write("strange/t.yaml", f"task: t\n{ASKS}process_docs: !function code.docs\n")
    workplace.write(
        "run.yaml", "systems: [extractive]\nsuites: [t]\ninclude_path: strange\ntrust: [strange]\n"
    )
    asked = ("run", "--suite", "t", "-s", "extractive", "--include-path", "strange", "--no-cache")
    refused = workplace.cb(*asked)
    assert refused.returncode == 2
    assert "add --trust strange" in refused.stderr
    assert workplace.cb(*asked, "--trust", "strange").returncode == 0
    assert workplace.cb("run", "run.yaml", "--no-cache").returncode == 0
    absent = workplace.cb(*asked, "--trust", "absent")
    assert (absent.returncode, "absent: does not exist" in absent.stderr) == (2, True)


OPENED: list[str] = []


def _watch(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and "canary" in str(arguments[0]):
        OPENED.append(str(arguments[0]))


def test_no_parameter_of_a_component_opens_a_file_elsewhere(tmp_path, monkeypatch):
    """Each parameter of each installed dataset, evaluator, metric and format, set by a stranger."""
    (tmp_path / "own").mkdir()
    (tmp_path / "canary").mkdir()
    (tmp_path / "canary/x.jsonl").write_text('{"question": "q", "answer": "a", "context": "c"}\n')
    monkeypatch.chdir(tmp_path / "own")
    monkeypatch.setenv("CB_DATA_DIR", str(tmp_path))
    source = UntrustedSource("suite.yaml", (tmp_path / "own",))
    sys.addaudithook(_watch)
    kinds = ("dataset", "evaluator", "metric", "format")
    for component in [c for kind in kinds for c in default_catalog().components(kind)]:
        (tmp_path / component.name).mkdir(exist_ok=True)
        factory = component.load()
        for name in signature_of(factory).parameters:
            for value in (f"{tmp_path}/canary/x.jsonl", "../canary/x.jsonl", "../canary"):
                OPENED.clear()
                spec = Spec(component.name, params={name: value})
                with contextlib.suppress(CBError):
                    check_parameters(spec, factory, source.check)
                    made = make(spec, factory)
                    if component.kind == "dataset":
                        next(iter(made), None)
                assert OPENED == [], f"{component.qualified_name}: {name}"


@pytest.mark.parametrize(
    "given",
    [
        {"suite": [{"task": "t", "dataset": "d", "evaluators": ["py:./strange/code.py:Score"]}]},
        {"suite": ["t"], "include_path": ["/etc"]},
        {"suite": ["t"], "include_path": ["../strange"]},
        {"suite": ["t"], "trust": ["strange"]},
    ],
    ids=str,
)
def test_a_result_of_somebody_else_names_no_suite_of_its_own(strange, given):
    """The table of suites is left out of merged shards; `--trust` of `cb merge` allows it."""
    root = strange.folder.parent
    paths = [str(root / f"{number}.json") for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        data = [{"id": n, "question": "q", "answer": "a"} for n in range(9)]
        result = evaluate([Says()], data, shard=f"{number}/2", progress=False)
        shard = json.loads(result.to_json())
        shard["config"]["options"] = [{"name": name, "plugin": "cb-suites"} for name in given]
        shard["config"]["settings"] |= given
        Path(path).write_text(json.dumps(shard))
    merged = merge(paths, cache_dir=root / "none")
    assert any("only the user may set" in problem for problem in merged.problems)
    assert any("--trust allows it" in problem for problem in merged.problems)
    assert "suites" not in merged.sections
    assert not has_run(strange.folder)
