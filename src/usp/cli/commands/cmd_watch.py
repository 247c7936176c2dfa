"""``usp watch``: shows new and changed pages of a website, or hands them to a command."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted, duration
from usp.cli import options
from usp.cli.errors import FAILED, PARTIAL, messages, update_warning, words_of
from usp.cli.option_values import new_path
from usp.cli.output import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from usp.changes import PageChange
    from usp.changes.watching import Round

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@options.command("watch")
@options.url_argument
@options.table(
    {
        "--snapshot FILE": "Snapshot that stores the last state, for example site.warc.gz; it is "
        "created if necessary.",
        "--every TIME": "Time between two rounds, for example 90s, 5m or 1h; varied by up to 10 %.",
        "--jsonl": "Write an object per line instead of text.",
        "--exec COMMAND": "Run this command for each batch of changes, which it gets as JSON lines "
        "on its standard input. Failed batches are retried.",
        "--existing": "Begin with the pages that exist when the snapshot is created.",
        "--trust-lastmod": "Do not request sitemaps whose index declares the same lastmod as before.",
    },
    snapshot={"type": new_path, "required": True},
    every={"default": "5m"},
    exec={"name": "shell_command"},
)
@options.accept
@options.table({"--rounds N": "Stop after this many rounds."})
@options.run_options
def command(
    run: options.RunOptions, start: options.Input, snapshot: Path, every: float, **given: Any
) -> None:
    """Watch a website: show new and changed pages as they appear, once each.

    URL is a website or a sitemap. The first round records it in the snapshot; each later one fetches
    only what has changed. Lines begin with + (new) or ~ (changed: which fields, from what to what).
    Errors are reported, and the next round tries again. Ctrl-C and SIGTERM end the command after the
    current batch, with exit status 0. When it is started again, it continues where it was: no page is
    lost, and after a crash the last batch may come twice. Needs the extra warc.

    If more than half of the pages would be gone, nothing is reported as removed, and the snapshot stays
    as it was until they are back, or the command is started with --accept.

    The exit status is 1 if more than half of the pages were gone or could not be read in the last round
    of --rounds; with --strict, it is 3 if anything was missing in it.

    \b
    Examples:
      usp watch example.org --snapshot site.warc.gz
      usp watch example.org --snapshot s.warc.gz --every 1h --jsonl >> new.jsonl
      usp watch example.org --snapshot site.warc.gz --exec 'jq -r .url | notify'
    """  # noqa: D301 - click knows the backspace
    from usp.changes.watching import watch
    from usp.cli.run_options import handling

    if start.is_local:
        raise click.UsageError("only a website or a sitemap on the web can be watched, not a file")
    if run.site is not None:
        raise click.UsageError(
            "--site chooses a website in a WARC file; usp watch does not read one"
        )
    if run.options.keep_partial and not options.set_in_config("keep_partial"):
        raise click.UsageError(
            "--keep-partial cannot be used with usp watch: a round that is stopped is repeated"
        )
    as_json, shell_command = given.pop("jsonl"), given.pop("shell_command")
    watcher = _Watcher(start.url, every, as_json, shell_command, given["accept"])
    with replace(run, quiet=True).running(), handling(watcher.end, *_SIGNALS):
        rounds = watch(
            start.start,
            snapshot,
            run.client(),
            every=every,
            is_sitemap=start.is_sitemap,
            stop=watcher.stop,
            options=replace(run.options, keep_partial=False),  # from a configuration file
            **given,
        )
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
    if watcher.warning:
        raise Exit(FAILED)
    if run.strict and not watcher.is_complete:
        raise Exit(PARTIAL)


@dataclass(slots=True)
class _Watcher:
    """Reports the rounds of a watch until it is stopped."""

    url: str
    every: float
    jsonl: bool
    shell_command: str | None
    accepts: bool
    stop: threading.Event = field(default_factory=threading.Event)
    rounds: int = 0
    changes: int = 0
    is_complete: bool = True  # in the last round
    warning: str = ""  # in the last round: most pages are gone, or could not be read
    is_busy: bool = False
    failed: frozenset[str] = frozenset()

    def end(self, *_: object) -> None:
        """Stop at a signal: at once while waiting, and after the batch while it is written."""
        self.stop.set()
        if not self.is_busy:
            raise KeyboardInterrupt

    def report(self, current: Round) -> None:
        """Report what is missing in a round, and what has changed."""
        self.rounds += 1
        self.is_complete = current.error is None and not current.failures
        self._report_failures(current)
        if current.error is not None:
            return
        if current.first:
            messages.notice(f"watching {self.url} every {duration(self.every)}", url=self.url)
        changes = iter(current)
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
        before, self.warning = self.warning, ""
        if update is not None and not self.accepts:
            self.warning = update_warning(update.warning)
        elif update is not None and update.warning:
            messages.notice(update.warning, pages_lost=update.pages_lost)
        if self.warning and self.warning != before:
            messages.error(self.warning, FAILED)
        if error is not None and update is None:
            reason = words_of(error)
            messages.notice(f"failed: {reason}; next try in {duration(self.every)}", failed=reason)
            return
        messages.missing([one for one in current.failures if one.url not in self.failed])
        if self.failed and not current.failures:
            messages.notice("all sitemaps are complete again", missing=0)
        self.failed = frozenset(failure.url for failure in current.failures)

    def _give(self, current: Round, changes: Iterator[PageChange]) -> None:
        """Write the changes of a round, or have them dealt with by a command."""
        before, lines = self.changes, self._lines(current, changes)
        if self.shell_command is None:
            write_text(lines)
        elif status := _run(self.shell_command, lines):
            self.changes = before  # they are counted when they are dealt with
            current.retry()
            messages.notice(f"{self.shell_command!r} {_ending(status)}; the batch will be retried")

    def _lines(self, current: Round, changes: Iterator[PageChange]) -> Iterator[str]:
        """Yield a line for each change, and count them."""
        from usp.changes.change_values import json_of, text_of
        from usp.export.text_formats import to_json

        seen = f"{current.started:%Y-%m-%dT%H:%M:%SZ}"
        for change in changes:
            self.changes += 1
            if self.jsonl or self.shell_command is not None:
                yield to_json({"seen": seen, **json_of(change)})
            else:
                yield text_of(change)


def _run(shell_command: str, lines: Iterator[str]) -> int:
    """Run a command with lines on its standard input; return how it ended."""
    with subprocess.Popen(  # noqa: S602 - the user's own command
        shell_command, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        try:
            process.stdin.writelines(f"{line}\n" for line in lines)
            process.stdin.close()
        except BrokenPipeError:  # it does not want to know
            pass
        return process.wait()


def _ending(status: int) -> str:
    """Return how a command ended: with its own status, or by a signal."""
    if status > 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:  # one without a name
        return f"was ended by signal {-status}"
