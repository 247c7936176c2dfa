"""``usp rule``: explains the rules of ``usp check``: a page for one rule, a list of several."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli import options
from usp.cli.errors import messages
from usp.cli.option_values import value_of
from usp.cli.output import painted, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from usp.checks.registry import Rule

_WIDEST = 88  # columns of text that is easy to read
_PLAIN_WIDTH = 80
_NARROWEST = 30
_LEAST = 24  # columns for the sentences of a list
_NO_WRAP = 1000


@options.command("rule")
@click.argument("names", metavar="[RULE]...", nargs=-1)
@options.results(["text", "json"], "text: for people (the default). json: for programs.")
@click.option("--all", is_flag=True, expose_value=False, hidden=True)  # as without a code
@options.common_options
def command(names: tuple[str, ...], form: str | None, output: Path | None) -> None:
    """Explain a rule of usp check, or list all rules.

    RULE is a code, the beginning of codes, or a name. One rule is explained; several, or all
    without RULE, are listed, one per line. -f json has everything about each of them.

    Examples:
      usp rule                     all rules
      usp rule SM401               one of them
      usp rule relative-url
      usp rule SM4                 all rules about URLs
      usp rule -o rules.json       all rules for programs
    """
    form = options.format_for(output, form, ("text", "json"), "text")
    rules = _named(names)
    if form == "json":
        lines: Iterable[str] = [json.dumps([rule.to_dict() for rule in rules], indent=2)]
    else:
        columns = _columns() if output is None else _NO_WRAP
        lines = _page(rules[0]) if len(rules) == 1 else _list(rules, columns)
    write_text(lines, output)
    messages.wrote(output, len(rules), "rule")


def _named(names: Iterable[str]) -> list[Rule]:
    """Return the rules of these names, or all; raises ``BadParameter`` if one means none."""
    from usp.checks.registry import rules_named
    from usp.checks.rules import RULES

    found: dict[str, Rule] = {}
    with value_of("RULE"):
        for name in names:
            found |= {rule.code: rule for rule in rules_named(RULES, name)}
    return list(found.values()) or list(RULES.values())


def _page(rule: Rule) -> Iterator[str]:
    yield painted(f"{rule.code} {rule.name}", "title")
    yield f"{painted(rule.severity.value, rule.severity)}, about {rule.group.title}"
    yield ""
    yield from _wrapped(rule.summary)
    if rule.why:
        yield ""
        for paragraph in rule.why.split("\n\n"):
            yield from _wrapped(paragraph)
    sections = [(title, example.splitlines()) for title, example in rule.examples]
    sections.append(("What to do", _wrapped(rule.hint, room=4)))
    sections.append(("Sources" if len(rule.sources) > 1 else "Source", list(rule.sources)))
    sections.append(("Asked for by", [", ".join(rule.asked_by)]))
    sections.append(("Profiles", [", ".join(rule.profiles)]))
    for title, lines in sections:
        if lines:
            yield from ("", painted(title, "title"), "", *(f"    {line}" for line in lines))


def _list(rules: Sequence[Rule], columns: int) -> Iterator[str]:
    for number, (group, listed) in enumerate(groupby(rules, key=attrgetter("group"))):
        of_group = list(listed)
        if number:
            yield ""
        yield painted(f"{group.title[0].upper()}{group.title[1:]}", "title")
        widest = max(len(rule.name) for rule in of_group)
        margin = " " * (len("  SM401  warning    ") + widest)
        for rule in of_group:
            padding = " " * (len("warning") - len(rule.severity))
            severity = f"{painted(rule.severity.value, rule.severity)}{padding}"
            begin = f"  {rule.code}  {severity}  {rule.name:{widest}}"
            room = columns - len(margin)
            first, *more = textwrap.wrap(rule.summary, room) if room >= _LEAST else [""]
            yield f"{begin}  {first}".rstrip()
            yield from (margin + line for line in more)


def _columns() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _NO_WRAP


def _wrapped(text: str, room: int = 0) -> list[str]:
    """Return a text in lines that leave some room before them."""
    width = max(min(_columns(), _WIDEST) if sys.stdout.isatty() else _PLAIN_WIDTH, _NARROWEST)
    return textwrap.wrap(
        " ".join(text.split()), width - room, break_long_words=False, break_on_hyphens=False
    )
