"""How a command reports what went wrong: in a line for people, or as JSON for programs.

Each failure is reported once, by the command and not by the log. Advice names the options of the
command that is running, where the library names its parameters (:mod:`usp._base.reason`); advice for
which a command has no option is left out.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import counted, get_logger, printable
from usp._base.names import MissingExtraError
from usp._base.reason import Advice, Topic, limit_advice
from usp.exceptions import SitemapException

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from usp.checks.verdicts import RuleRow
    from usp.objects.child import SkipReason
    from usp.objects.failure_codes import Code
    from usp.objects.problem import Failure

log = get_logger(__name__)

FAILED = 1
WRONG_CALL = 2
PARTIAL = 3

CONFIG_FILE = f"{__name__}.config"
"""In the memory of a context: the path of the configuration file."""

_MOST_SHOWN = 5  # lines about failures, for people
_NO_RULES: Mapping[str, str] = MappingProxyType({})
_MOST_ALIKE = 3  # failures for one reason that have a line each
_SKIPPED = {"date": "lastmod", "url": "URL", "callback": "callback"}


class Messages:
    """Writes messages to the standard error, with ``--log-format json`` every line as JSON."""

    def __init__(self) -> None:
        self.begin(as_json=False)

    def begin(self, *, as_json: bool) -> None:
        """Reset for a new command."""
        self.as_json = as_json
        self.quiet = False  # whether notices are left out
        self.failed = FAILED  # the exit status of an error, unless it has a meaning for the command
        self.if_interrupted = ""  # what helps then
        self.timed = False  # whether lines begin with the time, as of commands that go on for days
        self.logs = False  # whether failures and notices go to a log file instead

    def error(self, message: str, status: int, *, hint: str = "", command: str = "usp") -> None:
        """Report an error that ends the command."""
        text = f"{command}: {message}\n{hint}".rstrip("\n")
        self.line(text, error=message, status=status, hint=hint or None)

    def notice(self, message: str, **facts: object) -> None:
        """Report something worth knowing that is not an error."""
        if self.logs:
            log.info("%s", message)
        elif self.as_json or not self.quiet:
            self.line(f"usp: {message}", notice=message, **facts)

    def wrote(self, output: Path | None, count: int, what: str) -> None:
        """Report how much was written to a file, if it was one."""
        if output is not None:
            message = f"wrote {counted(count, what)} to {output}"
            self.notice(message, written=count, output=str(output))

    def undated(self, count: int) -> None:
        """Report how many pages without a date were kept although a period was given."""
        if count:
            message = f"{counted(count, 'page')} without a date kept; use --dated to leave them out"
            self.notice(message, undated=count)

    def skipped(self, urls: Mapping[SkipReason, Collection[str]]) -> None:
        """Report how many sitemaps were not downloaded, and why."""
        if urls:
            counts = {reason: len(urls[reason]) for reason in sorted(urls)}
            count = sum(counts.values())
            why = " or ".join(_SKIPPED[reason] for reason in counts)
            message = f"{counted(count, 'sitemap')} skipped by {why}; --no-skip downloads all"
            facts = {f"skipped_by_{reason}": number for reason, number in counts.items()}
            self.notice(message, skipped=count, **facts)

    def failures(
        self,
        failures: Sequence[Failure],
        status: int,
        *,
        shown: bool = False,
        found: bool = False,
        rules: Mapping[str, str] = _NO_RULES,
    ) -> None:
        """Report what is missing in a result, or only how much if the result has ``shown`` it.

        Without success nothing could be read, unless ``found`` says that there is something. ``rules``
        are the codes of findings by URL.
        """
        nothing = status in (FAILED, WRONG_CALL) and not found
        if self.as_json:
            names = ("url", "code", "reason", "attempts", "status")
            listed = [
                {name: why(one) if name == "reason" else getattr(one, name) for name in names}
                | ({"rule": rules[one.url]} if one.url in rules else {})
                for one in failures
            ]
            word = "failed" if nothing else "incomplete"
            self.line("", error=word, status=status, failures=listed)
            return
        if self.logs:
            for failure in failures:
                log.warning("%s: %s", failure.url, failure.brief)
            if not nothing:
                return
        lines = list(_lines(failures, rules, alone=nothing))
        begin = "usp: nothing could be read" if nothing else "usp: incomplete"
        if len(lines) == 1 and not shown:
            self.line(f"usp: {lines[0]}" if nothing else f"{begin}: {lines[0]}")
            return
        self.line(f"{begin}: {counted(len(failures), 'sitemap')} missing or incomplete")
        for line in () if shown else lines:
            self.line(f"  {line}")

    def missing(self, failures: Sequence[Failure]) -> None:
        """Report what is missing for now, while a command goes on."""
        for failure in failures if self.as_json else ():
            self.notice(f"{failure.url}: {why(failure)}", url=failure.url, code=failure.code)
        for line in () if self.as_json else _lines(failures):
            self.notice(line)

    def line(self, text: str, **facts: object) -> None:
        """Write a text, or its facts as a line of JSON."""
        if self.as_json:
            click.echo(json.dumps(facts, ensure_ascii=True, default=str), err=True)
        else:
            now = time.strftime("%H:%M:%S ") if self.timed else ""
            click.echo("\n".join(f"{now}{printable(line)}" for line in text.split("\n")), err=True)


def _lines(
    failures: Sequence[Failure], rules: Mapping[str, str] = _NO_RULES, *, alone: bool = False
) -> Iterator[str]:
    """Yield a line for each failure; many with the same reason share one.

    With ``alone``, nothing else is reported, and a reason that names the host is enough.
    """
    groups: dict[str, list[str]] = {}
    for failure in failures:
        rule = "" if alone else f"{rules.get(failure.url, '')} ".lstrip()
        groups.setdefault(f"{rule}{why(failure)}", []).append(failure.url)
    # If not all fit, every reason is listed once before any is repeated.
    alike = _MOST_ALIKE if len(failures) <= _MOST_SHOWN else 1
    lines: list[tuple[str, int]] = []
    for reason, urls in groups.items():
        if alone and len(groups) == 1 and _names_host(reason, urls[0]):
            lines.append((reason, len(urls)))
        elif len(urls) > alike:
            several = f"{counted(len(urls), 'sitemap')}: {reason}, for example {urls[0]}"
            lines.append((several, len(urls)))
        else:
            lines += [(f"{url}: {reason}", 1) for url in urls]
    yield from (line for line, _ in lines[:_MOST_SHOWN])
    more = sum(count for _, count in lines[_MOST_SHOWN:])
    if more:
        yield f"and {more:,} more; --log-format json lists them all"


def _names_host(reason: str, url: str) -> bool:
    from usp._base.urls import url_parts

    host = url_parts(url).hostname
    return host is not None and _naming(host).search(reason) is not None


def _naming(host: str) -> re.Pattern[str]:
    """Return a pattern that finds a host name in a text."""
    return re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])")


def update_warning(text: str) -> str:
    """Return what an update warns of, for those who have options instead of parameters."""
    return text.replace("accept=True, or --accept,", "--accept")


EXPECTED = (click.ClickException, OSError, SitemapException, MissingExtraError)
"""Errors that end a command with a message; any other is a mistake of ours."""


def words_of(error: BaseException) -> str:
    """Return the message of an expected error.

    Of one of the system, that is its message and the name of the file, without the error number.
    """
    if isinstance(error, click.ClickException):
        return error.format_message()
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


@contextmanager
def reading_dataset() -> Iterator[Callable[..., Any]]:
    """Yield a way to call what Ctrl-C could not end; no dataset, or no list, is a wrong call."""
    from usp._base.files import NotADatasetError
    from usp._base.interrupts import InterruptibleThread
    from usp.fleet.site_list import SiteListError

    try:
        yield InterruptibleThread()
    except (NotADatasetError, SiteListError) as error:
        raise click.UsageError(str(error)) from error


# What helps ----------------------------------------------------------------------------------------


def why(failure: Failure) -> str:
    """Return why something is missing, without its address, and the options that help."""
    if failure.code == "not-fetched":
        return "not fetched: sitemaps in files are read without network access"
    if failure.advice is None:
        advice = _ADVICE[failure.code] if failure.code == "rate-limited" else None
        words = _LOG_IN if failure.code == "unauthorized" else _words(advice, _options_of())
        return f"{failure.brief} ({words})" if words else failure.brief
    return _reworded(failure.brief, failure.advice)


def problem_text(text: str, code: Code | None) -> str:
    """Return the text of a problem, and the options that help."""
    return _reworded(text, limit_advice(code))


def failure_line(failure: Mapping[str, Any]) -> str:
    """Return how many sites of a fleet failed for a reason, with an example and what to do."""
    sites, code = counted(failure["sites"], "site"), failure["code"] or "failed"
    what = f"; {failure['remedy']}" if failure["remedy"] else ""
    return f"  {sites} {code}: {failure['reason']}, for example {failure['example']}{what}"


def remedy(code: str, command: click.Command | None = None) -> str:
    """Return what to do about failures with this code: the options that help, or general advice.

    The options are those of a command, by default of the one that is running.
    """
    from usp.objects.failure_codes import BY_VALUE

    known, options = BY_VALUE[code], _options_of(command)
    words = _words(limit_advice(known) or _ADVICE.get(code), options)
    if not words and "--retry-failed" in options:
        if code in _PASSING:
            more = ", with a longer --timeout" if code.endswith("timeout") else ""
            words = f"--retry-failed tries again later{more}"
        elif code == "bad-url":
            words = "correct it in the list"
    if not words and code == "unauthorized":
        words = _LOG_IN
    return words or known.remedy[:1].lower() + known.remedy[1:].rstrip(".")


def hint_of(row: RuleRow) -> str:
    """Return what to do about the findings of a rule; if it is about the crawl, in its options."""
    from usp.checks.node_findings import CODES

    code = CODES.get(row.code)
    advice = limit_advice(code) or _ADVICE.get(str(code))
    if advice is None or advice.topic is Topic.BE_GENTLE:  # which is no advice for its owner
        return row.hint
    words = _words(advice, _options_of())
    return f"{words[:1].upper()}{words[1:]}." if words else row.hint


_LOG_IN = "put the login into the URL: https://user:password@host/"
_ADVICE = {
    "address-refused": Advice(Topic.ALLOW_NETWORK, "NET"),
    **dict.fromkeys(("blocked", "bot-challenge", "rate-limited"), Advice(Topic.BE_GENTLE)),
    "untrusted-certificate": Advice(Topic.TRUST),
}
_PASSING = frozenset(
    {
        *("server-error", "host-failing", "connection-closed", "body-cut-off", "unreachable"),
        *("connect-timeout", "read-timeout", "body-timeout"),
    }
)
"""Codes of failures that may have gone when the site is crawled again."""

_GENTLE = {
    "--user-agent": "--user-agent NAME",
    "--concurrency": "--concurrency 1",
    "--wait": "--wait 2",
}
_TRUST = {
    "--ca-bundle": "--ca-bundle FILE trusts its issuer",
    "--insecure": "--insecure skips the check",
}


def _options_of(command: click.Command | None = None) -> frozenset[str]:
    """Return the options of a command, by default of the one that is running."""
    context = click.get_current_context(silent=True)
    if command is None and context is not None:
        command = context.command
    parameters = [] if command is None else command.params
    return frozenset(option for parameter in parameters for option in parameter.opts)


def _reworded(text: str, advice: Advice | None) -> str:
    """Return a text whose advice names options of the command that is running."""
    if advice is None:
        return text
    if advice.topic is Topic.TRY_HTTP:
        return advice.reworded(text, f"try {_http_url(advice.name)}")
    return advice.reworded(text, _words(advice, _options_of()))


def _words(advice: Advice | None, options: Collection[str]) -> str:
    """Return advice in options of a command; nothing if it has none that help."""
    match advice:
        case Advice(Topic.RAISE_LIMIT, name) if "--max" in options:
            verb = "lower" if name == "lowest_rate" else "raise"
            return f"{verb} it with --max {name}=…"
        case Advice(Topic.ALLOW_NETWORK, name) if "--allow-network" in options:
            return f"--allow-network {name} permits it"
        case Advice(Topic.BE_GENTLE):
            *others, last = [said for one, said in _GENTLE.items() if one in options] or [""]
            return f"try {', '.join(others)} or {last}" if others else last and f"try {last}"
        case Advice(Topic.TRUST):
            return ", ".join(said for one, said in _TRUST.items() if one in options)
    return ""


def _http_url(name: str) -> str:
    """Return which URL to try: the one that the user gave, rather than what was asked for first."""
    from usp._base.urls import url_parts

    context = click.get_current_context(silent=True)
    start = context.params.get("start") if context else None
    given = str(getattr(start, "url", ""))
    is_same = url_parts(given).netloc == url_parts(name).netloc
    return f"http{given.removeprefix('https')}" if is_same else name


messages = Messages()
"""The one that all commands use."""
