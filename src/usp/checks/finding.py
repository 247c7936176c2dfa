"""What a check finds: findings with their severity and their place, and those that are known."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.request import url2pathname

from usp._base.display import excerpt as cut
from usp._base.files import replacing
from usp._base.urls import urlsplit
from usp.objects.problem import FailureCode, ProblemCode

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Place


class Severity(StrEnum):
    """How bad something is."""

    ERROR = "error"
    """Search engines ignore what is wrong, or more than that: pages are lost."""

    WARNING = "warning"
    """Against the rules, or against the website's own interest; search engines cope."""

    INFO = "info"
    """Worth knowing; often intended."""

    @property
    def rank(self) -> int:
        """0 for errors, more for what is less severe."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``code`` and ``name`` are those of the rule, such as ``SM401`` and ``relative-url``. ``sitemap`` is
    the URL of the document (a robots.txt too), ``page`` that of the page, if it is about one. ``line``
    and ``column`` count from 1 and are None where they are not known. ``hint`` says what to do.
    ``times`` is more than 1 where findings of one kind were too many to be kept one by one. ``lost`` is
    how many entries of the document it cost, as far as that is known.
    """

    code: str
    name: str
    severity: Severity
    message: str
    sitemap: str
    page: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str = ""
    times: int = 1
    lost: int = 0

    def __post_init__(self) -> None:
        """Bound the length of the message: it may quote what a website has sent."""
        object.__setattr__(self, "message", cut(self.message))

    def to_dict(self) -> dict[str, object]:
        """Return the finding as a dictionary of plain values, with the URL of its rule's page."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return values | {"severity": self.severity.value, "help": rule_url(self.code, self.name)}


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule yields; the rest of a finding is known to the check.

    ``at`` is the number of the page in its block; also, that of a story, link, image or video of it.
    Rules about sitemaps may give a ``place``, and a ``page``; rules about the website the URL of the
    ``sitemap``. What is about a page is at an ``element`` of its entry, usually the one that all rules
    of a kind are about; of several, at the one with a ``text``.
    """

    message: str
    at: int | tuple[int, int] | None = None
    page: str | None = None
    place: Place = (None, None)
    sitemap: str | None = None
    element: str = ""
    text: str = ""


_BY_READING = frozenset(code.rule for code in (*FailureCode, *ProblemCode))


@cache
def docs_url() -> str:
    """Return where the documentation is on the web, with a slash at the end; empty if nobody says so.

    ``USP_DOCS_URL`` says it, or the package: as its documentation, or by the repository on GitHub from
    which it was installed, whose pages these are.
    """
    given = os.environ.get("USP_DOCS_URL", "")
    if not given:
        with suppress(PackageNotFoundError, ValueError):
            package = distribution("usp")
            urls = (one.split(", ", 1) for one in package.metadata.get_all("Project-URL") or ())
            given = next((url for label, url in urls if label == "Documentation"), "")
            source = json.loads(package.read_text("direct_url.json") or "{}").get("url", "")
            if not given and (found := _GITHUB.fullmatch(source)):
                given = f"https://{found[1].lower()}.github.io/{found[2]}"
    return f"{given.rstrip('/')}/" if given.startswith(("https://", "http://")) else ""


_GITHUB = re.compile(r"https://github\.com/([\w-]+)/([\w.-]+?)(?:\.git)?/?")


def rule_url(code: str, name: str) -> str | None:
    """Return the URL of a rule's own page; None if it is not known where the documentation is."""
    page = f"problems.html#{name}" if code in _BY_READING else ""
    page = page or f"rules/{code[:3].lower()}.html#{code.lower()}-{name}"
    return f"{docs_url()}reference/{page}" if docs_url() else None


def path_of(url: str) -> Path | None:
    """Return the path of a local file or folder; None for any other URL."""
    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None


def line_col(finding: Finding) -> str:
    """Return line and column as ``12:5``, as far as they are known."""
    if finding.line is None:
        return ""
    return f"{finding.line}" if finding.column is None else f"{finding.line}:{finding.column}"


def message_of(finding: Finding) -> str:
    """Return the message of a finding, with its page unless that is quoted already."""
    if finding.page is None or finding.page in finding.message:
        return finding.message
    return f"{finding.message}: {finding.page}"


_NUMBER = re.compile(r"[0-9][0-9.,:]*")


def subject_of(finding: Finding) -> str:
    """Return what a finding is about: it stays the same when the document grows."""
    return finding.page or _NUMBER.sub("#", finding.message)


_SHAPES = ("misnamed", "indented", "wrapped", "unnamed", "words", "several", "tail", "repaired")
ALIASES = {
    **dict.fromkeys(("SM507", "SM508"), "SM506"),
    **dict.fromkeys(("same-changefreq", "same-priority", "default-priority"), "SM506"),
    **{f"SM{number}": "SM156" for number in range(157, 164)},
    **{f"sitemap-line-{shape}": "SM156" for shape in _SHAPES},
}
"""Codes and names of rules that are part of another one now: of that, the code."""


