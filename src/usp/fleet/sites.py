"""The list of sites: read from a file, each as the address of its homepage, each once."""

from __future__ import annotations

import csv
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.urls import BadUrl, read_url, shown, with_login, without_login
from usp.exceptions import StripURLToHomepageException
from usp.export.schema import pyarrow
from usp.helpers import strip_url_to_homepage

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator

    from usp._base.urls import Login

__all__ = ["SiteListError", "homepage", "read_sites"]

COLUMNS = ("site", "url", "host", "domain")
"""The columns of a table in which sites are looked for, in this order."""

_LONGEST = 2000
_USUAL = {"http": ":80", "https": ":443"}


class SiteListError(ValueError):
    """A list of sites that cannot be read; the message says what to do."""


def homepage(text: str) -> str:
    """Return the homepage that a URL or a host's name stands for; without a scheme, https is meant.

    A login in the address stays. What is neither is given back, as far as it is not too long: crawling
    it fails with a reason.
    """
    stripped = text.strip()[:_LONGEST]
    url = stripped if "://" in stripped else f"https://{stripped}"
    try:
        login = read_url(url).login
        scheme, _, host = strip_url_to_homepage(without_login(url)).partition("://")
    except (BadUrl, StripURLToHomepageException):
        return shown(stripped)
    scheme, host = scheme.lower(), host.removesuffix("/").lower()
    site = f"{scheme}://{host.removesuffix(_USUAL[scheme])}/"
    return site if login is None else with_login(site, login)


def apart(sites: Iterable[str], logins: dict[str, Login]) -> Iterator[str]:
    """Yield sites without their logins, which are put aside."""
    for text in sites:
        site = without_login(text)
        if site != text:
            with suppress(BadUrl):
                login = read_url(text).login
                if login is not None:
                    logins.setdefault(site, login)
        yield site


def read_sites(source: str) -> Iterator[str]:
    """Give the homepages that a file lists, each once, in order; ``-`` is the standard input.

    Parquet and CSV are told by the suffix, or by a header that has one of :data:`COLUMNS`; all other
    files have one site a line, and what follows a ``#`` at the start of a line is a comment.
    """
    seen: set[str] = set()
    for text in _texts(source):
        site = homepage(text)
        if site and site not in seen:
            seen.add(site)
            yield site


def _texts(source: str) -> Iterator[str]:
    if source == "-":
        yield from _lines(sys.stdin)
        return
    path = Path(source)
    if not path.exists() or path.is_dir():  # a pipe is as good as a file
        raise SiteListError(f"there is no file {source!r}; give a list of sites, one a line, or -")
    if path.suffix.lower() in {".parquet", ".pq"}:
        yield from _parquet(path)
        return
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        is_csv = path.suffix.lower() in {".csv", ".tsv"}
        yield from _csv(file, path) if is_csv else _lines(file)


def _lines(file: Iterable[str]) -> Iterator[str]:
    for line in file:
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


def _csv(file: io.TextIOBase | Any, path: Path) -> Iterator[str]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = csv.reader(file, delimiter=delimiter)
    head = [name.strip().lower() for name in next(rows, [])]
    at = head.index(_column(head, path))
    for row in rows:
        if len(row) > at and row[at].strip():
            yield row[at]


def _parquet(path: Path) -> Iterator[str]:
    file = pyarrow(".parquet").ParquetFile(path)
    names = {name.lower(): name for name in file.schema_arrow.names}
    column = names[_column(list(names), path)]
    for batch in file.iter_batches(columns=[column]):
        yield from (str(text) for text in batch.column(0).to_pylist() if text)


def _column(names: list[str], path: Path) -> str:
    for name in COLUMNS:
        if name in names:
            return name
    raise SiteListError(
        f"{path}: no column is named {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]};"
        f" there are {', '.join(names) or 'none'}"
    )
