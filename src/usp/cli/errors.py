"""How a command reports what went wrong: in a line for people, or as JSON for programs.

Each failure is reported once, by the command and not by the log. Advice names options where the
library names its parameters (:mod:`usp._base.reason`).
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

_BETWEEN_HOSTS = re.compile(r"[^\w.-]+")
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

    return url_parts(url).hostname in _BETWEEN_HOSTS.split(reason)


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
    from usp._base.files import InterruptibleThread, NotADatasetError
    from usp.fleet.site_list import SiteListError

    try:
        yield InterruptibleThread()
    except (NotADatasetError, SiteListError) as error:
        raise click.UsageError(str(error)) from error


# What helps ----------------------------------------------------------------------------------------


_SAID = {
    Topic.RAISE_LIMIT: "raise it with --max {0}=…",
    Topic.ALLOW_NETWORK: "--allow-network {0} permits it",
    Topic.BE_GENTLE: "try --user-agent NAME, --concurrency 1 or --wait 2",
    Topic.TRY_HTTP: "try {0}",
    Topic.TRUST: "--ca-bundle FILE trusts its issuer, --insecure skips the check",
}
"""Advice in options, which all commands that send requests have."""

_OF_CRAWLS = {
    "address-refused": _SAID[Topic.ALLOW_NETWORK].format("NET"),
    "untrusted-certificate": _SAID[Topic.TRUST],
}
_HELPS = {
    **_OF_CRAWLS,
    **dict.fromkeys(("blocked", "bot-challenge", "rate-limited"), _SAID[Topic.BE_GENTLE]),
    "unauthorized": "put the login into the URL: https://user:password@host/",
}
_PASSING = frozenset(
    {
        *("server-error", "host-failing", "connection-closed", "body-cut-off", "unreachable"),
        *("connect-timeout", "read-timeout", "body-timeout"),
    }
)
"""Codes of failures that may have gone when the site is crawled again."""


def why(failure: Failure) -> str:
    """Return why something is missing, without its address, and the options that help."""
    if failure.code == "not-fetched":
        return "not fetched: sitemaps in files are read without network access"
    if failure.advice is None and failure.code in ("rate-limited", "unauthorized"):
        return f"{failure.brief} ({_HELPS[failure.code]})"
    return _reworded(failure.brief, failure.advice)


def problem_text(text: str, code: Code | None) -> str:
    """Return the text of a problem, and the options that help."""
    return _reworded(text, limit_advice(code))


def _reworded(text: str, advice: Advice | None) -> str:
    return text if advice is None else advice.reworded(text, _words(advice))


def _words(advice: Advice) -> str:
    name = _http_url(advice.name) if advice.topic is Topic.TRY_HTTP else advice.name
    text = _SAID[advice.topic].format(name)
    return text.replace("raise", "lower") if name == "lowest_rate" else text


def _http_url(name: str) -> str:
    """Return which URL to try: the one that the user gave, rather than what was asked for first."""
    from usp._base.urls import url_parts

    context = click.get_current_context(silent=True)
    start = context.params.get("start") if context else None
    given = str(getattr(start, "url", ""))
    is_same = url_parts(given).netloc == url_parts(name).netloc
    return f"http{given.removeprefix('https')}" if is_same else name


def failure_line(failure: Mapping[str, Any]) -> str:
    """Return how many sites of a fleet failed for a reason, with an example and what to do."""
    sites, code = counted(failure["sites"], "site"), failure["code"] or "failed"
    what = f"; {failure['remedy']}" if failure["remedy"] else ""
    return f"  {sites} {code}: {failure['reason']}, for example {failure['example']}{what}"


def remedy(code: str, *, of_fleet: bool = False) -> str:
    """Return what to do about failures with this code: the options that help, or general advice."""
    from usp.objects.failure_codes import BY_VALUE

    known = BY_VALUE[code]
    if limit := limit_advice(known):
        return _words(limit)
    if of_fleet and code in _PASSING:
        more = ", with a longer --timeout" if code.endswith("timeout") else ""
        return f"--retry-failed tries again later{more}"
    if of_fleet and code == "bad-url":
        return "correct it in the list"
    return _HELPS.get(code) or known.remedy[:1].lower() + known.remedy[1:].rstrip(".")


def hint_of(row: RuleRow) -> str:
    """Return what to do about the findings of a rule; if it is about the crawl, in its options."""
    from usp.checks.node_findings import CODES

    code = CODES.get(row.code)
    limit = limit_advice(code)
    words = _words(limit) if limit else _OF_CRAWLS.get(str(code), "")
    return f"{words[:1].upper()}{words[1:]}." if words else row.hint


messages = Messages()
"""The one that all commands use."""
