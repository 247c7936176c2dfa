"""What ``usp watch`` does with the rounds of a watch: writes them, or hands them to a command."""

from __future__ import annotations

import signal
import subprocess
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

from click.exceptions import Exit

from usp._base.display import counted, duration
from usp.changes.formats import json_of, text_of
from usp.changes.watching import watch
from usp.cli.errors import PARTIAL, system_words, tell
from usp.cli.output import write_lines
from usp.export.text_formats import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from usp.changes import PageChange
    from usp.changes.watching import Round
    from usp.cli.crawling import Address, Crawling

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Watcher:
    """Reports the rounds of a watch until it is stopped."""

    def __init__(self, stream: TextIO, *, jsonl: bool, run: str | None) -> None:
        self._stream = stream
        self._jsonl = jsonl
        self._run = run
        self._stop = threading.Event()
        self._is_busy = False
        self._failed: frozenset[str] = frozenset()
        self._is_complete = True  # in the last round
        self._rounds = self._changes = 0

    def watch(
        self, crawling: Crawling, start: Address, snapshot: Path, *, every: float, **how: Any
    ) -> None:
        """Watch a website until all rounds are over, or a signal comes.

        With ``--strict``, ends with status 3 if anything was missing in the last of all rounds. A
        signal is the usual end of a watch without a number of rounds, and not a failure.
        """
        client = crawling.client()
        options = replace(crawling.options, keep_partial=False)  # from a configuration file
        with replace(crawling, quiet=True).running(), self._stopping():
            rounds = watch(
                start.start,
                snapshot,
                client,
                every=every,
                is_sitemap=start.is_sitemap,
                stop=self._stop,
                options=options,
                **how,
            )
            with closing(rounds):
                try:
                    for current in rounds:
                        self._report(current, start, every)
                except KeyboardInterrupt:
                    self._stop.set()
        found = f"{counted(self._changes, 'change')} in {counted(self._rounds, 'round')}"
        tell.notice(f"stopped: {found}", rounds=self._rounds, changes=self._changes)
        if crawling.strict and not self._is_complete and not self._stop.is_set():
            raise Exit(PARTIAL)

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Stop at the next signal: at once while waiting, and after the batch while it is written."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.getsignal(number)
            for number in _SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        for number in before:
            signal.signal(number, self._end)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, *_: object) -> None:
        self._stop.set()
        if not self._is_busy:
            raise KeyboardInterrupt

    def _report(self, current: Round, start: Address, every: float) -> None:
        self._rounds += 1
        self._is_complete = current.error is None and not current.failures
        self._report_failures(current, every)
        if current.first and current.error is None:
            tell.notice(f"watching {start.url} every {duration(every)}", url=start.url)
        if current.error is not None:
            return
        changes = iter(current)
        first = next(changes, None)  # which compares: until then, it may be stopped
        if first is None:
            return
        self._is_busy = True
        try:
            self._give(current, chain((first,), changes))
        finally:
            self._is_busy = False

    def _report_failures(self, current: Round, every: float) -> None:
        """Report what is missing, when that changes."""
        error = current.error
        if error is not None:
            reason = system_words(error) if isinstance(error, OSError) else str(error)
            tell.notice(f"failed: {reason}; next try in {duration(every)}", failed=reason)
            return
        failed = frozenset(failure.url for failure in current.failures)
        tell.missing([one for one in current.failures if one.url not in self._failed])
        if self._failed and not failed:
            tell.notice("all sitemaps are complete again", missing=0)
        self._failed = failed

    def _give(self, current: Round, changes: Iterator[PageChange]) -> None:
        """Write the changes of a round, or have them dealt with by a command."""
        if self._run is None:
            write_lines(map(self._line, changes, self._times(current)), self._stream)
            self._stream.flush()
            return
        before = self._changes
        status = self._command(map(self._line, changes, self._times(current)))
        if status:
            self._changes = before  # they are counted when they are dealt with
            current.retry()
            tell.notice(f"{self._run!r} {_ending(status)}; the changes come again")

    def _times(self, current: Round) -> Iterator[str]:
        seen = f"{current.started:%Y-%m-%dT%H:%M:%SZ}"
        while True:
            self._changes += 1
            yield seen

    def _line(self, change: PageChange, seen: str) -> str:
        if not self._jsonl and self._run is None:
            return text_of(change)
        return to_json({"seen": seen, **json_of(change)})

    def _command(self, lines: Iterator[str]) -> int:
        """Run the command with lines on its standard input; return how it ended."""
        assert self._run is not None
        with subprocess.Popen(  # noqa: S602 - the user's own command
            self._run, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8"
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
