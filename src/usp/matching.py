"""Pages ordered by how well they fit some words: those of their URL, title and keywords."""

from __future__ import annotations

import heapq
import math
import re
import unicodedata
from array import array
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from usp._base.urls import unquote
from usp.objects.sitemap import AbstractSitemap
from usp.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp.objects.page import PageBlock, SitemapPage

__all__ = ["Match", "best_pages"]

_ONE_BY_ONE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3"  # written without blanks
_WITH_MARKS = "\u0900-\u0963\u0966-\u109f\u1780-\u17d3"  # India to Cambodia: a vowel may be a mark
_WORD = re.compile(rf"[{_ONE_BY_ONE}]|(?:[^\W_{_ONE_BY_ONE}]|[{_WITH_MARKS}])+")
_RUN = re.compile(rf"[{_ONE_BY_ONE}]")
_RUNS = re.compile(rf"[{_ONE_BY_ONE}]+|(?:[^\W_{_ONE_BY_ONE}]|[{_WITH_MARKS}])+")
_WITHOUT_BLANKS = "\u0e00"  # from Thai on, a word may be inside another one
_EXTENSION = re.compile(r"\.[a-z]{2,5}\Z")
_MOST_WORDS = 16  # of a query
_MOST_TEXT = 2_000  # characters of a URL, or of a title with its keywords
_BEGINNING = 3  # characters of a word that are enough to find longer ones
_INFLECTED, _LIKE = 0.5, 0.4  # what a word counts in another form, and one that only begins alike
_QUESTIONS = """
    a about an and are at by can do does for from how i in is me my of on or that the this to we what
    when where which why with you your das dem den der die ein eine fur ich im ist kann mit und von
    was wie wo zu au aux comment de des du est et la le les ou pour que quel quelle sur un une como con
    cual del donde el en es las los para por y"""
_COMMON_WORDS = frozenset(_QUESTIONS.split())
_ENDINGS = {  # and how many letters they leave at least
    **dict.fromkeys(("s", "es", *"аеиоуыюя", "ия", "ии", "ой", "ов", "ей"), 3),
    **dict.fromkeys(("e", "is", "ing", "ed", "er", "en", "n"), 4),
}
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d"})
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})  # in URLs
_UMLAUT = re.compile(r"(?<=[aou])e")
_NAME, _TITLE, _KEYWORD, _FOLDER = 3, 3, 2, 1  # what a word counts, by where it stands
_K1, _B = 1.2, 0.5  # the constants of BM25: of words that are repeated, and of long texts


class Match(NamedTuple):
    """A page that fits, how well it does, and the URL of its sitemap if that is known."""

    score: float
    page: SitemapPage
    sitemap: str | None


class Weights(NamedTuple):
    """How often a page has each word of a query, and how many words it has."""

    counts: Sequence[float]
    length: int


def best_pages(
    pages: AbstractSitemap | Iterable[SitemapPage],
    words: str,
    *,
    limit: int = 100,
    selection: Selection | None = None,
    site: str | None = None,
) -> list[Match]:
    """Return the pages of a tree that fit some words best, the best one first.

    A page fits if its URL, its title, its keywords or its authors have any of the words, another form
    of it, such as a plural, or a longer one that begins with it and has three letters at least; upper
    case, accents, umlauts and percent-encoding do not matter. What is written without blanks is found
    by two characters at a time. The section of a page in an HTML sitemap is among its keywords. Rare
    words count more than frequent ones (BM25), and the last part of the path and the title more than
    folders. Words of every question, such as *how*, are not looked for among others. Pages that fit
    equally well stay in their order. ``selection`` chooses
    among the pages before, apart from its own ``limit``; ``site`` is as in :meth:`Selection.of`. The
    documents of a tree are read twice, and only what is returned is kept in memory.

    Raises ``ValueError`` if there is no word to look for.
    """
    ranking = Ranking(words)
    source = pages if isinstance(pages, AbstractSitemap) else list(pages)
    chosen = replace(selection or Selection(), limit=None)
    places: array[int] = array("Q")
    first = 0
    for _, block in chosen.blocks(source, site):
        found = ranking.weigh(block)
        places.extend(first + at for at in found)
        ranking.add(found.values())
        first += len(block.urls)
    scores = {places[at]: score for at, score in ranking.best(limit)}
    matches: dict[int, Match] = {}
    first = 0
    for sitemap, block in replace(chosen, on_undated=None).blocks(source, site) if scores else ():
        here = range(first, first + len(block.urls))
        if any(place in here for place in scores):
            numbered = zip(here, block.pages(), strict=True)
            matches |= {at: Match(scores[at], one, sitemap) for at, one in numbered if at in scores}
        first = here.stop
    return [matches[place] for place in scores if place in matches]


