"""What to do about a failure, in the words of the command line: with options that the command has.

Reasons give their advice in the words of a program (:mod:`usp._base.advice`). Here it is found and said
anew; advice for which a command has no option is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import rich_click as click

from usp._base.advice import BLOCKED, UNTRUSTED, allow_network, raise_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def options_here() -> frozenset[str]:
    """Return the options of the command that is running."""
    context = click.get_current_context(silent=True)
    if context is None:
        return frozenset()
    return frozenset(option for parameter in context.command.params for option in parameter.opts)


def in_cli_words(text: str, options: Collection[str] | None = None) -> str:
    """Return a reason with its advice in the words of the command line.

    ``options`` are those that may be named: of the command that is running, unless told.
    """
    known = options_here() if options is None else options
    for pattern, advise in _ADVICE:
        text = pattern.sub(lambda found, advise=advise: advise(found, known), text)  # type: ignore[misc]
    return _EMPTY.sub(
        "",
        text.replace(_UNFETCHED, "not fetched: sitemaps in files are read without network access"),
    )


def _limit(found: re.Match[str], options: Collection[str]) -> str:
    name = found["value"]
    if name == "seconds" and "--site-seconds" in options:
        return "raise it with --site-seconds"
    return f"raise it with --max {name}=…" if "--max" in options else ""


def _network(found: re.Match[str], options: Collection[str]) -> str:
    return f"--allow-network {found['value']} permits it" if "--allow-network" in options else ""


def _blocked(_: re.Match[str], options: Collection[str]) -> str:
    tries = [
        said
        for option, said in (
            ("--user-agent", "--user-agent NAME"),
            ("--concurrency", "--concurrency 1"),
            ("--per-host", "--per-host 1"),
            ("--wait", "--wait 2"),
        )
        if option in options
    ]
    advice = f": try {_either(tries)}" if tries else ""
    return f"the server turns robots away{advice}"


def _untrusted(_: re.Match[str], options: Collection[str]) -> str:
    ways = [
        said
        for option, said in (
            ("--ca-bundle", "--ca-bundle FILE trusts its issuer"),
            ("--insecure", "--insecure skips the check"),
        )
        if option in options
    ]
    return ", ".join(ways)


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _finding(advice: str) -> re.Pattern[str]:
    """Return what finds an advice; its value, if it has one, is ``VALUE`` here."""
    first, *others = re.escape(advice).split("VALUE")
    if not others:
        return re.compile(first)
    return re.compile(first + r"(?P<value>[^\s\"]+?)" + r"(?P=value)".join(others))


_ADVICE: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Collection[str]], str]], ...] = (
    (_finding(raise_limit("VALUE")), _limit),
    (_finding(allow_network("VALUE")), _network),
    (_finding(BLOCKED), _blocked),
    (_finding(UNTRUSTED), _untrusted),
)
_UNFETCHED = "Un-fetched child sitemap"
_EMPTY = re.compile(r" \(\)|;\s*$")
