"""How a command says what went wrong: in a line for people, or as JSON for programs."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.output.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.objects.problem import Failure

log = logging.getLogger(__name__)

FAILED = 1
WRONG_CALL = 2
PARTIAL = 3
INTERRUPTED = 130

_MOST_TOLD = 5  # failures that are told one by one to people


def wants_json(argv: Sequence[str] | None = None) -> bool:
    """Tell whether errors are wanted as JSON: by ``--json``, or by ``USP_JSON`` in the environment."""
    return "--json" in (sys.argv[1:] if argv is None else argv) or bool(os.environ.get("USP_JSON"))


class Teller:
    """Writes errors to the standard error."""

    def __init__(self) -> None:
        self.as_json = False
        self.quiet = False  # whether the log, in a file of its own, says what is missing

    def error(self, message: str, status: int, *, hint: str = "", command: str = "usp") -> None:
        """Tell of an error that ends the command."""
        if self.as_json:
            self._write({"error": message, "status": status, "hint": hint or None})
            return
        click.echo(printable(f"{command}: {message}"), err=True)
        if hint:
            click.echo(printable(hint), err=True)

    def failures(self, failures: Sequence[Failure], status: int) -> None:
        """Tell what is missing in a result."""
        if self.quiet:
            for failure in failures:
                log.warning("%s: %s", failure.url, failure.reason)
            return
        word = "failed" if status == FAILED else "incomplete"
        if self.as_json:
            told = [
                {"url": f.url, "reason": f.reason, "attempts": f.attempts, "status": f.status}
                for f in failures
            ]
            self._write({"error": word, "status": status, "failures": told})
            return
        what = "1 sitemap" if len(failures) == 1 else f"{len(failures):,} sitemaps"
        click.echo(f"usp: {word}: {what} could not be had as a whole:", err=True)
        for failure in failures[:_MOST_TOLD]:
            click.echo(printable(f"  {failure.url}: {failure.reason}"), err=True)
        if len(failures) > _MOST_TOLD:
            click.echo(f"  and {len(failures) - _MOST_TOLD:,} more", err=True)

    def undated(self, count: int) -> None:
        """Tell how many pages of a period were listed although they have no date."""
        if not count or self.quiet:
            return
        pages = "1 page" if count == 1 else f"{count:,} pages"
        self.notice(f"{pages} without a date kept; --dated leaves them out", undated=count)

    def notice(self, message: str, **facts: object) -> None:
        """Tell something that a user should know; nothing is wrong."""
        if self.as_json:
            self._write({"notice": message, **facts})
        else:
            click.echo(printable(f"usp: {message}"), err=True)

    @staticmethod
    def _write(told: dict[str, object]) -> None:
        click.echo(json.dumps(told, ensure_ascii=True), err=True)


tell = Teller()
