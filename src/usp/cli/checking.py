"""What ``usp check`` does: which rules it asks, what it reads, how it writes findings and ends."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted
from usp.checks.baseline import Baseline
from usp.checks.checking import Checking
from usp.checks.folding import Counts
from usp.checks.formats import FORMATS, Subject
from usp.checks.meant import meant_as_sitemaps
from usp.checks.rules import RULES
from usp.checks.selecting import ALL, Chosen, rules_named
from usp.checks.values import Severity
from usp.cli.crawling import tell_website
from usp.cli.errors import PARTIAL, tell
from usp.cli.output import has_colors, write_lines
from usp.objects.sitemap import IndexRobotsTxtSitemap, IndexWebsiteSitemap, InvalidSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from usp.checks.values import Finding
    from usp.cli.crawling import Address, Crawling
    from usp.cli.progress import Progress
    from usp.objects.sitemap import AbstractSitemap

FOUND = 1
NOT_CHECKED = 2
_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "title": {"bold": True},
    "good": {"fg": "green"},
    "dim": {"dim": True},
}


# Which rules --------------------------------------------------------------------------------------


def chosen_rules(given: dict[str, Any]) -> Chosen:
    """Return the rules that the options choose; raises ``BadParameter`` for one that does not exist."""
    named = {
        option: _named(given[option], f"--{option.replace('_', '-')}")
        for option in ("select", "ignore", "extend_select", "extend_ignore")
    }
    severities = dict(map(_severity, given["severities"]))
    for text in severities:
        _named([text], "--severity")
    try:
        return Chosen.of(
            RULES,
            [*(named["select"] or [ALL]), *named["extend_select"]],
            [*named["ignore"], *named["extend_ignore"]],
            severities,
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--severity") from error


def _named(values: Iterable[str], option: str) -> list[str]:
    """Return the names in comma-separated values, after checking that they mean something."""
    names = [name.strip() for value in values for name in str(value).split(",") if name.strip()]
    for name in names:
        try:
            rules_named(RULES, name)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=option) from error
    return names


def _severity(given: str) -> tuple[str, str]:
    name, equals, severity = str(given).partition("=")
    if not equals:
        raise click.BadParameter(
            f"{given!r} has no severity; use for example SM407=info", param_hint="--severity"
        )
    return name.strip(), severity.strip()


# The check ----------------------------------------------------------------------------------------


class Check:
    """One call of the command; ``given`` are its own options."""

    def __init__(
        self, given: dict[str, Any], starts: Sequence[Address], crawling: Crawling
    ) -> None:
        if sum(start.is_stdin for start in starts) > 1:
            raise click.UsageError("standard input can be checked only once")
        self._starts = starts
        self._crawling = crawling
        self._checking = Checking(
            chosen_rules(given), given["fetch_pages"], options=crawling.options
        )
        self._least = Severity(given["min_severity"])
        fail_on = given["fail_on"]
        self._fail_on = None if fail_on == "never" else Severity(fail_on)
        self._everything: bool = given["everything"]
        self._target: Path | None = given["write_baseline"]
        self._baseline = None if self._target else _baseline(given["baseline"])
        self._trees: list[AbstractSitemap] = []
        self._are_live: list[bool] = []  # whether each of them was fetched just now
        self._counts = Counts()
        self._unread = False

    def read(self, progress: Progress) -> None:
        """Fetch or read everything that is to be checked."""
        for start in self._starts:
            tree = self._crawling.tree(start, on_event=progress)
            failures = tree.failures()
            if failures and not _has_responded(tree, start):
                tell.failures(failures, NOT_CHECKED)
                self._unread = True
                continue
            tell_website(tree, start)
            self._trees.append(meant_as_sitemaps(tree))
            self._are_live.append(not start.is_local)
        if not self._trees:
            raise Exit(NOT_CHECKED)

    def write(self, form: str, output: Path | None, progress: Progress) -> None:
        """Check, and write what was found."""
        progress.now("checking")
        findings = self._findings(progress.add_pages)
        if self._target is not None:
            baseline = Baseline.of(self._counts.counted(findings), self._target.parent)
            baseline.save(self._target)
            known = counted(self._counts.total, "finding")
            tell.notice(f"{known} written to {self._target}; use it with --baseline")
            return
        is_shown = output is None and sys.stdout.isatty()
        subject = Subject(
            findings,
            sitemaps=[*_sitemaps(self._trees)],
            rules=self._checking.chosen.rules,
            fail_on=self._fail_on,
            everything=self._everything,
            width=shutil.get_terminal_size().columns if is_shown else None,
            counts=self._counts,
        )
        if output is None and has_colors():
            subject.paint = painted
        _write(FORMATS[form](subject), output)
        if form not in ("text", "github") or output is not None:
            self._tell_counts(output)

    def end(self) -> None:
        """Report what else is worth knowing, and end with the exit status."""
        if self._baseline is not None:
            gone = self._baseline.gone(self._checking.chosen, _urls(self._trees))
            if gone:
                known = counted(gone, "finding")
                message = f"{known} of the baseline no longer found; --write-baseline updates it"
                tell.notice(message, gone=gone)
        fails = self._fail_on is not None and self._counts.at_least(self._fail_on) > 0
        if fails and self._target is None:
            raise Exit(FOUND)
        empty = [tree for tree in self._trees if not next(_sitemaps([tree]), None)]
        for tree in empty:
            failures = tree.failures()
            if failures:
                tell.failures(failures, NOT_CHECKED)
            else:
                tell.error(f"no sitemaps were found at {tree.url}", NOT_CHECKED)
        if empty or self._unread:
            raise Exit(NOT_CHECKED)
        if self._crawling.strict and any(tree.failures() for tree in self._trees):
            raise Exit(PARTIAL)

    def _findings(self, on_pages: Callable[[int], object]) -> Iterator[Finding]:
        checking = replace(self._checking, web_client=self._crawling.client())
        found = chain.from_iterable(
            replace(checking, is_live=is_live).findings(tree, on_pages)
            for tree, is_live in zip(self._trees, self._are_live, strict=True)
        )
        severe = (one for one in found if one.severity.rank <= self._least.rank)
        return severe if self._baseline is None else self._baseline.new(severe)

    def _tell_counts(self, output: Path | None) -> None:
        where = "" if output is None else f" written to {output}"
        parts = ", ".join(
            f"{one.value}: {number:,}"
            for one in Severity
            if (number := self._counts.severities[one])
        )
        said = f"{counted(self._counts.total, 'finding')}{parts and f' ({parts})'}{where}"
        tell.notice(said, **self._counts.to_dict())


def _baseline(path: str | None) -> Baseline | None:
    if path is None:
        return None
    try:
        return Baseline.read(path)
    except OSError as error:
        reason = f"cannot read {path!r}: {error.strerror}; --write-baseline {path} creates it"
    except ValueError as error:
        reason = str(error)
    raise click.BadParameter(reason, param_hint="--baseline")


def _has_responded(tree: AbstractSitemap, start: Address) -> bool:
    """Return whether there is anything to check: a document, or at least a response."""
    if start.is_stdin or (start.path is not None and not start.is_snapshot):
        return True
    return any(
        not isinstance(node, InvalidSitemap | IndexWebsiteSitemap) or node.size is not None
        for node in (tree, *tree.all_sitemaps())
    ) or any(failure.status is not None for failure in tree.failures())


def _sitemaps(trees: Sequence[AbstractSitemap]) -> Iterator[str]:
    """Yield the URLs of all sitemaps, each once, and of a robots.txt that was named itself."""
    others = IndexWebsiteSitemap, IndexRobotsTxtSitemap
    nodes = chain.from_iterable(tree.all_sitemaps() for tree in trees)
    named = (tree for tree in trees if not isinstance(tree, IndexWebsiteSitemap))
    below = (node for node in nodes if not isinstance(node, others))
    yield from dict.fromkeys(node.url for node in chain(named, below))


def _urls(trees: Iterable[AbstractSitemap]) -> Iterator[str]:
    """Yield the URLs of all that was checked."""
    for tree in trees:
        yield tree.url
        yield from (node.url for node in tree.all_sitemaps())


def _write(lines: Iterable[str], output: Path | None) -> None:
    if output is None:
        write_lines(lines, sys.stdout)
        sys.stdout.flush()
        return
    from usp._base.files import replacing

    with replacing(output) as file:
        file.writelines(f"{line}\n".encode(errors="backslashreplace") for line in lines)


def painted(text: str, style: str) -> str:
    """Return text in a style, for a terminal with colors."""
    return click.style(text, **_STYLES[style])
