"""The baseline: findings that are known, and left out from then on.

A finding is known by its rule, its sitemap and its page, or by its message if it is about no page; not
by its line, nor by the numbers in its message. So it stays known when the document grows.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.files import replacing
from usp.checks.finding import path_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from usp.checks.finding import Finding

VERSION = 1
ANY = "*"
"""In place of a page: so many findings of that rule, whatever they are about."""

MOST_PAGES = 1000
"""How many findings of a rule in a sitemap are kept one by one."""

_NUMBER = re.compile(r"[0-9][0-9.,:]*")

# By sitemap and code: what about, how often.
_Known: TypeAlias = dict[tuple[str, str], Counter[str]]


class Baseline:
    """Findings that are known.

    ``folder`` is that of its file: the names of local sitemaps are relative to it, so that the file
    means the same on another machine.
    """

    def __init__(self, folder: Path, known: _Known | None = None) -> None:
        self._folder = folder.resolve()
        self._known: _Known = known or {}
        self._left = {at: Counter(abouts) for at, abouts in self._known.items()}

    @classmethod
    def of(cls, findings: Iterable[Finding], folder: str | os.PathLike[str]) -> Baseline:
        """Return a baseline of all these findings."""
        baseline = cls(Path(folder))
        for finding in findings:
            sitemap, about = baseline._key(finding)
            abouts = baseline._known.setdefault((sitemap, finding.code), Counter())
            is_full = len(abouts) >= MOST_PAGES and about not in abouts
            abouts[ANY if is_full or ANY in abouts else about] += finding.times
        for at, abouts in baseline._known.items():
            if ANY in abouts:
                baseline._known[at] = Counter({ANY: abouts.total()})
        return baseline

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Baseline:
        """Read a baseline from a file; raises ``ValueError`` if it is something else."""
        return cls.parse(Path(path).read_bytes(), path)

    @classmethod
    def parse(cls, content: bytes, path: str | os.PathLike[str]) -> Baseline:
        """Return the baseline of a file with this content; raises ``ValueError`` like :meth:`read`."""
        try:
            known = dict(_entries(json.loads(content)))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a baseline of usp check") from error
        return cls(Path(path).parent, known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a file in the folder: JSON, in a stable order, an entry per line."""
        content: dict[str, dict[str, dict[str, int]]] = {}
        for (sitemap, code), abouts in sorted(self._known.items()):
            content.setdefault(sitemap, {})[code] = dict(sorted(abouts.items()))
        text = json.dumps({"version": VERSION, "findings": content}, indent=2, ensure_ascii=False)
        with replacing(path) as file:
            file.write(f"{text}\n".encode(errors="backslashreplace"))

    def __len__(self) -> int:
        """Return how many findings are known."""
        return sum(abouts.total() for abouts in self._known.values())

    def new(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings that are not known; of several equal ones, those that are too many."""
        for finding in findings:
            sitemap, about = self._key(finding)
            left = self._left.get((sitemap, finding.code), Counter[str]())
            kind = ANY if ANY in left else about
            known = min(left[kind], finding.times)
            if known:
                left[kind] -= known
            if known < finding.times:
                yield replace(finding, times=finding.times - known) if known else finding

    def gone(self, codes: Container[str], checked: Iterable[str]) -> int:
        """Return how many known findings were not found again, after all others have passed.

        Counts those of ``codes``, in sitemaps that were ``checked``: URLs, those of websites and
        folders with a slash at the end.
        """
        urls = list(checked)
        names = {_name(url, self._folder) for url in urls}
        roots = [url for url in urls if url.endswith("/")]
        folders = [folder for url in roots if (folder := path_of(url)) is not None]
        return sum(
            abouts.total()
            for (sitemap, code), abouts in self._left.items()
            if code in codes
            and (
                sitemap in names
                or sitemap.startswith(tuple(roots))
                or self._is_in(sitemap, folders)
            )
        )

    def _is_in(self, name: str, folders: Iterable[Path]) -> bool:
        """Return whether a local sitemap is, or was, in one of some folders."""
        if "://" in name:
            return False
        path = Path(os.path.normpath(self._folder / name))
        return any(path.is_relative_to(folder) for folder in folders)

    def _key(self, finding: Finding) -> tuple[str, str]:
        """Return the sitemap of a finding, and what it is about."""
        about = finding.page or _NUMBER.sub("#", finding.message)
        return _name(finding.sitemap, self._folder), about


@lru_cache(maxsize=8)  # findings come sitemap by sitemap
def _name(url: str, folder: Path) -> str:
    """Return the URL of a sitemap, or the path of a local one from a folder."""
    path = path_of(url)
    if path is None:
        return url
    try:
        name = Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return url
    return f"{name}/" if url.endswith("/") else name


def _entries(content: Any) -> Iterator[tuple[tuple[str, str], Counter[str]]]:
    if content["version"] != VERSION:
        raise ValueError("another version")
    for sitemap, rules in content["findings"].items():
        for code, abouts in rules.items():
            yield (sitemap, code), Counter({about: _count(abouts[about]) for about in abouts})


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("not a number of findings")
    return value
