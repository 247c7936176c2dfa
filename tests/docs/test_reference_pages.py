"""The reference has everything that is public: commands, names, codes, rules, limits, events, columns."""

from __future__ import annotations

import importlib
import inspect
import re
import sys

import pytest
from doc_blocks import ROOT

sys.path.insert(0, str(ROOT))
from tools.reference_pages import FOLDER, all_pages, api, stale

from usp import events
from usp.checks import RULES
from usp.cli.commands import COMMANDS
from usp.limits import Limits
from usp.objects.problem import FailureCode, ProblemCode

MADE = all_pages()
NAMES = [
    (module, name)
    for page in api.PAGES.values()
    for module in page.modules
    for name in importlib.import_module(module).__all__
]


@pytest.mark.parametrize("path", MADE)
def test_a_page_is_what_the_code_says(path):
    now = FOLDER.joinpath(path).read_text("utf-8")
    assert now == MADE[path], "run: python -m tools.reference_pages"


def test_no_page_is_about_something_that_is_gone():
    assert stale() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_page_with_every_option(name):
    page = MADE[f"cli/{name}.md"]
    shown = [param for param in COMMANDS[name].params if not getattr(param, "hidden", False)]
    options = [option for param in shown for option in param.opts]
    assert [one for one in options if one.startswith("-") and f"`{one}" not in page] == []
    assert "## Examples" in page
    assert f"[`usp {name}" in (FOLDER / "cli" / "index.md").read_text("utf-8")


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_described_once(module, name):
    value = getattr(importlib.import_module(module), name)
    if inspect.ismodule(value):
        return
    home = api.home(value, name)
    described = re.findall(
        rf":: (?:{re.escape(home)}\.{name}|{name}\n   :module: {re.escape(home)})$",
        "\n".join(MADE.values()),
        re.MULTILINE,
    )
    assert len(described) == 1
    if inspect.isclass(value) and value.__module__.startswith("usp"):
        own = vars(value).get("__doc__") or ""
        assert own
        assert not own.startswith(f"{name}("), "that of every dataclass"
    elif inspect.isroutine(value):
        assert value.__doc__


def test_every_method_is_described():
    missing = []
    for module, name in NAMES:
        value = getattr(importlib.import_module(module), name)
        if inspect.isclass(value) and value.__module__.startswith("usp"):
            missing += [
                f"{module}.{name}.{key}"
                for key, member in vars(value).items()
                if not key.startswith("_")
                and (inspect.isroutine(member) or isinstance(member, property))
                and not inspect.getdoc(getattr(value, key))
            ]
    assert missing == []


def test_codes_rules_limits_and_events_are_described():
    problems = set(re.findall(r"^### (.+)$", MADE["problems.md"], re.MULTILINE))
    assert problems == {code.value for code in (*FailureCode, *ProblemCode)}
    sections = "".join(text for path, text in MADE.items() if path.startswith("rules/"))
    assert set(re.findall(r"^## (SM[0-9]+) ", sections, re.MULTILINE)) == set(RULES)
    assert set(Limits.__dataclass_fields__) <= set(re.findall(r"`(\w+)`", MADE["limits.md"]))
    assert set(events.__all__) - set(re.findall(r"\w+", MADE["events.md"])) == set()
