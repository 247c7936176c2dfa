"""Where ``usp watch`` takes changes, beside lines: a feed, a command, an address."""

from __future__ import annotations

import signal
import subprocess
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import printable
from usp._base.files import replacing
from usp._base.urls import is_http_url, url_parts

if TYPE_CHECKING:
    import threading
    from datetime import datetime
    from pathlib import Path

    from usp.changes import PageChange

ENTRIES = 100  # of a feed
_BATCH = 1000  # changes of a request
_PAUSES = (0.0, 1.0, 4.0, 15.0)  # seconds before each try
_TIMEOUT = 30.0
_SUCCESS = range(200, 300)
_FINAL = frozenset(range(300, 500)) - {408, 425, 429}


class NewsFeed:
    """An Atom feed with the latest changes, in a file; those that are in it already stay.

    An entry is a line, so that nothing of a file but these is taken.
    """

    def __init__(self, path: Path, url: str) -> None:
        self._path = path
        self._url = url
        self._entries: deque[str] = deque(maxlen=ENTRIES)  # the latest one is the last
        if path.exists():
            lines = path.read_text("utf-8", "replace").splitlines()
            self._entries.extend(line for line in reversed(lines) if line.startswith("<entry>"))

    def write(self, changes: Iterable[PageChange], when: datetime) -> None:
        """Replace the file by one with these changes at its beginning."""
        seen = f"{when:%Y-%m-%dT%H:%M:%SZ}"
        self._entries.extend(_entry(change, seen) for change in changes)
        with replacing(self._path) as file:
            lines = atom_feed(self._url, reversed(self._entries), seen)
            file.writelines(f"{line}\n".encode() for line in lines)


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


def webhook(url: str) -> str:
    """Check the address that gets changes."""
    if not is_http_url(url):
        raise click.BadParameter(
            f"{url!r} is not an address; use for example https://example.org/hook"
        )
    return url


def post(url: str, site: str, changes: Iterator[dict[str, Any]], stop: threading.Event) -> str:
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


def run_command(shell_command: str, lines: Iterable[str]) -> str:
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
    return f"{shell_command!r} {_ending(status)}" if status else ""


def _ending(status: int) -> str:
    """Return how a command ended: with its own status, or by a signal."""
    if status > 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:  # one without a name
        return f"was ended by signal {-status}"
