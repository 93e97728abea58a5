"""The files in examples/ray, as far as they can be tried without a cluster."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "ray"

TEXT, WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}


def _only(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """An object with these fields and no others, so that a name that is misspelt is found."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": False,
    }


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1}


PARAMS = {"type": "object", "additionalProperties": TEXT}
FROM_SECRET = _only(("secretKeyRef",), secretKeyRef=_only(("name", "key"), name=TEXT, key=TEXT))
VARIABLE = {
    **_only(("name",), name=TEXT, value=TEXT, valueFrom=FROM_SECRET),
    "oneOf": [{"required": ["value"]}, {"required": ["valueFrom"]}],
}
AMOUNTS = _only(("cpu", "memory"), cpu=TEXT, memory=TEXT)
CONTAINER = _only(
    ("name", "image"),
    name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    image=TEXT,
    ports=_list_of(_only(("containerPort",), containerPort=WHOLE, name=TEXT)),
    env=_list_of(VARIABLE),
    resources=_only(limits=AMOUNTS, requests=AMOUNTS),
    volumeMounts=_list_of(_only(("name", "mountPath"), name=TEXT, mountPath=TEXT)),
)
VOLUME = _only(
    ("name",),
    name=TEXT,
    configMap=_only(("name",), name=TEXT),
    persistentVolumeClaim=_only(("claimName",), claimName=TEXT),
)
POD = _only(
    ("spec",),
    spec=_only(("containers",), containers=_list_of(CONTAINER), volumes=_list_of(VOLUME)),
)
RAY_JOB = _only(
    ("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=_only(("name",), name=TEXT),
    spec=_only(
        ("entrypoint", "rayClusterSpec"),
        entrypoint=TEXT,
        shutdownAfterJobFinishes={"type": "boolean"},
        ttlSecondsAfterFinished=WHOLE,
        activeDeadlineSeconds=WHOLE,
        rayClusterSpec=_only(
            ("rayVersion", "headGroupSpec", "workerGroupSpecs"),
            rayVersion=TEXT,
            authOptions=_only(("mode",), mode={"enum": ["token", "disabled"]}),
            headGroupSpec=_only(("template",), rayStartParams=PARAMS, template=POD),
            workerGroupSpecs=_list_of(
                _only(
                    ("groupName", "template"),
                    groupName=TEXT,
                    replicas=WHOLE,
                    minReplicas=WHOLE,
                    maxReplicas=WHOLE,
                    rayStartParams=PARAMS,
                    template=POD,
                )
            ),
        ),
    ),
)
"""The fields of a RayJob that the example uses, as KubeRay and Kubernetes define them."""


@pytest.fixture
def job() -> Any:
    return yaml.safe_load((EXAMPLES / "rayjob.yaml").read_text(encoding="utf-8"))


def test_the_manifest_has_the_fields_of_a_ray_job(job):
    """Names, types, and what has to be there; volumes that are mounted exist."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(job, RAY_JOB)
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    mounted = {mount["name"] for one in head["containers"] for mount in one["volumeMounts"]}
    assert mounted == {volume["name"] for volume in head["volumes"]}


def test_a_field_that_is_misspelt_would_be_found(job):
    """Else the test above would say nothing."""
    jsonschema = pytest.importorskip("jsonschema")
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParam"] = {}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(job, RAY_JOB)


def test_one_version_of_ray_stands_everywhere(job):
    """In the manifest, in the image, and where this project is tested."""
    pinned = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    image = re.search(r'"ray\[default\]==([^"]+)"', (EXAMPLES / "Dockerfile").read_text())
    assert pinned is not None
    assert image is not None
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == pinned[1] == image[1]


def _dry(command: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What `cb` says to a command of the examples, without running it."""
    here = command.replace("/benchmark/benchmark.yaml", "benchmark.yaml")
    here = here.replace("/results/", f"{tmp_path}/")
    words = [sys.executable, "-m", "cbcore", *shlex.split(here)[1:], "--dry-run"]
    return subprocess.run(words, cwd=EXAMPLES, capture_output=True, text=True, check=False)


def test_the_command_of_the_job_is_one_that_cb_takes(job, tmp_path):
    """With the benchmark that lies beside it."""
    done = _dry(job["spec"]["entrypoint"], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_script_hands_in_what_ray_and_cb_take(tmp_path):
    """A `ray` that only says what it was told stands in for the real one; its own parser reads it."""
    told = tmp_path / "ray"
    told.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    told.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    script = ["sh", str(EXAMPLES / "submit.sh"), "http://head:8265"]
    done = subprocess.run(
        script, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    words = json.loads(done.stdout)
    assert words[:2] == ["job", "submit"]
    asked = words[2:]
    code = (
        "import json, sys; from ray.dashboard.modules.job.cli import submit; "
        "print(json.dumps(submit.make_context('submit', json.loads(sys.argv[1])).params))"
    )
    read = subprocess.run(
        [sys.executable, "-c", code, json.dumps(asked)], capture_output=True, text=True, check=True
    )
    params = json.loads(read.stdout.splitlines()[-1])
    assert params["address"] == "http://head:8265"
    assert Path(params["working_dir"]).samefile(EXAMPLES)
    dry = _dry(shlex.join(params["entrypoint"]), tmp_path)
    assert dry.returncode == 0, dry.stderr


def test_without_an_address_the_script_says_how_it_is_used():
    """And hands nothing in."""
    done = subprocess.run(["sh", str(EXAMPLES / "submit.sh")], capture_output=True, check=False)
    assert done.returncode != 0
    assert b"usage: sh submit.sh http://HEAD:8265" in done.stderr
