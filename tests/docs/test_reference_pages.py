"""The reference has everything that is public: commands, names, codes, rules, limits, events, columns."""

import importlib
import inspect
import re
from collections import Counter

from doc_blocks import reference_pages

from usp import events
from usp.checks import RULES
from usp.cli.commands import COMMANDS
from usp.limits import Limits
from usp.objects.problem import FailureCode, ProblemCode

FOLDER, api = reference_pages.FOLDER, reference_pages.api
all_pages, is_kept = reference_pages.all_pages, reference_pages.is_kept


def test_a_page_that_is_kept_is_what_the_code_says():
    kept = {path: text for path, text in all_pages().items() if is_kept(path)}
    stale = [path for path in kept if (FOLDER / path).read_text("utf-8") != kept[path]]
    assert stale == [], "run: python -m tools.reference_pages"


def test_a_command_has_a_page_with_every_option():
    listed = (FOLDER / "cli" / "index.md").read_text("utf-8")
    missing = []
    for name, command in COMMANDS.items():
        page = all_pages()[f"cli/{name}.md"]
        shown = [param for param in command.params if not getattr(param, "hidden", False)]
        options = [option for param in shown for option in param.opts if option.startswith("-")]
        missing += [f"{name} {option}" for option in options if f"`{option}" not in page]
        if "## Examples" not in page or f"[`usp {name}" not in listed:
            missing.append(name)
    assert missing == []


def test_a_public_name_is_described_once_and_so_is_every_method():
    text = "\n".join(all_pages().values())
    directives = re.findall(r":: (\S+)(?:\n   :module: (\S+))?$", text, re.MULTILINE)
    described = Counter(f"{module}.{name}".lstrip(".") for name, module in directives)
    wrong = []
    modules = (module for page in api.PAGES.values() for module in page.modules)
    names = [
        (module, name) for module in modules for name in importlib.import_module(module).__all__
    ]
    for module, name in names:
        value = getattr(importlib.import_module(module), name)
        if inspect.ismodule(value):
            continue
        if described[f"{api.home(value, name)}.{name}"] != 1:
            wrong.append((module, name, "is not described once"))
        if inspect.isclass(value) and value.__module__.startswith("usp"):
            own = vars(value).get("__doc__") or f"{name}("
            if own.startswith(f"{name}("):
                wrong.append((module, name, "has no text, or that of every dataclass"))
            wrong += [
                (module, name, f"{key} is not described")
                for key, member in vars(value).items()
                if not key.startswith("_")
                and (inspect.isroutine(member) or isinstance(member, property))
                and not inspect.getdoc(getattr(value, key))
            ]
        elif inspect.isroutine(value) and not value.__doc__:
            wrong.append((module, name, "has no text"))
    assert wrong == []


def test_codes_rules_limits_and_events_are_described():
    problems = set(re.findall(r"^### (.+)$", all_pages()["problems.md"], re.MULTILINE))
    assert problems == {code.value for code in (*FailureCode, *ProblemCode)}
    sections = "".join(text for path, text in all_pages().items() if path.startswith("rules/"))
    described = re.findall(r"^## (SM[0-9]+) ", sections, re.MULTILINE)
    described += re.findall(r"^\*(SM[0-9]+) of usp check", all_pages()["problems.md"], re.MULTILINE)
    assert sorted(set(described)) == list(RULES)
    assert set(Limits.__dataclass_fields__) <= set(re.findall(r"`(\w+)`", all_pages()["limits.md"]))
    assert set(events.__all__) - set(re.findall(r"\w+", all_pages()["events.md"])) == set()
