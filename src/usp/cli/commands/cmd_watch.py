"""``usp watch``: shows new and changed pages of a website, or hands them to a command."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from html import escape
from itertools import chain, count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import rich_click as click
from click import get_current_context
from click.core import ParameterSource
from click.exceptions import Exit

from usp._base.display import clock, counted, duration, printable
from usp._base.files import replacing
from usp._base.urls import is_http_url, url_parts
from usp.cli import options
from usp.cli.errors import FAILED, PARTIAL, messages, update_warning, why, words_of
from usp.cli.option_values import bad_value, new_path
from usp.cli.output import naming, write_text

if TYPE_CHECKING:
    from datetime import datetime

    from usp.changes import PageChange
    from usp.changes.watching import Round

ENTRIES = 100  # of a feed
_BATCH = 1000  # changes of a request
_PAUSES = (0.0, 1.0, 4.0, 15.0)  # seconds before each try
_TIMEOUT = 30.0
_SUCCESS = range(200, 300)
_FINAL = frozenset(range(300, 500)) - {408, 425, 429}
_LOOK = 4096  # characters in which the root of an OPML file is looked for
_USUALLY = 900.0  # seconds from one round of all feeds to the next
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _webhook(url: str) -> str:
    """Check the address that gets changes."""
    if not is_http_url(url):
        raise click.BadParameter(
            f"{url!r} is not an address; use for example https://example.org/hook"
        )
    return url


def _shell_command(text: str) -> str:
    """Refuse an empty command, which would take the changes and do nothing with them."""
    if not text.strip():
        raise click.BadParameter("the command is empty")
    return text


@options.command("watch")
@options.url_argument
@options.table(
    {
        "--snapshot FILE": "Snapshot that stores the last state, for example site.warc.gz; it is "
        "created if necessary. Without it, the state is lost when the command ends.",
        "--every TIME": "Request all sitemaps at this interval, for example 90s, 5m or 1h; varied by "
        "up to 10 %. Without it, each has its own rhythm, from 5 minutes to a day.",
        "--exec COMMAND": "Run this command for each batch of changes, which it gets as JSON lines "
        "on its standard input. Failed batches are retried.",
        "--post ADDRESS": "Send each batch of changes to this address, as JSON by POST, in place of "
        "writing it. Failed batches are retried.",
        "--feed FILE": "Keep the latest 100 changes in this file, an Atom feed.",
        "--removed": "Show pages that are gone, too.",
        "--existing": "Begin with the pages that exist when the snapshot is created.",
        "--trust-lastmod": "Do not request sitemaps whose index declares the same lastmod as before.",
    },
    snapshot={"type": lambda text: Path(text) if Path(text).is_dir() else new_path(text)},
    post={"type": _webhook, "name": "post_to"},
    feed={"type": new_path, "name": "feed_path"},
    exec={"name": "shell_command", "type": _shell_command},
)
@options.results(
    ["text", "jsonl"],
    "text: a line for each change (the default). jsonl: an object per line.",
    "Append to this file; its suffix sets the format.",
)
@options.accept
@options.table({"--rounds N": "Stop after this many rounds."})
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
    snapshot: Path | None,
    every: float | None,
    form: str | None,
    output: Path | None,
    **given: Any,
) -> None:
    """Watch a website: show new and changed pages as they appear.

    URL is a website or a sitemap, or an OPML file, whose feeds are watched one after another; then
    --snapshot is a folder, with a snapshot for each feed. The first round records it in the snapshot;
    each later one fetches only what has changed. Lines begin with + (new) or ~ (changed: which fields,
    from what to what), on a terminal after the time. Errors are reported, and the next round tries
    again. Ctrl-C and SIGTERM end the command after the current batch, with exit status 0. When it is
    started again, it continues where it was: no page is lost, and after a crash the last batch may come
    twice. Needs the extra warc.

    If more of the pages would be gone than --max-removed, nothing is reported as removed, and the
    snapshot stays as it was until they are back, or the command is started with --accept.

    The exit status is 1 if that is so in the last round of --rounds, if more than half of the pages
    could not be read in it, or if its changes could not be delivered; with --strict, it is 3 if
    anything was missing in it.

    Examples:
      usp watch example.org --snapshot site.warc.gz
      usp watch example.org --snapshot s.warc.gz --every 1h -o new.jsonl
      usp watch feeds.opml --snapshot states/ --every 30m
      usp watch example.org --snapshot site.warc.gz --exec 'jq -r .url | notify'
    """
    from usp.changes.watching import watch
    from usp.cli.run_options import handling

    feeds = _feeds_in(start.path) if start.path is not None else {}
    if start.is_local and not feeds:
        raise click.UsageError(
            "only a website or a sitemap on the web can be watched, not a file, unless it is OPML with"
            " feeds"
        )
    if snapshot is not None and snapshot.exists() and snapshot.is_dir() != bool(feeds):
        what = "is a file; name a folder" if feeds else "is a folder; name a file in it"
        raise bad_value("--snapshot", f"{str(snapshot)!r} {what}")
    form = options.format_for(output, form, ("text", "jsonl"), "text")
    _refuse_keep_partial()
    own = {name: given.pop(name) for name in ("shell_command", "post_to", "feed_path", "removed")}
    if [output, own["shell_command"], own["post_to"]].count(None) < 2:  # noqa: PLR2004
        raise click.UsageError("choose one of -o, --exec and --post")
    messages.timed = sys.stderr.isatty()
    watcher = _Watcher(start.url, every, form == "jsonl", output, given["accept"], **own)
    with (
        TemporaryDirectory(prefix="usp-", ignore_cleanup_errors=True) as folder,
        run.running(watcher.line),
        handling(watcher.end, *_SIGNALS),
    ):
        how = {
            "web_client": run.client(),
            "every": every,
            "stop": watcher.stop,
            "options": replace(
                run.options, keep_partial=False
            ),  # a round that is stopped is repeated
            **given,
        }
        if start.path is not None:
            rounds = _rounds_of_feeds(start.path, snapshot or Path(folder), watcher, **how)
        else:
            path = snapshot or Path(folder, "site.warc.gz")
            rounds = watch(start.start, path, is_sitemap=start.is_sitemap, **how)
        with closing(rounds):
            try:
                for current in rounds:
                    watcher.report(current)
            except KeyboardInterrupt:
                watcher.stop.set()
    number, changes = watcher.rounds, watcher.changes
    found = f"{counted(changes, 'change')} in {counted(number, 'round')}"
    messages.notice(f"stopped: {found}", rounds=number, changes=changes)
    if watcher.stop.is_set():  # which is not a failure
        return
    if any(watcher.warnings.values()):
        raise Exit(FAILED)
    if run.strict and watcher.incomplete:
        raise Exit(PARTIAL)


def _refuse_keep_partial() -> None:
    """Refuse an option without a meaning here, unless a configuration file has it for all commands."""
    source = get_current_context().get_parameter_source("keep_partial")
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--keep-partial cannot be used with usp watch: a round that is stopped is repeated"
        )


def _feeds_in(path: Path) -> dict[str, bool]:
    """Return the feeds in an OPML file, and the websites without one: whether each is a feed."""
    from usp._formats.feeds import outlines

    try:
        text = path.read_text("utf-8-sig", "replace") if path.is_file() else ""
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {words_of(error)}") from error
    if "<opml" not in text[:_LOOK].lower():
        return {}
    found = ((one.feed or one.site or "", one.feed is not None) for one in outlines([text]))
    return {url: is_feed for url, is_feed in found if is_http_url(url)}


def _rounds_of_feeds(
    path: Path,
    folder: Path,
    watcher: _Watcher,
    *,
    every: float | None,
    rounds: int | None,
    stop: threading.Event,
    **how: Any,
) -> Generator[Round, None, None]:
    """Yield a round of each feed of a list, again and again; the list may change meanwhile."""
    from usp.changes.watching import watch

    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        begun = time.monotonic()
        for url, is_feed in _feeds_in(path).items():
            watcher.url = url
            state = folder / f"{blake2b(url.encode(), digest_size=8).hexdigest()}.warc.gz"
            yield from watch(url, state, is_sitemap=is_feed or None, rounds=1, stop=stop, **how)
        pause = begun + (every or _USUALLY) - time.monotonic()
        if number == rounds or stop.wait(max(0.0, pause)):
            return


@dataclass(slots=True)
class _Watcher:
    """Reports the rounds of a watch until it is stopped."""

    url: str
    every: float | None
    jsonl: bool
    output: Path | None
    accepts: bool
    shell_command: str | None
    post_to: str | None
    feed_path: Path | None
    removed: bool
    stop: threading.Event = field(default_factory=threading.Event)
    rounds: int = 0
    changes: int = 0
    is_busy: bool = False
    # By the URL that is watched, of its last round: that most pages are gone, or could not be read, or
    # that its changes went nowhere; which sitemaps are missing; and which URLs are incomplete.
    warnings: dict[str, str] = field(default_factory=dict)
    failed: dict[str, frozenset[str]] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    ended: float | None = None  # when the last round did
    feed_url: str = field(init=False)

    def __post_init__(self) -> None:
        self.feed_url = self.url  # others may follow

    def line(self) -> str:
        """Return a sign of life."""
        found = f"{counted(self.changes, 'change')} in {counted(self.rounds, 'round')}"
        if self.ended is None:
            return f"watching {self.url} · first round"
        ago = clock(time.monotonic() - self.ended)
        last = f"{ago} since the last{self._interval()}"
        return f"watching: {found} · {last} · {self.url}"  # which may be too long for the line

    def _interval(self) -> str:
        return f", every {duration(self.every)}" if self.every else ""

    def end(self, *_: object) -> None:
        """Stop at a signal: at once while waiting, and after the batch while it is written."""
        self.stop.set()
        if not self.is_busy:
            raise KeyboardInterrupt

    def report(self, current: Round) -> None:
        """Report what is missing in a round, and what has changed."""
        self.rounds, self.ended = self.rounds + 1, time.monotonic()
        is_complete = current.error is None and not current.failures
        (self.incomplete.discard if is_complete else self.incomplete.add)(self.url)
        self._report_failures(current)
        if current.error is not None:
            return
        if self.feed_path is not None and self.rounds == 1:  # so that it is there
            _write_feed(self.feed_path, self.feed_url, (), current.started)
        if current.first:
            messages.notice(f"watching {self.url}{self._interval()}", url=self.url)
        changes = current.changes() if self.removed else iter(current)
        first = next(changes, None)  # which compares: until then, it may be stopped
        if first is None:
            return
        self.is_busy = True
        try:
            self._give(current, chain((first,), changes))
        finally:
            self.is_busy = False

    def _report_failures(self, current: Round) -> None:
        """Report what is missing, when that changes."""
        error, update = current.error, current.update
        before, warning = self.warnings.get(self.url), ""
        if update is not None and not self.accepts:
            warning = update_warning(update.warning)
        elif update is not None and update.warning:
            messages.notice(update.warning, pages_lost=update.pages_lost)
        self.warnings[self.url] = warning
        if warning and warning != before:
            messages.error(warning, FAILED)
        if error is not None and update is None:
            reason = why(current.failures[0]) if current.failures else words_of(error)
            again = f"; next try in {duration(self.every)}" if self.every else ""
            messages.notice(f"failed: {reason}{again}", failed=reason)
            return
        failed = self.failed.get(self.url, ())
        messages.missing([one for one in current.failures if one.url not in failed])
        if failed and not current.failures:
            messages.notice("all sitemaps are complete again", missing=0)
        self.failed[self.url] = frozenset(failure.url for failure in current.failures)

    def _give(self, current: Round, changes: Iterator[PageChange]) -> None:
        """Write the changes of a round, or have them dealt with by a command or an address."""
        from usp.changes.change_values import json_of, text_of
        from usp.export.text_formats import to_json

        before, failed = self.changes, ""
        seen = f"{current.started:%Y-%m-%dT%H:%M:%SZ}"
        latest: deque[PageChange] = deque(maxlen=ENTRIES)
        found = self._counted(changes, latest)
        is_json = self.jsonl or self.shell_command is not None or self.post_to is not None
        is_shown = self.output is None and sys.stdout.isatty()
        now = f"{current.started.astimezone():%H:%M:%S} " if is_shown else ""
        objects = ({"seen": seen, **json_of(change)} for change in found)
        lines = map(to_json, objects) if is_json else (now + text_of(change) for change in found)
        if self.post_to is not None:
            failed = _post(self.post_to, self.url, objects, self.stop)
        elif self.shell_command is not None:
            failed = _run_command(self.shell_command, lines)
        elif self.output is not None:
            with naming(self.output), self.output.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            messages.wrote(self.output, self.changes - before, "change")
        else:
            write_text(lines)
        if failed:
            self.changes = before  # they are counted when they are dealt with
            self.warnings[self.url] = failed
            current.retry()
            messages.notice(f"{failed}; the batch will be retried")
        elif self.feed_path is not None:
            _write_feed(self.feed_path, self.feed_url, latest, current.started)

    def _counted(
        self, changes: Iterator[PageChange], latest: deque[PageChange]
    ) -> Iterator[PageChange]:
        """Count changes; the ``latest`` are for the feed."""
        for change in changes:
            self.changes += 1
            latest.append(change)
            yield change


# Where changes go, beside lines: a feed, an address, a command ---------------------------------------


def _write_feed(path: Path, url: str, changes: Iterable[PageChange], when: datetime) -> None:
    """Write an Atom feed of changes to a file, and after them what the file has; see ``ENTRIES``.

    An entry is a line, so that nothing of a file but these is taken.
    """
    seen = f"{when:%Y-%m-%dT%H:%M:%SZ}"
    lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    entries = [_entry(change, seen) for change in changes][::-1]
    entries += (line for line in lines if line.startswith("<entry>"))
    with replacing(path) as file:
        feed = atom_feed(url, entries[:ENTRIES], seen)
        file.writelines(f"{line}\n".encode() for line in feed)


def atom_feed(url: str, entries: Iterable[str], updated: str) -> Iterator[str]:
    """Yield the lines of an Atom feed of what has changed at a URL, or in a dataset."""
    is_url = is_http_url(url)
    name = url if is_url else uuid.uuid5(uuid.NAMESPACE_URL, url).urn
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<feed xmlns="http://www.w3.org/2005/Atom">'
    yield _elements(title=f"Changes of {url}", id=name, updated=updated)
    link = f'<link href="{escape(url)}"/>' if is_url else ""
    yield f"<author><name>usp</name></author>{link}"
    yield from entries
    yield "</feed>"


def atom_entry(kind: str, url: str, title: str | None, seen: str, summary: str) -> str:
    """Return the entry of a change, on one line."""
    title = title or url
    parts = _elements(
        title=title if kind == "added" else f"{kind}: {title}",
        id=uuid.uuid5(uuid.NAMESPACE_URL, f"{seen} {kind} {url}").urn,
        updated=seen,
        summary=summary,
    )
    return f'<entry>{parts}<link href="{escape(url)}"/><category term="{kind}"/></entry>'


def _entry(change: PageChange, seen: str) -> str:
    from usp.changes.change_values import text_of

    page = change.after or change.before
    story = page and page.news_story
    title = story.title if story else None
    return atom_entry(change.kind.value, change.url, title, seen, text_of(change))


def _elements(**texts: str) -> str:
    """Return elements on one line, without what XML has no words for."""
    return "".join(
        f"<{name}>{escape(printable(text), quote=False)}</{name}>" for name, text in texts.items()
    )


def _post(url: str, site: str, changes: Iterator[dict[str, Any]], stop: threading.Event) -> str:
    """Send changes in batches, each again after a pause if it fails; return why one did, or ``""``."""
    from usp.export.text_formats import to_json

    while batch := list(islice(changes, _BATCH)):
        data = to_json({"url": site, "changes": batch}).encode()
        for pause in _PAUSES:
            stop.wait(pause)
            why, is_final = _sent(url, data)
            if not why or is_final or stop.is_set():
                break
        if why:
            return f"{url_parts(url).netloc.rpartition('@')[2]} {why}"
    return ""


def _sent(url: str, data: bytes) -> tuple[str, bool]:
    """Return why data did not arrive, and whether it is in vain to send it again."""
    import requests

    from usp._http.identity import OUR_NAME

    headers = {"Content-Type": "application/json", "User-Agent": OUR_NAME}
    try:
        answer = requests.post(
            url, data, headers=headers, timeout=_TIMEOUT, allow_redirects=False, stream=True
        )
    except requests.RequestException as error:
        return f"could not be reached ({type(error).__name__})", False
    answer.close()
    status = answer.status_code
    return "" if status in _SUCCESS else f"answered {status}", status in _FINAL


def _run_command(shell_command: str, lines: Iterable[str]) -> str:
    """Run a command with lines on its standard input; return how it failed, or ``""``."""
    with subprocess.Popen(  # noqa: S602 - the user's own command
        shell_command, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        try:
            process.stdin.writelines(f"{line}\n" for line in lines)
            process.stdin.close()
        except BrokenPipeError:  # it does not want to know
            pass
        status = process.wait()
    names = {number.value: f"was ended by {number.name}" for number in signal.Signals}
    how = names.get(-status, f"ended with status {status}")
    return f"{shell_command!r} {how}" if status else ""