class Ranking:
    """Counts the words of a query in pages, and says which pages fit best.

    What is counted takes a few bytes for each page that has any of the words.
    """

    def __init__(self, words: str) -> None:
        self.terms = tuple(map(Term.of, _words_of_query(words)))
        if not self.terms:
            raise ValueError(f"no word to look for in {words[:80]!r}; use letters or digits")
        roots = chain.from_iterable(term.roots for term in self.terms)
        self.pattern = re.compile("|".join(map(re.escape, roots)))
        self._pages = 0
        self._lengths: array[int] = array("H")
        self._counts: list[array[float]] = [array("f") for _ in self.terms]

    def weigh(self, block: PageBlock) -> dict[int, Weights]:
        """Return the pages of a block that have any of the words, by their number in it."""
        self._pages += len(block.urls)
        urls = [_folded(unquote(url[:_MOST_TEXT]) if "%" in url else url) for url in block.urls]
        titles: Sequence[tuple[str, str]] = ()
        if block.texts() is None:  # otherwise pages have nothing but dates and the like
            titles = [_texts_of(page) for page in block.pages()]
        elif not self.pattern.search("\n".join(urls)):
            return {}
        weighed = (
            (at, self._weights(url, *(titles[at] if titles else ("", ""))))
            for at, url in enumerate(urls)
        )
        return {at: one for at, one in weighed if one is not None}

    def _weights(self, url: str, title: str, keywords: str) -> Weights | None:
        if not (
            self.pattern.search(url) or self.pattern.search(title) or self.pattern.search(keywords)
        ):
            return None
        address, _, query = url.partition("://")[2].partition("#")[0].partition("?")
        folders, _, name = address.rstrip("/").rpartition("/")
        if not folders:  # the homepage
            folders, name = name, ""
        texts = (
            (f"{folders} {query}", _FOLDER),
            (_EXTENSION.sub("", name), _NAME),
            (title, _TITLE),
            (keywords, _KEYWORD),
        )
        counts, length = [0.0] * len(self.terms), 0
        for text, weight in texts:
            there = _WORD.findall(text)
            length += len(there)
            for at, term in enumerate(self.terms):
                counts[at] += weight * term.count_in(text, there)
        return Weights(counts, length) if any(counts) else None

    def add(self, weights: Iterable[Weights]) -> None:
        """Take pages into the ranking."""
        for one in weights:
            self._lengths.append(one.length)
            for column, count in zip(self._counts, one.counts, strict=True):
                column.append(count)

    def best(self, limit: int | None = None) -> list[tuple[int, float]]:
        """Return which of the pages fit best, in the order in which they were taken, and how well."""
        number = len(self._lengths)
        usual = sum(self._lengths) / max(number, 1)
        scores = array("d", bytes(8 * number))
        for column in self._counts:
            have = sum(map(bool, column))
            rarity = math.log(1 + (self._pages - have + 0.5) / (have + 0.5))
            for at, count in enumerate(column):
                if count:
                    long = 1 - _B + _B * self._lengths[at] / usual
                    scores[at] += rarity * count * (_K1 + 1) / (count + _K1 * long)
        most = number if limit is None else limit
        return heapq.nlargest(most, enumerate(scores), key=lambda one: one[1])


class Term(NamedTuple):
    """A word of a query: how it may be spelled, and its stems; ``roots`` are how all of these begin."""

    spellings: frozenset[str]
    stems: frozenset[str]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, word: str) -> Term:
        """Return what to look for."""
        spellings = frozenset({_folded(word), _folded(word.translate(_SPELLED))})
        stems = frozenset(chain.from_iterable(map(_stems, {*spellings, _UMLAUT.sub("", word)})))
        roots = {one.removesuffix("y") if len(one) > _BEGINNING else one for one in stems}
        short = (one for one in roots if not any(map(one.startswith, roots - {one})))
        return cls(spellings, stems, tuple(short))

    def count_in(self, text: str, words: Sequence[str]) -> float:
        """Return how often a text has the word; its words are given."""
        if not any(root in text for root in self.roots):
            return 0.0
        if any(map(_RUN.match, self.spellings)):
            return sum(map(text.count, self.spellings))
        if any(word >= _WITHOUT_BLANKS for word in self.spellings):
            words = [one for one in words if any(root in one for root in self.roots)]
        else:
            words = [one for one in words if one.startswith(self.roots)]
        return sum(map(self._weight_of, words))

    def _weight_of(self, one: str) -> float:
        if one in self.spellings:
            return 1.0
        if not self.stems.isdisjoint(_stems(one)):
            return _INFLECTED
        return _LIKE if any(_is_in(one, word) for word in self.spellings) else 0.0


@lru_cache(maxsize=4096)
def _stems(word: str) -> frozenset[str]:
    found = {
        word.removesuffix(ending)
        for ending, least in _ENDINGS.items()
        if word.endswith(ending) and len(word) >= least + len(ending)
    }
    singular = {f"{word[:-3]}y"} if word.endswith("ies") else set()
    return frozenset({word, *found, *singular})


def _is_in(one: str, word: str) -> bool:
    if word >= _WITHOUT_BLANKS:
        return word in one
    return len(word) >= _BEGINNING and one.startswith(word)


def _texts_of(page: SitemapPage) -> tuple[str, str]:
    story = page.news_story
    if story is None:
        return "", ""
    more = (story.keywords, story.authors, story.genres, story.stock_tickers)
    keywords = " ".join(chain.from_iterable(more))[:_MOST_TEXT]
    return _folded(story.title[:_MOST_TEXT]), _folded(keywords)


def _folded(text: str) -> str:
    folded = text[:_MOST_TEXT].casefold()
    if folded.isascii():
        return folded
    parts = unicodedata.normalize("NFKD", folded)
    bare = "".join(char for char in parts if not unicodedata.combining(char)).translate(_LETTERS)
    return unicodedata.normalize("NFC", bare)  # Hangul


def _words_of_query(text: str) -> list[str]:
    """Return the words of a query, each once; each two characters of what is without blanks."""
    composed = unicodedata.normalize("NFKC", text[:_MOST_TEXT]).casefold()
    found: dict[str, None] = {}
    for run in _RUNS.findall(composed):
        parts = [run[at : at + 2] for at in range(len(run) - 1)] if _RUN.match(run) else []
        found.update(dict.fromkeys(parts or [run]))
    rare = [word for word in found if word not in _COMMON_WORDS]
    return (rare or list(found))[:_MOST_WORDS]
