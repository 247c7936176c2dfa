"""The files around the sources agree with them: workflows, hooks, templates and the container."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from together import together

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"

if not GITHUB.exists():  # pragma: no cover
    pytest.skip("this is not the repository", allow_module_level=True)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = [
    text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)
]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in GITHUB.glob("*/*.yml")}
JOBS = {
    f"{name}/{key}": job
    for name, workflow in WORKFLOWS.items()
    for key, job in workflow.get("jobs", {}).items()
}


def commands(job: dict) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_every_supported_python_is_tested_on_every_system():
    everything, library = JOBS["tests/all"], JOBS["tests/library"]
    assert everything["strategy"]["matrix"]["python"] == PYTHONS
    assert library["strategy"]["matrix"]["python"] == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    systems = {everything["runs-on"], *library["strategy"]["matrix"]["system"]}
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}


@together("job", JOBS.values())
def test_a_job_names_files_that_exist_and_ends_in_time(job):
    named = re.findall(r"(?<![\w/])(?:tests|tools)/[\w/.]+", commands(job))
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert job["timeout-minutes"]


@together("name", [name for name, workflow in WORKFLOWS.items() if "jobs" in workflow])
def test_a_workflow_has_no_secrets_and_may_only_read_unless_a_job_says_otherwise(name):
    assert "secrets." not in (GITHUB / "workflows" / f"{name}.yml").read_text("utf-8")
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}


def test_the_package_is_published_by_its_workflow_alone():
    assert JOBS["release/publish"]["permissions"] == {"id-token": "write"}
    assert JOBS["release/publish"]["needs"] == "try"


def test_a_site_report_asks_for_a_snapshot():
    fields = {field.get("id"): field for field in WORKFLOWS["site-report"]["body"]}
    assert fields["snapshot"]["validations"]["required"]
    assert "usp snapshot" in fields[None]["attributes"]["value"]


def test_the_hooks_for_contributors_need_no_host_and_name_files_that_exist():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    for hook in config["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        named = re.findall(r"tests/[\w/.]+", hook["entry"])
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_container_has_extras_that_exist_and_is_not_root():
    text = (ROOT / "Dockerfile").read_text("utf-8")
    extras = re.search(r"^ARG EXTRAS=(.+)$", text, re.MULTILINE)[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    assert re.findall(r"^FROM python:(\d+\.\d+)-slim", text, re.MULTILINE) == [PYTHONS[-1]] * 2
    assert re.search(r"^USER (\d+)", text, re.MULTILINE)[1] != "0"
    allowed = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE))
    copied = set(" ".join(re.findall(r"^COPY ((?!--).+) \S+$", text, re.MULTILINE)).split())
    assert copied == allowed
