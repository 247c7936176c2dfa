"""Sites to leave alone: a list in the dataset that all who crawl into it honour, and its pruning.

``leave-alone.txt`` has a host per line, which stands for the hosts below it, too; lines that begin with
``#`` are comments. It may be edited at any time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
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
        try:
            with self._store.reading(FILE, self._store.first_options) as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except (NoSuchFileError, FileNotFoundError):
            lines = []
        except (DatasetError, OSError):
            return self
        listed = (line.strip() for line in lines)
        self._hosts = frozenset(
            host_key(homepage(one)[0]) for one in listed if one and one[0] != "#"
        )
        return self

    def covers(self, site: str) -> bool:
        """Return whether a site, or the host of a URL, is to be left alone."""
        if not self._hosts:
            return False
        host = host_key(site)
        while host:
            if host in self._hosts:
                return True
            host = host.partition(".")[2]
        return False

    def add(self, sites: Iterable[str]) -> None:
        """Add sites to the list; its comments and its order stay."""
        new = dict.fromkeys(map(_host, sites))
        self.refresh()
        text = ""
        if self._hosts:
            with self._store.reading(FILE) as file:
                text = file.read().decode("utf-8", "replace").rstrip("\n") + "\n"
        text += "".join(f"{host}\n" for host in new if host not in self._hosts)
        self._store.replace(FILE, text.encode())
        self.refresh()


def _host(text: str) -> str:
    """Return the host that a line names; raises :class:`SiteListError` if it names none."""
    site, _ = homepage(text)
    if "://" not in site:
        raise SiteListError(f"{text!r} is neither a host nor a URL; use for example example.org")
    return host_key(site)


def forget(data: OpenDataset, sites: Sequence[str] = ()) -> dict[str, int]:
    """Leave sites alone from now on, and delete the rows of all sites of the list.

    Returns how many sites are on the list, and how many had rows. The files stay as long as older
    versions of the tables are kept.
    """
    dataset = data.dataset
    alone = LeaveAlone(dataset.store)
    alone.refresh()
    if sites:
        alone.add(sites)
    found: defaultdict[int, list[str]] = defaultdict(list)
    with data.errors():
        known: Any = data.connection("visits").sql("select distinct bucket, site from visits")
        for batch in known.to_arrow_reader():
            for row in batch.to_pylist():
                if alone.covers(row["site"]):
                    found[row["bucket"]].append(quoted(row["site"]))
    for bucket, gone in found.items():
        names = ", ".join(gone)
        for table in reversed(TABLES):  # visits first: without them, nobody sees the rest
            with dataset.store.words():
                dataset.table(table).delete(f"bucket = {bucket} and site in ({names})")
    return {"listed": len(alone), "deleted": sum(map(len, found.values()))}
