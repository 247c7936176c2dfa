"""Links to other languages: what a code is, which pages are versions of each other, which link back.

The pages of one group usually all name the same versions, so they are gathered by these: a group whose
members have all been read is complete, and forgotten. What is left at the end is looked at link by
link. Groups that wait for their members are kept in memory while they are few, and then in a temporary
database.
"""

from __future__ import annotations

import marshal
import re
import tomllib
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import groupby, islice
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from usp._base.display import get_logger
from usp._base.seen_urls import SeenUrls, UrlFingerprints
from usp.checks.finding import Hit
from usp.checks.page_urls import normal_all

if TYPE_CHECKING:
    import sqlite3

    from usp.checks.page_columns import PageColumns

# Characters of groups that wait in memory; their pages are not counted, and take as much again.
MOST_CHARACTERS = 16 * 1024 * 1024

_LONGEST_LINE = 1 << 32  # a line and a column are kept as one number
_MOST_REPORTED = 10_000  # pages that call a version otherwise

_log = get_logger(__name__)
_TABLES = """
    PRAGMA journal_mode = OFF;
    PRAGMA cache_size = -16384;
    CREATE TABLE waiting (members BLOB, pages BLOB);
    CREATE TABLE links (page BLOB, link BLOB, sitemap INTEGER, place INTEGER, PRIMARY KEY (page, link))
        WITHOUT ROWID;
"""
_NOT_RETURNED = """
    SELECT page, link, sitemap, place FROM links AS one
    WHERE NOT EXISTS (SELECT 1 FROM links WHERE page = one.link AND link = one.page)
    ORDER BY sitemap, place, page, link
"""


class Version(NamedTuple):
    """A page with links to other languages: codes in lower case, URLs in their normal form."""

    at: int
    url: str
    codes: tuple[str, ...]
    links: tuple[str, ...]


def versions_of(
    alternates: Sequence[tuple[int, list[tuple[str, str]]]], urls: Sequence[str]
) -> Iterator[Version]:
    """Yield pages with their links; ``urls`` are those of the block, in their normal form."""
    hrefs = iter(normal_all([href for _, links in alternates for _, href in links]))
    lowered = {code: code.strip().lower() for _, links in alternates for code, _ in links}
    for at, links in alternates:
        codes = tuple([lowered[code] for code, _ in links])
        yield Version(at, urls[at], codes, tuple(islice(hrefs, len(links))))


