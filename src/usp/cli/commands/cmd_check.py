"""``usp check``: finds what is wrong with sitemaps, for people, programs and continuous integration."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted
from usp.cli import options
from usp.cli.cli import MORE
from usp.cli.errors import PARTIAL, hint_of, messages, remedy
from usp.cli.option_values import Choice, SampleSize, bad_value, new_path, value_of
from usp.cli.output import has_colors, painted, write_text

if TYPE_CHECKING:
    from usp._base.progress_line import Progress
    from usp.checks.checking import Checking
    from usp.checks.finding import Baseline
    from usp.checks.formats import CheckReport
    from usp.checks.registry import RuleSelection
    from usp.limits import Limits
    from usp.objects.sitemap import AbstractSitemap

FOUND = 1
NOT_CHECKED = 2
_FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github", "markdown")
_PROFILES = ("google", "bing", "news", "video", "strict")
_OTHERS = ("against", "compare")
_SEVERITIES = ("error", "warning", "info")


@options.command("check")
@click.argument("starts", metavar="URL...", type=options.input_type, nargs=-1, required=True)
@options.table(
    {
        "--select RULES...": "Rules to run, comma-separated: codes (SM401), prefixes (SM4) or names. "
        "Default: ALL.",
        "--ignore RULES...": "Rules to leave out. The more specific of --select and --ignore wins.",
        "--profile": f"What to check for: {', '.join(_PROFILES)}. google and bing leave out what only "
        "others ask for; news and video are google, more severe about these; strict is more severe "
        "about everything.",
        "--min-severity": "Hide lower severities (error, warning, info); they do not affect the exit "
        "status.",
        "--fail-on": "Exit with status 1 if anything is found that is this severe, or more; or never.",
        "--baseline FILE": "Leave out the findings that --write-baseline has written to this file.",
        "--write-baseline FILE": "Write all findings to this file instead of showing them, and exit "
        "with status 0.",
        "--compare SOURCE": "Compare with an earlier state, such as a snapshot: what was lost, and "
        "dates that changed alone.",
        "--fetch-pages N": "Also fetch a sample of N pages, or all, as robots.txt allows, and check "
        "that they exist and are indexable.",
    },
    profile={"type": Choice(_PROFILES), "metavar": "PROFILE"},
    min_severity={"type": Choice(_SEVERITIES), "default": "info", "metavar": "SEVERITY"},
    fail_on={
        "type": Choice([*_SEVERITIES, "never"]),
        "default": "warning",
        "metavar": "SEVERITY",
    },
    baseline={"type": click.Path(dir_okay=False)},
    write_baseline={"type": new_path},
    compare={"type": options.input_type},
    fetch_pages={"type": SampleSize(0), "default": 0, "show_default": False},
)
@options.results(
    _FORMATS,
    "text: for people. json, jsonl: for programs. sarif: for code scanning. junit: for test "
    "reports. github: annotations and the job's summary in GitHub Actions. markdown: that summary. By "
    "default that of the output file's suffix (.json, .jsonl, .sarif, .md, .xml for junit), or text.",
    metavar="FORMAT",
)
@options.table(
    {
        "-a --all --no-fold": "Do not group repeated findings.",
        "--by-sitemap": "Group findings by sitemap instead of by rule, in text.",
        "--fix": "Instead of findings, show as a diff what can be fixed without changing any page: "
        "escapes, dates, encodings, namespaces, duplicates, sitemaps that are too large.",
        "--write": "With --fix, also write the fixed files.",
    },
    all={"name": "everything"},
)
@options.table(
    {
        "--extend-select RULES...": "Check these rules too, beside those that --select or the "
        "configuration file selects.",
        "--extend-ignore RULES...": "Leave out these rules too.",
        "--severity RULES=SEVERITY...": "Change how severe rules are: error, warning, info or off, "
        "as in SM407=info.",
        "--ignores TABLE...": "Leave out findings by rule, sitemap and URL, with a reason and a last "
        "day: tables of the configuration file, here as JSON.",
        "--agent ROBOTS...": "Comma-separated names of robots to judge robots.txt for. Default: *, "
        "Googlebot (also for news, images and videos), Bingbot.",
        "--url URL": "Where the files will be: the URL of the website. Default: what robots.txt in the "
        "folder says.",
        "--against SOURCE": "Compare with the pages in a list: a text file, a table with a column of "
        "URLs, a snapshot, a folder of built pages.",
        "--fetch-linked": "Also fetch the images, videos and versions in other languages of fetched "
        "pages.",
        "--write-to FOLDER": "With --fix, also write the fixed sitemaps to this folder, as those of a "
        "website.",
    },
    MORE,
    url={"name": "place"},
    against={"type": options.input_type},
    fetch_linked={"is_flag": True},
    write_to={"type": click.Path(file_okay=False, path_type=Path)},
)
@options.run_options
def command(
    run: options.RunOptions,
    starts: tuple[options.Input, ...],
    form: str | None,
    output: Path | None,
    **given: Any,
) -> None:
    """Check sitemaps: what is wrong, where, and what to do about it.

    URL is a website, a sitemap, a snapshot, a file, a folder, or - for standard input; several are
    checked one after the other. Each rule has a code, which 'usp rule CODE' explains. Rules are chosen
    on the command line, or in the table [tool.usp.check] of pyproject.toml.

    The exit status is 0 if nothing was found (see --fail-on), 1 if something was, and 2 if the sitemaps
    could not be checked: wrong usage, nothing that responds, no sitemaps at all.

    Examples:
      usp check example.org                          a website
      usp check public/                              files, before a deployment
      usp check example.org --select SM4 --ignore SM407
      usp check example.org --write-baseline known.json
      usp check example.org --baseline known.json    only what is new
      usp check example.org --fetch-pages 50         some of the pages, too
      usp check public/ -o usp.sarif                 for code scanning
      usp check public/ --fix --write                fix what is mechanical
    """
    from usp.checks.finding import Baseline, Severity
    from usp.checks.formats import CheckReport
    from usp.checks.ignores import Ignores
    from usp.checks.verdicts import CheckList

    form = options.format_for(output, form, _FORMATS, "text", is_needed=not given["fix"])
    _refuse_contradictions(given, starts, form)
    checking = _checking(run, given)
    with value_of("--ignores"):
        ignores = Ignores(given["ignores"])
    least, fails = Severity(given["min_severity"]), given["fail_on"]
    fail_on = None if fails == "never" else Severity(fails)
    target: Path | None = given["write_baseline"]
    baseline = None if target else _baseline(given["baseline"], run.options.effective_limits)
    counts = CheckList()
    messages.failed = NOT_CHECKED
    with run.running() as progress:
        others = (given[name] for name in _OTHERS)
        against, before = (one and run.needed_tree(one, progress) for one in others)
        checking = replace(checking, web_client=run.client(), against=against, before=before)
        read = [(start, _read(run, start, progress)) for start in starts]
        found = [(start, tree) for start, tree in read if tree is not None]
        if not found:
            raise Exit(NOT_CHECKED)
        trees = [tree for _, tree in found]
        if given["fix"]:
            _fix(found, checking.chosen, output, given["write_to"], write=given["write"])
            _end_unchecked(trees, is_unread=len(found) < len(starts))
            return
        progress.doing = "checking"
        findings = chain.from_iterable(
            replace(checking, is_live=not start.is_local).findings(
                tree, lambda _, block: progress.checked(len(block.urls))
            )
            for start, tree in found
        )
        severe = (one for one in ignores.others(findings) if one.severity.rank <= least.rank)
        if target is not None:
            Baseline.of(counts.counted(severe), target.parent).save(target)
            known = counted(counts.total, "finding")
            messages.notice(f"wrote {known} to {target}; use it with --baseline")
        else:
            is_shown = output is None and sys.stdout.isatty()
            report = CheckReport(
                severe,
                baseline=baseline,
                sitemaps=[*_sitemaps(trees)],
                rules=checking.chosen.rules,
                fail_on=fail_on,
                everything=given["everything"],
                by_sitemap=given["by_sitemap"],
                width=shutil.get_terminal_size().columns if is_shown else None,
                counts=counts,
                trees=trees,
                remedy=remedy,
                hint=hint_of,
            )
            if baseline is not None:
                baseline.follow(tree.url for tree in trees)
            _write(report, form, output)
    for notice in ignores.notices(checking.chosen):
        messages.notice(notice)
    if baseline is not None:
        _notice_known(baseline, checking.chosen, trees)
    _end_unchecked(trees, is_unread=len(found) < len(starts))
    if target is None and fail_on is not None and counts.at_least(fail_on):
        raise Exit(FOUND)
    if run.strict and any(tree.failures() for tree in trees):
        raise Exit(PARTIAL)


def _refuse_contradictions(
    given: dict[str, Any], starts: Sequence[options.Input], form: str | None
) -> None:
    """Raise ``UsageError`` for options that do not go together."""
    if (given["write"] or given["write_to"]) and not given["fix"]:
        raise click.UsageError("--write and --write-to need --fix")
    if given["fix"] and form not in (None, "text"):
        raise click.UsageError("--fix writes a diff, which has no other format")
    if given["write"] and any(start.is_snapshot or not start.path for start in starts):
        raise click.UsageError("--write is for files and folders; use --write-to FOLDER")


def _checking(run: options.RunOptions, given: dict[str, Any]) -> Checking:
    """Return the check that the options describe; raises ``BadParameter`` for a wrong value."""
    from usp.checks.checking import Checking
    from usp.checks.robots_access import agents_of

    with value_of("--agent"):
        agents = agents_of(given["agent"])
    url: str | None = given["place"]
    if url is not None and "." in url and "://" not in url:
        url = f"https://{url}"
    rules, fetched = _chosen_rules(given), (given["fetch_pages"], given["fetch_linked"])
    with value_of("--url"):
        return Checking(rules, *fetched, options=run.options, agents=agents, url=url)


def _chosen_rules(given: dict[str, Any]) -> RuleSelection:
    """Return the rules that the options choose; raises ``BadParameter`` for one that does not exist."""
    from usp.checks.registry import ALL, RuleSelection, rules_named
    from usp.checks.rules import RULES

    def named(option: str, values: Iterable[str]) -> list[str]:
        """Return the names in comma-separated values, after checking that they mean something."""
        names = [name.strip() for value in values for name in value.split(",") if name.strip()]
        with value_of(f"--{option}"):
            for name in names:
                rules_named(RULES, name)
        return names

    selected = named("select", given["select"]) or [ALL]
    ignored = named("ignore", given["ignore"])
    selected += named("extend-select", given["extend_select"])
    ignored += named("extend-ignore", given["extend_ignore"])
    severities = {}
    for text in given["severity"]:
        name, equals, severity = text.partition("=")
        if not equals:
            raise bad_value("--severity", f"{text!r} has no severity; use for example SM407=info")
        named("severity", [name])
        severities[name.strip()] = severity.strip()
    with value_of("--severity"):
        return RuleSelection.of(RULES, selected, ignored, severities, given["profile"])


def _read(
    run: options.RunOptions, start: options.Input, progress: Progress
) -> AbstractSitemap | None:
    """Return the tree of what is to be checked; None if nothing has responded."""
    from usp.checks.checking import drop_non_sitemaps
    from usp.cli.run_options import notice_website

    tree = run.tree(start, on_event=progress)
    failures = tree.failures()
    if failures and not _has_responded(tree, start):
        messages.failures(failures, NOT_CHECKED)
        return None
    notice_website(tree, start)
    return drop_non_sitemaps(tree)


def _fix(
    found: Sequence[tuple[options.Input, AbstractSitemap]],
    chosen: RuleSelection,
    output: Path | None,
    folder: Path | None,
    *,
    write: bool,
) -> None:
    """Show what can be fixed, and write it; ends with status 1 if there is anything to write."""
    from usp._base.files import replacing
    from usp.checks.finding import path_of
    from usp.checks.fixing import fixes

    fixed = 0

    def lines() -> Iterator[str]:
        nonlocal fixed
        for start, tree in found:
            for one in fixes(tree, chosen):
                fixed += 1
                path = path_of(one.url)
                lines = one.diff(one.url if path is None else os.path.relpath(path))
                yield from map(_colored, lines) if output is None and has_colors() else lines
                places = [path] if write and path else []
                places += [folder / _inside(start, one.url)] if folder else []
                for place in places:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    for name, content in one.files:
                        with replacing(place.with_name(name)) as file:
                            file.write(content)

    write_text(lines(), output)
    documents = counted(fixed, "document")
    if write or folder is not None:
        messages.notice(f"{documents} fixed; usp check shows what is left", fixed=fixed)
    elif fixed:
        messages.notice(f"{documents} can be fixed; --write writes them", fixable=fixed)
        raise Exit(FOUND)
    else:
        messages.notice("nothing can be fixed", fixable=0)


def _inside(start: options.Input, url: str) -> Path:
    """Return the path of a document in a folder: as in the folder it is from, or on its website."""
    from usp._base.urls import unquote, url_parts
    from usp.checks.finding import path_of

    path, top = path_of(url), path_of(start.url)
    if path is not None and top is not None:
        return path.relative_to(top.parent if start.is_sitemap else top)
    parts = unquote(url_parts(url).path).split("/")
    return Path(*(part for part in parts if part not in ("", ".", ".."))) / ""


def _colored(line: str) -> str:
    color = {"+": "green", "-": "red", "@": "cyan", "#": "yellow"}.get(line[:1])
    return click.style(line, fg=color)


def _write(report: CheckReport, form: str, output: Path | None) -> None:
    """Write what was found; report how much, where that cannot be seen."""
    from usp.checks.formats import FORMATS, job_summary

    if output is None:
        report.paint = painted
    write_text(FORMATS[form](report), output)
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if form == "github" else None
    if summary:
        with open(summary, "a", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - appends
            file.writelines(f"{line}\n" for line in job_summary(report))
    if form in ("text", "github") and output is None:
        return
    what = str(report.counts) if output is None else f"wrote {report.counts} to {output}"
    messages.notice(what, **report.counts.to_dict())


def _notice_known(
    baseline: Baseline, chosen: RuleSelection, trees: Sequence[AbstractSitemap]
) -> None:
    known = counted(baseline.left_out, "known finding")
    messages.notice(f"{known} left out by the baseline", known=baseline.left_out)
    nodes = chain.from_iterable((tree, *tree.all_sitemaps()) for tree in trees)
    if gone := baseline.gone(chosen, (node.url for node in nodes)):
        known = counted(gone, "finding")
        message = f"{known} of the baseline no longer found; --write-baseline updates it"
        messages.notice(message, gone=gone)


def _end_unchecked(trees: Sequence[AbstractSitemap], *, is_unread: bool) -> None:
    """End if something could not be checked, whatever was found elsewhere."""
    empty = [tree for tree in trees if not next(_sitemaps([tree]), None)]
    for tree in empty:
        failures = tree.failures()
        if failures:
            messages.failures(failures, NOT_CHECKED)
        else:
            messages.error(f"no sitemaps were found at {tree.url}", NOT_CHECKED)
    if empty or is_unread:
        raise Exit(NOT_CHECKED)


def _baseline(path: str | None, limits: Limits) -> Baseline | None:
    if path is None:
        return None
    from usp._inputs.local_files import piped
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


def _has_responded(tree: AbstractSitemap, start: options.Input) -> bool:
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
    named = (tree for tree in trees if not isinstance(tree, IndexWebsiteSitemap))
    below = (node for tree in trees for node in tree.all_sitemaps())
    found = chain(named, (node for node in below if not isinstance(node, others)))
    yield from dict.fromkeys(node.url for node in found)
