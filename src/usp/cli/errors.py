"""How a command reports what went wrong: in a line for people, or as JSON for programs.

Each failure is reported once, by the command and not by the log. Advice names the options of the
command that is running, where the library names its parameters (:mod:`usp._base.reason`); advice for
which a command has no option is left out.
"""

from __future__ import annotations

import json
import os
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import counted
from usp._base.reason import Topic, limit_advice
from usp._base.safe_text import get_logger, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from usp._base.reason import Advice
    from usp.objects.child import SkipReason
    from usp.objects.problem import AnyCode, Failure

log = get_logger(__name__)

FAILED = 1
WRONG_CALL = 2
PARTIAL = 3

_MOST_TOLD = 5  # lines about failures, for people
_MOST_ALIKE = 3  # failures for one reason that have a line each
_SKIPPED = {"date": "lastmod", "url": "URL", "callback": "callback"}
_OFF = frozenset({"", "0", "false", "no", "off", "n", "f"})


def wants_json(argv: Sequence[str] | None = None) -> bool:
    """Return whether ``--json``, or ``USP_JSON`` in the environment, asks for errors as JSON."""
    given = "--json" in (sys.argv[1:] if argv is None else argv)
    return given or os.environ.get("USP_JSON", "").strip().lower() not in _OFF


class Teller:
    """Writes messages to the standard error, with ``--json`` every line as JSON."""

    def __init__(self) -> None:
        self.begin(as_json=False)

    def begin(self, *, as_json: bool) -> None:
        """Reset for a new command."""
        self.as_json = as_json
        self.quiet = False  # whether notices are left out
        self.logs = False  # whether failures and notices go to a log file instead

    def error(self, message: str, status: int, *, hint: str = "", command: str = "usp") -> None:
        """Report an error that ends the command."""
        if self.as_json:
            self.write({"error": message, "status": status, "hint": hint or None})
            return
        self._line(f"{command}: {message}")
        if hint:
            self._line(hint)

    def notice(self, message: str, **facts: object) -> None:
        """Report something worth knowing that is not an error."""
        if self.as_json:
            self.write({"notice": message, **facts})
        elif self.logs:
            log.info("%s", message)
        elif not self.quiet:
            self._line(f"usp: {message}")

    def undated(self, count: int) -> None:
        """Report how many pages without a date were kept although a period was given."""
        if count:
            message = f"{counted(count, 'page')} without a date kept; use --dated to leave them out"
            self.notice(message, undated=count)

    def skipped(self, counts: Mapping[SkipReason, int]) -> None:
        """Report how many sitemaps were not downloaded, and why."""
        if counts:
            count = sum(counts.values())
            why = " or ".join(_SKIPPED[reason] for reason in counts)
            message = f"{counted(count, 'sitemap')} skipped by {why}; --no-skip downloads all"
            self.notice(
                message, skipped=count, **{f"skipped_by_{name}": counts[name] for name in counts}
            )

    def failures(self, failures: Sequence[Failure], status: int, *, shown: bool = False) -> None:
        """Report what is missing in a result, or only how much if the result has ``shown`` it."""
        nothing = status in (FAILED, WRONG_CALL)
        word = "failed" if nothing else "incomplete"
        if self.as_json:
            listed = [
                {
                    "url": failure.url,
                    "code": failure.code,
                    "reason": why(failure),
                    "attempts": failure.attempts,
                    "status": failure.status,
                }
                for failure in failures
            ]
            self.write({"error": word, "status": status, "failures": listed})
            return
        if self.logs:
            for failure in failures:
                log.warning("%s: %s", failure.url, failure.brief)
            if not nothing:
                return
        if nothing:
            lines = list(_lines(failures, alone=True))
            begin = "usp: nothing could be read"
        else:
            lines = list(_lines(failures))
            begin = "usp: incomplete"
        missing = counted(len(failures), "sitemap")
        if shown:
            self._line(f"{begin}: {missing} missing or incomplete")
        elif len(lines) == 1:
            self._line(f"usp: {lines[0]}" if nothing else f"{begin}: {lines[0]}")
        else:
            self._line(f"{begin}: {missing} missing or incomplete")
            for line in lines:
                self._line(f"  {line}")

    def missing(self, failures: Sequence[Failure]) -> None:
        """Report what is missing for now, while a command goes on."""
        if self.as_json:
            for failure in failures:
                reason = why(failure)
                self.notice(f"{failure.url}: {reason}", url=failure.url, code=failure.code)
            return
        for line in _lines(failures):
            self.notice(line)

    def line(self, text: str, **facts: object) -> None:
        """Write a message of a command, or its facts as JSON."""
        if self.as_json:
            self.write(facts or {"notice": text})
        else:
            self._line(text)

    @staticmethod
    def write(fields: dict[str, object]) -> None:
        """Write a line of JSON."""
        click.echo(json.dumps(fields, ensure_ascii=True, default=str), err=True)

    @staticmethod
    def _line(text: str) -> None:
        click.echo("\n".join(printable(line) for line in text.split("\n")), err=True)