class HreflangGroups:
    """The links between languages of all sitemaps.

    ``other_codes`` says where pages call a version otherwise than another page does: some of them.
    """

    def __init__(self) -> None:
        # Pages that name the same versions: these in one text, the pages with their sitemap and place.
        self._groups: dict[int, tuple[str, dict[str, tuple[int, int]]]] = {}
        # The codes of the versions of a group on its first page: a hash, and in one text.
        self._codes: dict[int, tuple[int, str]] = {}
        self.other_codes: list[Hit] = []
        self._size = 0
        self._cut: dict[int, str] = {}  # the last page of each sitemap that breaks off
        self._pages = SeenUrls()
        self._repeated = SeenUrls()  # pages that name versions twice: these may differ
        self._defaults = SeenUrls()  # links that are x-default and nothing else
        self._database: sqlite3.Connection | None = None
        self._is_full = False  # there was no room for all of them

    def add(self, block: PageColumns) -> None:
        """Add the links of the pages of a block."""
        if not (versions := block.versions):
            return
        places = block.examined.places
        urls = [version.url for version in versions]
        if block.sitemap.is_cut:
            self._cut[block.sitemap.number] = urls[-1]
        new = self._pages.add_all(urls)
        self._repeated.add_all([url for at, url in enumerate(urls) if new and not new[at]])
        sitemap, groups = block.sitemap.number, self._groups
        for version in versions:
            at, url, codes, links = version
            if DEFAULT in codes:
                others = {link for code, link in zip(codes, links, strict=True) if code != DEFAULT}
                self._defaults.add_all([link for link in links if link not in others])
            members = frozenset(links)
            key = hash(members)
            pairs = zip(codes, links, strict=True)
            named = hash(frozenset(pair for pair in pairs if pair[0] != DEFAULT))
            if key not in groups:
                ordered, names = sorted(members), _names(version)
                groups[key] = "\n".join(ordered), {}
                self._size += len(groups[key][0])
                self._codes[key] = named, "\n".join(names.get(link, DEFAULT) for link in ordered)
            elif self._codes[key][0] != named and len(self.other_codes) < _MOST_REPORTED:
                self.other_codes.append(self._other_code(block, version, key))
            joined, pages = groups[key]
            line, column = places[at] if places else (0, 0)
            pages.setdefault(url, (sitemap, line * _LONGEST_LINE + column))
            if url not in members:
                self._size += len(url)
            elif len(pages) == len(members) and members.issuperset(pages):
                del groups[key], self._codes[key]
                self._size -= len(joined)
        if self._size > MOST_CHARACTERS:
            self._spill()

    def _other_code(self, block: PageColumns, version: Version, key: int) -> Hit:
        """Return what a page calls otherwise than the first page of its group."""
        known = zip(self._groups[key][0].split("\n"), self._codes[key][1].split("\n"), strict=True)
        here = _names(version)
        link, there = next(one for one in known if here.get(one[0], DEFAULT) != one[1])
        said = f"{link} is {here.get(link, DEFAULT)!r} here, and {there!r} on another page"
        href = dict(block.alternates)[version.at][version.links.index(link)][1]
        return block.located(Hit(said, version.at, text=href), "link")

    def _spill(self) -> None:
        """Put all groups into the database."""
        import sqlite3  # noqa: PLC0415 - pages about rules need none

        if self._database is None:
            # A check on asyncio goes on in one thread after another.
            self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._database.close)
            self._database.executescript(_TABLES)
        groups = self._groups.values()
        rows = ((_encoded(members), marshal.dumps(pages)) for members, pages in groups)
        try:
            self._database.executemany("INSERT INTO waiting VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            _log.warning("Links between languages are not checked: no room for them: %s", error)
            self._is_full = True
        self._groups.clear()
        self._codes.clear()
        self._size = 0

    def missing_returns(
        self, listed: UrlFingerprints
    ) -> Iterator[tuple[str, str, int, tuple[int, int]]]:
        """Yield the links that are not returned by a page that is listed too, in the order of pages.

        A link is the page, its version, the number of the sitemap, and the line and the column of the
        page, 0 if they are not known. A page without links may be the x-default of others: where
        visitors choose their language.
        """
        if self._groups or self._database is not None:
            self._spill()
        database = self._database
        if database is None or self._is_full:
            return
        rows = database.execute("SELECT members, pages FROM waiting ORDER BY members")
        for joined, parts in groupby(rows, key=lambda row: row[0]):
            pages: dict[str, tuple[int, int]] = {}
            for _, part in parts:
                pages |= marshal.loads(part)  # noqa: S302 - written by this process
            members = set(_decoded(joined).split("\n"))
            database.executemany(
                "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)",
                (
                    (_encoded(url), _encoded(link), sitemap, place)
                    for url, (sitemap, place) in pages.items()
                    for link in members
                    if link != url and not (link in pages and url in members) and link in listed
                ),
            )
        cut = {*self._cut.values()}
        for page, link, sitemap, place in database.execute(_NOT_RETURNED):
            url, other = _decoded(page), _decoded(link)
            is_chooser = other in self._defaults and other not in self._pages
            is_cut = not {url, other}.isdisjoint(cut)
            if url not in self._repeated and not is_chooser and not is_cut:
                yield url, other, sitemap, divmod(place, _LONGEST_LINE)


def _names(version: Version) -> dict[str, str]:
    """Return what a page calls its versions, those that are only for all other languages left out."""
    names: dict[str, str] = {}
    for code, link in sorted({*zip(version.codes, version.links, strict=True)}):
        if code != DEFAULT:
            names[link] = f"{names[link]} {code}" if link in names else code
    return names


_encoded = methodcaller("encode", "utf-8", "surrogatepass")
_decoded = methodcaller("decode", "utf-8", "surrogatepass")


# Codes: a table in ``assets/language_codes.toml`` ----------------------------------------------------

_TABLE = (files("usp.checks") / "assets" / "language_codes.toml").read_text(encoding="utf-8")
_CODES = {name: text.split() for name, text in tomllib.loads(_TABLE).items()}
# The codes of three letters of languages that have one of two.
_SHORTER = {
    three: two
    for two, *longer in (one.split(":") for one in _CODES["languages"])
    for three in longer
}
_LANGUAGES = frozenset(_SHORTER.values())
_SCRIPTS, _VARIANTS = frozenset(_CODES["scripts"]), frozenset(_CODES["variants"])
# XK is not of ISO, but what everyone writes for Kosovo.
COUNTRIES = frozenset([*_CODES["regions"], "XK"])
_REGIONS = COUNTRIES.union(_CODES["areas"])

DEFAULT = "x-default"
_CODE = re.compile(
    r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))?",
    re.IGNORECASE,
)
_REGISTERED = frozenset([DEFAULT, *_CODES["registered"]])
_WITHDRAWN = frozenset({"iw", "in", "ji"})  # of Hebrew, Indonesian and Yiddish; still read
_PRIVATE = re.compile("q[a-t][a-z]|und|mul|mis|zxx")  # no language
_MEANT_LANGUAGES = {
    "jp": "ja", "cn": "zh", "kr": "ko", "gr": "el", "cz": "cs", "dk": "da", "ua": "uk",
    "gb": "en", "us": "en", "br": "pt-BR", "at": "de-AT", "mx": "es-MX",
}  # fmt: skip
_MEANT_REGIONS = {"UK": "GB", "EL": "GR", "SP": "ES", "EN": "GB", "JA": "JP"}


