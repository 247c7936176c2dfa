"""``usp check``: finds what is wrong with sitemaps, for people, programs and continuous integration."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted
from usp.cli.errors import PARTIAL, messages
from usp.cli.option_values import Integer, OutputFile, bad_value
from usp.cli.options import (
    flag_option,
    format_for,
    format_option,
    input_type,
    output_option,
    run_options,
)
from usp.cli.output import Command, exit_on_error, has_colors, painted, write_text

if TYPE_CHECKING:
    from usp._inputs import Input
    from usp.checks.finding import Baseline, Finding
    from usp.checks.registry import RuleSelection
    from usp.cli.progress_line import Progress
    from usp.cli.run_options import RunOptions
    from usp.limits import Limits
    from usp.objects.sitemap import AbstractSitemap

FOUND = 1
NOT_CHECKED = 2
_FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github")
_SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".sarif": "sarif", ".xml": "junit", ".txt": "text"}
_SEVERITIES = ("error", "warning", "info")


@click.command("check", cls=Command)
@click.argument("starts", metavar="URL...", type=input_type, nargs=-1, required=True)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Rules to run, comma-separated: codes (SM401), prefixes (SM4) or names. Default: ALL.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULES",
    help="Rules to leave out. The more specific of --select and --ignore wins.",
)
@click.option(
    "--extend-select",
    multiple=True,
    metavar="RULES",
    help="Check these rules too, beside those that --select or the configuration file selects.",
)
@click.option("--extend-ignore", multiple=True, metavar="RULES", help="Leave out these rules too.")
@click.option(
    "--severity",
    "severities",
    multiple=True,
    metavar="RULES=SEVERITY",
    help="Change how severe rules are: error, warning, info or off, as in SM407=info.",
)
@click.option(
    "--min-severity",
    type=click.Choice(_SEVERITIES),
    default="info",
    show_default=True,
    help="Hide lower severities; they do not affect the exit status.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*_SEVERITIES, "never"]),
    default="warning",
    show_default=True,
    help="Exit with status 1 if anything is found that is this severe, or more.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Leave out the findings in this file, which --write-baseline has written.",
)
@click.option(
    "--write-baseline",
    type=OutputFile(must_be_file=True),
    metavar="FILE",
    help="Write all findings to this file instead of showing them, and exit with status 0.",
)
@click.option(
    "--fetch-pages",
    type=Integer(min=0),
    default=0,
    metavar="N",
    help="Also fetch a sample of N pages, as robots.txt allows, and check that they exist and are "
    "indexable.",
)
@format_option(
    choices=_FORMATS,
    help="text: for people. json, jsonl: for programs. sarif: for code scanning. junit: for test "
    "reports. github: annotations in GitHub Actions. By default that of the output file's suffix "
    "(.json, .jsonl, .sarif, .xml for junit), or text.",
)
@output_option(
    default="-",
    help="File to write; an existing one is replaced. - is standard output (the default).",
)
@flag_option("-a", "--all", "--no-fold", "everything", help="Do not group repeated findings.")
@run_options
def command(
    run: RunOptions, starts: tuple[Input, ...], form: str | None, output: Path | None, **given: Any
) -> None:
    """Check the sitemaps of a website: what is wrong, where, and what to do about it.

    URL is a website, a sitemap, a snapshot, a file, a folder, or - for standard input; several are
    checked one after the other. Each rule has a code, which 'usp rule CODE' explains. Rules are chosen
    on the command line, or in the table [tool.usp.check] of pyproject.toml.

    The exit status is 0 if nothing was found (see --fail-on), 1 if something was, and 2 if the sitemaps
    could not be checked: wrong usage, nothing that responds, no sitemaps at all.

    \b
    Examples:
      usp check example.org                          a website
      usp check public/                              files, before a deployment
      usp check example.org --select SM4 --ignore SM407
      usp check example.org --write-baseline known.json
      usp check example.org --baseline known.json    only what is new
      usp check example.org --fetch-pages 50         some of the pages, too
      usp check public/ -o usp.sarif                 for code scanning
    """  # noqa: D301 - click knows the backspace
    form = format_for(output, form, _SUFFIXES, "text", is_needed=False)
    check = _Check(given, starts, run)
    with exit_on_error(NOT_CHECKED):
        with run.running() as progress:
            check.read(progress)
            check.write(form, output, progress)
        check.end()


# Which rules --------------------------------------------------------------------------------------


def _chosen_rules(given: dict[str, Any]) -> RuleSelection:
    """Return the rules that the options choose; raises ``BadParameter`` for one that does not exist."""
    from usp.checks.registry import ALL, RuleSelection
    from usp.checks.rules import RULES

    named = {
        option: _named(given[option], f"--{option.replace('_', '-')}")
        for option in ("select", "ignore", "extend_select", "extend_ignore")
    }
    severities = {}
    for text in given["severities"]:
        name, equals, severity = str(text).partition("=")
        if not equals:
            raise bad_value("--severity", f"{text!r} has no severity; use for example SM407=info")
        _named([name], "--severity")
        severities[name.strip()] = severity.strip()
    try:
        return RuleSelection.of(
            RULES,
            [*(named["select"] or [ALL]), *named["extend_select"]],
            [*named["ignore"], *named["extend_ignore"]],
            severities,
        )
    except ValueError as error:
        raise bad_value("--severity", error) from error


def _named(values: Iterable[str], option: str) -> list[str]:
    """Return the names in comma-separated values, after checking that they mean something."""
    from usp.checks.registry import rules_named
    from usp.checks.rules import RULES

    names = [name.strip() for value in values for name in str(value).split(",") if name.strip()]
    for name in names:
        try:
            rules_named(RULES, name)
        except ValueError as error:
            raise bad_value(option, error) from error
    return names


# The check ----------------------------------------------------------------------------------------


class _Check:
    """One call of the command; ``given`` are its own options."""

    def __init__(self, given: dict[str, Any], starts: Sequence[Input], run: RunOptions) -> None:
        from usp.checks.checking import Checking
        from usp.checks.finding import FindingCounts, Severity

        if sum(start.is_stdin for start in starts) > 1:
            raise click.UsageError("standard input can be checked only once")
        self._starts = starts
        self._run = run
        self._checking = Checking(_chosen_rules(given), given["fetch_pages"], options=run.options)
        self._least = Severity(given["min_severity"])
        fail_on = given["fail_on"]
        self._fail_on = None if fail_on == "never" else Severity(fail_on)
        self._everything: bool = given["everything"]
        self._target: Path | None = given["write_baseline"]
        limits = run.options.effective_limits
        self._baseline = None if self._target else _baseline(given["baseline"], limits)
        self._trees: list[AbstractSitemap] = []
        self._are_live: list[bool] = []  # whether each of them was fetched just now
        self._counts = FindingCounts()
        self._unread = False

    def read(self, progress: Progress) -> None:
        """Fetch or read everything that is to be checked."""
        from usp.checks.checking import drop_non_sitemaps
        from usp.cli.run_options import notice_website

        for start in self._starts:
            tree = self._run.tree(start, on_event=progress)
            failures = tree.failures()
            if failures and not _has_responded(tree, start):
                messages.failures(failures, NOT_CHECKED)
                self._unread = True
                continue
            notice_website(tree, start)
            self._trees.append(drop_non_sitemaps(tree))
            self._are_live.append(not start.is_local)
        if not self._trees:
            raise Exit(NOT_CHECKED)

    def write(self, form: str, output: Path | None, progress: Progress) -> None:
        """Check, and write what was found."""
        from usp.checks.finding import Baseline
        from usp.checks.formats import FORMATS, CheckReport

        progress.now("checking")
        findings = self._findings(progress.add_pages)
        if self._target is not None:
            baseline = Baseline.of(self._counts.counted(findings), self._target.parent)
            baseline.save(self._target)
            known = counted(self._counts.total, "finding")
            messages.notice(f"{known} written to {self._target}; use it with --baseline")
            return
        is_shown = output is None and sys.stdout.isatty()
        subject = CheckReport(
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
        write_text(FORMATS[form](subject), output)
        if form not in ("text", "github") or output is not None:
            self._notice_counts(output)

    def end(self) -> None:
        """Report what else is worth knowing, and end with the exit status."""
        if self._baseline is not None:
            nodes = chain.from_iterable((tree, *tree.all_sitemaps()) for tree in self._trees)
            gone = self._baseline.gone(self._checking.chosen, (node.url for node in nodes))
            if gone:
                known = counted(gone, "finding")
                message = f"{known} of the baseline no longer found; --write-baseline updates it"
                messages.notice(message, gone=gone)
        fails = self._fail_on is not None and self._counts.at_least(self._fail_on) > 0
        if fails and self._target is None:
            raise Exit(FOUND)
        empty = [tree for tree in self._trees if not next(_sitemaps([tree]), None)]
        for tree in empty:
            failures = tree.failures()
            if failures:
                messages.failures(failures, NOT_CHECKED)
            else:
                messages.error(f"no sitemaps were found at {tree.url}", NOT_CHECKED)
        if empty or self._unread:
            raise Exit(NOT_CHECKED)
        if self._run.strict and any(tree.failures() for tree in self._trees):
            raise Exit(PARTIAL)

    def _findings(self, on_pages: Callable[[int], object]) -> Iterator[Finding]:
        checking = replace(self._checking, web_client=self._run.client())
        found = chain.from_iterable(
            replace(checking, is_live=is_live).findings(tree, on_pages)
            for tree, is_live in zip(self._trees, self._are_live, strict=True)
        )
        severe = (one for one in found if one.severity.rank <= self._least.rank)
        return severe if self._baseline is None else self._baseline.new(severe)

    def _notice_counts(self, output: Path | None) -> None:
        from usp.checks.finding import Severity

        where = "" if output is None else f" written to {output}"
        severities = self._counts.severities
        parts = ", ".join(
            f"{one.value}: {severities[one]:,}" for one in Severity if severities[one]
        )
        said = f"{counted(self._counts.total, 'finding')}{parts and f' ({parts})'}{where}"
        messages.notice(said, **self._counts.to_dict())


def _baseline(path: str | None, limits: Limits) -> Baseline | None:
    if path is None:
        return None
    from usp._inputs import piped
    from usp.checks.finding import Baseline
    from usp.limits import LimitReached

    try:
        if Path(path).exists() and not Path(path).is_file():
            return Baseline.parse(b"".join(piped(Path(path), limits)), path)
        return Baseline.read(path)
    except LimitReached as error:
        reason = f"cannot read {path!r}: the limit {error.name} is reached"
    except OSError as error:
        reason = f"cannot read {path!r}: {error.strerror}; --write-baseline {path} creates it"
    except ValueError as error:
        reason = str(error)
    raise bad_value("--baseline", reason)


def _has_responded(tree: AbstractSitemap, start: Input) -> bool:
    """Return whether there is anything to check: a document, or at least a response."""
    from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap

    if start.is_local and not start.is_snapshot:
        return True
    return any(
        not isinstance(node, InvalidSitemap | IndexWebsiteSitemap) or node.size is not None
        for node in (tree, *tree.all_sitemaps())
    ) or any(failure.status is not None for failure in tree.failures())


def _sitemaps(trees: Sequence[AbstractSitemap]) -> Iterator[str]:
    """Yield the URLs of all sitemaps, each once, and of a robots.txt that was named itself."""
    from usp.objects.sitemap import IndexRobotsTxtSitemap, IndexWebsiteSitemap

    others = IndexWebsiteSitemap, IndexRobotsTxtSitemap
    nodes = chain.from_iterable(tree.all_sitemaps() for tree in trees)
    named = (tree for tree in trees if not isinstance(tree, IndexWebsiteSitemap))
    below = (node for node in nodes if not isinstance(node, others))
    yield from dict.fromkeys(node.url for node in chain(named, below))