def _lines(failures: Sequence[Failure], *, alone: bool = False) -> Iterator[str]:
    """Yield a line for each failure; many with the same reason share one.

    With ``alone``, nothing else is reported, and a reason that names the host is enough.
    """
    groups: dict[str, list[str]] = {}
    for failure in failures:
        groups.setdefault(why(failure), []).append(failure.url)
    # If not all fit, every reason is listed once before any is repeated.
    alike = _MOST_ALIKE if len(failures) <= _MOST_TOLD else 1
    lines: list[tuple[str, int]] = []
    for reason, urls in groups.items():
        if alone and len(groups) == 1 and _names_host(reason, urls[0]):
            lines.append((reason, len(urls)))
        elif len(urls) > alike:
            several = f"{counted(len(urls), 'sitemap')}: {reason}, for example {urls[0]}"
            lines.append((several, len(urls)))
        else:
            lines += [(f"{url}: {reason}", 1) for url in urls]
    yield from (line for line, _ in lines[:_MOST_TOLD])
    more = sum(count for _, count in lines[_MOST_TOLD:])
    if more:
        yield f"and {more:,} more; --json lists them all"


def _names_host(reason: str, url: str) -> bool:
    from usp._base.urls import url_parts

    host = url_parts(url).hostname
    return bool(host) and bool(_naming(str(host)).search(reason))


def _naming(host: str) -> re.Pattern[str]:
    """Return a pattern that finds a host name in a text."""
    return re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])")