@lru_cache(maxsize=4096)
def wrong_with(code: str) -> str | None:
    """Return what is wrong with a code, or None: then it is one.

    It is a language of ISO 639 with two letters, or with three if it has no code of two; after it may
    be a script of ISO 15924, a country of ISO 3166-1 or a part of the world of UN M.49, and a variant,
    in this order; or it is ``x-default``, or a tag that was registered before these rules. The case of
    letters does not matter. There are thousands of languages with three letters: no such code is taken
    for wrong.
    """
    code = code.strip()
    found, is_registered = _CODE.fullmatch(code), code.lower() in _REGISTERED
    if found is None or is_registered:
        return None if is_registered else f"{code!r} is not a valid code{_instead(code)}"
    language, script, region, variant = found.groups()
    short = language.lower()
    is_two = len(short) == 2  # noqa: PLR2004 - letters
    is_known = short in _LANGUAGES or short in _WITHDRAWN
    if not is_known if is_two else short in _SHORTER or _PRIVATE.fullmatch(short):
        meant = (_MEANT_LANGUAGES | _SHORTER).get(short)
        where = "" if language == code else f" in {code!r}"
        return f"{language!r}{where} is not a language code{_did_you_mean(meant)}"
    if script and script.title() not in _SCRIPTS:
        return f"{script!r} in {code!r} is not a script code"
    if variant and variant.lower() not in _VARIANTS:
        return f"{variant!r} in {code!r} is not a variant of a language"
    if region and region.upper() not in _REGIONS:
        meant = _MEANT_REGIONS.get(region.upper())
        return f"{region!r} in {code!r} is not a country code{_did_you_mean(meant)}"
    return None


def _instead(code: str) -> str:
    """Return what is meant by a code that is written with underscores."""
    language, *more = code.replace("_", "-").split("-")
    language = _MEANT_LANGUAGES.get(language.lower(), language)
    other = "-".join([language, *(_MEANT_REGIONS.get(part.upper(), part) for part in more)])
    return _did_you_mean(other if "_" in code and wrong_with(other) is None else None)


def _did_you_mean(other: str | None) -> str:
    return "" if other is None else f"; did you mean {other!r}?"
