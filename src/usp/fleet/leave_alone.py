"""Sites to leave alone: a list in the dataset that all who crawl into it honour, and its pruning.

``leave-alone.txt`` has a host per line, which stands for the hosts below it, too; lines that begin with
``#`` are comments. It may be edited at any time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, FileStore, NoSuchFileError
from usp.fleet.site_list import SiteListError, homepage, host_key
from usp.fleet.tables import TABLES, quoted

if TYPE_CHECKING:
    from usp.fleet.current import OpenDataset

__all__ = ["LeaveAlone", "forget"]

FILE = "leave-alone.txt"
_SECONDS = 5.0  # between two looks at the list


class LeaveAlone:
    """The list of a dataset."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._hosts: frozenset[str] = frozenset()
        self.wrong: list[str] = []  # lines that name no host
        self._read_at = float("-inf")

    def __len__(self) -> int:
        return len(self._hosts)

    @property
    def is_stale(self) -> bool:
        """Whether it is time to read the list again."""
        return time.monotonic() - self._read_at >= _SECONDS

    def refresh(self) -> LeaveAlone:
        """Read the list; one that cannot be read stays as it was."""
        self._read_at = time.monotonic()
        with suppress(DatasetError, OSError):
            lines = map(str.strip, self._text().splitlines())
            listed = [one for one in lines if one and one[0] != "#"]
            self._hosts = frozenset(map(host_key, filter(None, map(_home, listed))))
            self.wrong = [one for one in listed if _home(one) is None]
        return self

    def _text(self) -> str:
        missing, options = (NoSuchFileError, FileNotFoundError), self._store.first_options
        with suppress(*missing), self._store.reading(FILE, options) as file:
            return str(file.read(), "utf-8", "replace")
        return ""

    def covers(self, site: str) -> bool:
        """Return whether a site, or the host of a URL, is to be left alone."""
        host = host_key(site) if self._hosts else ""
        while host and host not in self._hosts:
            host = host.partition(".")[2]
        return bool(host)

    def add(self, sites: Iterable[str]) -> None:
        """Add sites to the list; raises :class:`SiteListError` for one that is none.

        The comments of the list, and its order, stay.
        """
        homes = []
        for text in sites:
            if (home := _home(text)) is None:
                raise SiteListError(
                    f"{text!r} is neither a host nor a URL; use for example example.org"
                )
            homes.append(home)
        before = self._text()  # an error, if it cannot be read: it would be lost
        self.refresh()
        new = [host for host in dict.fromkeys(map(host_key, homes)) if host not in self._hosts]
        lines = [*before.rstrip("\n").splitlines(), *new]
        self._store.replace(FILE, "".join(f"{line}\n" for line in lines).encode())
        self.refresh()


def _home(text: str) -> str | None:
    """Return the homepage of a host or URL; None if a text is neither."""
    home, _ = homepage(text)
    return home if "://" in home else None


def forget(data: OpenDataset, sites: Sequence[str] = ()) -> dict[str, Any]:
    """Leave sites alone from now on, and delete the rows of all sites of the list.

    Returns how many sites are on the list, how many had rows, and the lines that name none. The files
    stay as long as older versions of the tables are kept.
    """
    dataset = data.dataset
    alone = LeaveAlone(dataset.store)
    alone.add(sites)
    found: defaultdict[int, list[str]] = defaultdict(list)
    with data.errors():
        known = data.connection("visits").sql("select distinct bucket, site from visits")
        for batch in known.to_arrow_reader():
            for bucket, site in zip(*batch.to_pydict().values(), strict=True):
                if alone.covers(site):
                    found[bucket].append(quoted(site))
    for bucket, gone in found.items():
        for table in reversed(TABLES):  # visits first: without them, nobody sees the rest
            with dataset.store.words():
                dataset.table(table).delete(f"bucket = {bucket} and site in ({', '.join(gone)})")
    deleted = sum(map(len, found.values()))
    return {"listed": len(alone), "deleted": deleted, "wrong": alone.wrong}
