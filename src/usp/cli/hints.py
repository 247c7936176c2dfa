"""What to do about a failure, in the words of the command line: with options that the command has.

Reasons give their advice in the words of a program (:mod:`usp._base.advice`). Advice for which a
command has no option is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from usp._base.advice import Topic
from usp._base.reason import limit_advice
from usp.objects.problem import FailureCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from usp._base.advice import Advice
    from usp.objects.problem import AnyCode, Failure

_UNFETCHED = "not fetched: sitemaps in files are read without network access"


def options_here() -> frozenset[str]:
    """Return the options of the command that is running."""
    context = click.get_current_context(silent=True)
    if context is None:
        return frozenset()
    return frozenset(option for parameter in context.command.params for option in parameter.opts)


def told(failure: Failure) -> str:
    """Return why something is missing, without its address, with the options that help."""
    if failure.code is FailureCode.NOT_FETCHED:
        return _UNFETCHED
    return reworded(failure.brief, failure.advice)


def told_problem(text: str, code: AnyCode) -> str:
    """Return what is said of a problem, with the options that help."""
    return reworded(text, limit_advice(code))


def reworded(text: str, advice: Advice | None) -> str:
    """Return a text with its advice in the words of the command that is running."""
    if advice is None:
        return text
    return advice.reworded(text, _WORDS[advice.topic](advice.name, options_here()))


def _limit(name: str, options: Collection[str]) -> str:
    if name == "seconds" and "--site-seconds" in options:
        return "raise it with --site-seconds"
    return f"raise it with --max {name}=…" if "--max" in options else ""


def _network(name: str, options: Collection[str]) -> str:
    return f"--allow-network {name} permits it" if "--allow-network" in options else ""


def _gentle(_: str, options: Collection[str]) -> str:
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
    return f"try {_either(tries)}" if tries else ""


def _trust(_: str, options: Collection[str]) -> str:
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


_WORDS: dict[Topic, Callable[[str, Collection[str]], str]] = {
    Topic.RAISE_LIMIT: _limit,
    Topic.ALLOW_NETWORK: _network,
    Topic.BE_GENTLE: _gentle,
    Topic.TRUST: _trust,
}