def system_words(error: OSError) -> str:
    """Return the message of the system and the name of the file, without the error number."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


# What helps ----------------------------------------------------------------------------------------


def _options_here(command: click.Command | None = None) -> frozenset[str]:
    """Return the options of a command, by default of the one that is running."""
    context = click.get_current_context(silent=True)
    if command is None and context is not None:
        command = context.command
    parameters = [] if command is None else command.params
    return frozenset(option for parameter in parameters for option in parameter.opts)


def why(failure: Failure) -> str:
    """Return why something is missing, without its address, and the options that help."""
    from usp.objects.failure_codes import FailureCode

    if failure.code is FailureCode.NOT_FETCHED:
        return "not fetched: sitemaps in files are read without network access"
    if failure.advice is None and (words := _ADVICE.get(failure.code, lambda: "")()):
        return f"{failure.brief} ({words})"
    return _reworded(failure.brief, failure.advice)


def problem_text(text: str, code: AnyCode) -> str:
    """Return the text of a problem, and the options that help."""
    return _reworded(text, limit_advice(code))


def failure_line(failure: Mapping[str, Any]) -> str:
    """Return how many sites of a fleet failed for a reason, with an example and what to do."""
    return (
        f"  {counted(failure['sites'], 'site')} {failure['code']}: {failure['reason']},"
        f" for example {failure['example']}; {failure['remedy']}"
    )


def remedy(code: str, command: click.Command | None = None) -> str:
    """Return what to do about failures with this code: the options that help, or general advice.

    The options are those of a command, by default of the one that is running.
    """
    from usp._base.reason import Advice
    from usp.objects.failure_codes import BY_VALUE

    known = BY_VALUE[code]
    advice = limit_advice(known)
    if known in _TOPICS:
        advice = Advice(_TOPICS[known], "NET")
    options = _options_here(command)
    words = "" if advice is None else _WORDS[advice.topic](advice.name, options)
    if not words and known in _PASSING and "--retry-failed" in options:
        more = ", with a longer --timeout" if known.endswith("timeout") else ""
        words = f"--retry-failed tries again later{more}"
    if not words and known == "unauthorized":
        words = _log_in()
    if not words and known == "bad-url" and "--retry-failed" in options:
        words = "correct it in the list"
    return words or known.remedy[:1].lower() + known.remedy[1:].rstrip(".")


_TOPICS = {
    "address-refused": Topic.ALLOW_NETWORK,
    "blocked": Topic.BE_GENTLE,
    "bot-challenge": Topic.BE_GENTLE,
    "rate-limited": Topic.BE_GENTLE,
    "untrusted-certificate": Topic.TRUST,
}
_PASSING = frozenset(
    {
        *("server-error", "host-failing", "connection-closed", "body-cut-off", "unreachable"),
        *("connect-timeout", "read-timeout", "body-timeout"),
    }
)
"""Codes of failures that may have gone when the site is crawled again."""


def _reworded(text: str, advice: Advice | None) -> str:
    """Return a text whose advice names options of the command that is running."""
    if advice is None:
        return text
    return advice.reworded(text, _WORDS[advice.topic](advice.name, _options_here()))


def _limit(name: str, options: Collection[str]) -> str:
    if name == "seconds" and "--site-seconds" in options:
        return "raise it with --site-seconds"
    verb = "lower" if name == "lowest_rate" else "raise"
    return f"{verb} it with --max {name}=…" if "--max" in options else ""


def _network(name: str, options: Collection[str]) -> str:
    return f"--allow-network {name} permits it" if "--allow-network" in options else ""


def _http(name: str, _: Collection[str]) -> str:
    """Return which URL to try: the one that the user gave, rather than what was asked for first."""
    from usp._base.urls import url_parts

    context = click.get_current_context(silent=True)
    start = context.params.get("start") if context else None
    given = str(getattr(start, "url", ""))
    is_same = url_parts(given).netloc == url_parts(name).netloc
    return f"try http{given.removeprefix('https')}" if is_same else f"try {name}"


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


def _log_in() -> str:
    return "put the login into the URL: https://user:password@host/"


_ADVICE: dict[str, Callable[[], str]] = {
    "rate-limited": lambda: _gentle("", _options_here()),
    "unauthorized": _log_in,
}
"""What helps with failures whose reason has no advice of its own."""

_WORDS: dict[Topic, Callable[[str, Collection[str]], str]] = {
    Topic.RAISE_LIMIT: _limit,
    Topic.ALLOW_NETWORK: _network,
    Topic.TRY_HTTP: _http,
    Topic.BE_GENTLE: _gentle,
    Topic.TRUST: _trust,
}


# The one that all commands use ---------------------------------------------------------------------


tell = Teller()


def _wants(_: click.Context, __: click.Parameter, value: bool) -> None:
    tell.as_json = tell.as_json or value


_json = partial(
    click.option,
    "--json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_wants,
    help="Write all messages to standard error as JSON, one object per line.",
)
MESSAGES = "Messages and exit status"
"""The panel of the help for options about them."""

json_message_option = _json(panel=MESSAGES)
json_option = _json()
"""An option of every command; the configuration file can set it too."""