# The baseline ---------------------------------------------------------------------------------------
# A finding is known by its rule, its sitemap and its page, or by its message if it is about no page;
# not by its line, nor by the numbers in its message. So it stays known when the document grows.

VERSION = 1
ANY = "*"  # in place of a page: so many findings of that rule, whatever they are about
MOST_PAGES = 1000  # how many findings of a rule in a sitemap are kept one by one

# By sitemap and code: what about, how often.
_Known: TypeAlias = dict[tuple[str, str], Counter[str]]


class Baseline:
    """Findings that are known.

    ``folder`` is that of its file: the names of local sitemaps are relative to it, so that the file
    means the same on another machine. ``left_out`` is how many findings :meth:`new` has left out.
    """

    def __init__(self, folder: Path, known: _Known | None = None) -> None:
        self._folder = folder.resolve()
        self._known: _Known = known or {}  # without those that were left out
        self.left_out = 0

    @classmethod
    def of(cls, findings: Iterable[Finding], folder: str | os.PathLike[str]) -> Baseline:
        """Return a baseline of all these findings."""
        baseline = cls(Path(folder))
        for finding in findings:
            sitemap, kind = baseline._key(finding)
            abouts = baseline._known.setdefault((sitemap, finding.code), Counter())
            is_full = len(abouts) >= MOST_PAGES and kind not in abouts
            abouts[ANY if is_full or ANY in abouts else kind] += finding.times
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
        known: _Known = {}
        try:
            read = json.loads(content)
            is_right = read["version"] == VERSION
            for sitemap, rules in read["findings"].items():
                for code, abouts in rules.items():
                    is_right &= all(type(count) is int and count >= 0 for count in abouts.values())
                    known.setdefault((sitemap, ALIASES.get(code, code)), Counter()).update(abouts)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            is_right = False
        if not is_right:
            reason = "is not a baseline of usp check, as --write-baseline writes it"
            raise ValueError(f"{os.fspath(path)!r} {reason}")
        return cls(Path(path).parent, known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a file in the folder: JSON, in a stable order, an entry per line."""
        content: dict[str, dict[str, dict[str, int]]] = {}
        for (sitemap, code), abouts in sorted(self._known.items()):
            content.setdefault(sitemap, {})[code] = dict(sorted(abouts.items()))
        text = json.dumps({"version": VERSION, "findings": content}, indent=2, ensure_ascii=False)
        with replacing(path) as file:
            file.write(f"{text}\n".encode(errors="backslashreplace"))

    def follow(self, roots: Iterable[str]) -> None:
        """Take folders that are checked, of which nothing is known, for known ones with other names.

        A known folder that does not exist any more was renamed if its files are in the other one. Of a
        file that is checked, it is the folder that counts.
        """
        given = (path if path.is_dir() else path.parent for path in map(path_of, roots) if path)
        for path in dict.fromkeys(given):
            name = _name(f"{path.as_uri()}/", self._folder).removeprefix("./")
            names = {known for known, _ in self._known if "://" not in known}
            if any(known.startswith(name) and (self._folder / known).is_file() for known in names):
                continue
            found = Counter(
                known[: at + 1]
                for known in names
                for at, letter in enumerate(f"/{known}", -1)
                if letter == "/" and (path / known[at + 1 :]).is_file()
                if known[: at + 1] and not (self._folder / known[: at + 1]).is_dir()
            )
            if found:
                was = found.most_common(1)[0][0]
                self._known = {
                    (name + at.removeprefix(was) if at.startswith(was) else at, code): abouts
                    for (at, code), abouts in self._known.items()
                }

    def __len__(self) -> int:
        """Return how many findings are known."""
        return self.left_out + sum(abouts.total() for abouts in self._known.values())

    def new(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings that are not known; of several equal ones, those that are too many."""
        for finding in findings:
            sitemap, kind = self._key(finding)
            left = self._known.get((sitemap, finding.code), Counter[str]())
            kind = ANY if ANY in left else kind
            known = min(left[kind], finding.times)
            if known:
                left[kind] -= known
                self.left_out += known
            if known < finding.times:
                yield replace(finding, times=finding.times - known) if known else finding

    def gone(self, codes: Container[str], checked: Iterable[str]) -> int:
        """Return how many known findings were not found again, after all others have passed.

        Counts those of ``codes``, in sitemaps that were ``checked``: URLs, those of websites and
        folders with a slash at the end.
        """
        names = {_name(url, self._folder) for url in checked}
        roots = tuple(self._whole(name) for name in names if name.endswith("/"))
        return sum(
            abouts.total()
            for (sitemap, code), abouts in self._known.items()
            if code in codes and (sitemap in names or self._whole(sitemap).startswith(roots))
        )

    def _whole(self, name: str) -> str:
        """Return a URL as it is, and the whole path of a local sitemap or folder."""
        path = os.path.normpath(self._folder / name).rstrip(os.sep) + os.sep
        return name if "://" in name else path

    def _key(self, finding: Finding) -> tuple[str, str]:
        """Return the sitemap of a finding, and what it is about."""
        return _name(finding.sitemap, self._folder), subject_of(finding)


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
