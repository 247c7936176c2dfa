"""The findings that are known before any rule is asked: what failed, and what is wrong in documents.

Every part of the package that shows failures and problems shows these; the check yields them among
those of its rules. Rules are loaded only for the few that have a page of their own.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from usp._base.urls import unquote
from usp.checks.finding import Finding, Severity
from usp.checks.page_urls import normal_url
from usp.limits import PROTOCOL_BYTES
from usp.objects.problem import FailureCode, Problem, ProblemCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    has_page_list,
    kind_of,
    stored_of,
    websites_in,
)

if TYPE_CHECKING:
    from usp._formats.abstract_parser import ChildEntry, Place
    from usp.objects.failure_codes import Code
    from usp.objects.problem import Failure

# Rules with pages of their own for failures that need other advice:
ROBOTS_REFUSED, ROBOTS_UNREACHABLE = "SM101", "SM102"
SOFT_404, MISSING_FILE = "SM112", "SM114"

CODES: Mapping[str, Code] = {code.rule: code for code in (*FailureCode, *ProblemCode)}
"""The codes of failures and problems, by those of their rules."""

FAILURES = frozenset(
    {code.rule for code in FailureCode}
    | {ROBOTS_REFUSED, ROBOTS_UNREACHABLE, SOFT_404, MISSING_FILE}
)
"""The rules that say that a document is missing or incomplete."""

_UNAVAILABLE = frozenset(range(400, 500)) - {429}  # robots crawl as if there were no robots.txt
_SUCCESS = range(200, 300)
# What else is wrong with such documents does not matter, or follows from that.
_BROKEN = frozenset(
    {FailureCode.HTML_PAGE, FailureCode.BOT_CHALLENGE, FailureCode.NOT_A_SITEMAP}
    | {FailureCode.GZIP_BROKEN}
)
# What follows if the root is a <sitemap> with pages.
_WRONG_ROOT = frozenset({ProblemCode.NO_ROOT, ProblemCode.PAGES_IN_INDEX})
_OF_WRONG_ROOT = frozenset(
    {ProblemCode.UNCLOSED_ENTRY, ProblemCode.STRAY_END_TAG, ProblemCode.NO_LOC}
    | {ProblemCode.PAGES_IN_INDEX}
)
# What is left of an entry, or of a tag, where a document breaks off.
_OF_CUT = frozenset(
    {
        *(ProblemCode.STRAY_LESS_THAN, ProblemCode.TEXT_BETWEEN_ENTRIES, ProblemCode.NO_LOC),
        *(ProblemCode.UNCLOSED_CDATA, ProblemCode.UNCLOSED_COMMENT, ProblemCode.UNCLOSED_QUOTE),
        *(ProblemCode.MISSING_EXTENSION_FIELD, ProblemCode.UNCLOSED_INSTRUCTION),
    }
)
# With the wrong name of an element, such as <Loc>, that all entries have.
_OF_NAMES = frozenset({ProblemCode.NO_LOC, ProblemCode.LOC_OUTSIDE_ENTRY})
_OF_LINES = frozenset({"robots", "text"})  # kinds of documents whose problems are whole lines
# Failures whose reasons are in the words of logs.
_FOR_LOGS = (FailureCode.FORBIDDEN_DOCTYPE, FailureCode.NOT_FETCHED)


MAX_READ = 2 * 1024 * 1024
"""Bytes of all documents of a tree up to which they are read for what is wrong inside, unasked."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where a sitemap is declared: in which document, and where in it if that is known.

    ``shown`` is that document as messages name it; empty if there is none, as for known paths.
    """

    url: str = ""
    place: Place = (None, None)
    shown: str = ""

    @classmethod
    def of(
        cls, parent: AbstractSitemap, entry: ChildEntry | None, root: AbstractSitemap
    ) -> Declaration:
        """Return the declaration in a parent; local files are named as seen from the folder."""
        url, folder = parent.url, f"{root.url.rpartition('/')[0]}/"
        if isinstance(parent, IndexWebsiteSitemap):
            return cls(url)
        is_inside = url.startswith(folder) and url.startswith("file:")
        shown = unquote(url.removeprefix(folder)) if is_inside else url
        return cls(url, entry.place if entry else (None, None), shown)

    def __str__(self) -> str:
        """Return it as the end of a message."""
        line = "" if self.place[0] is None else f", line {self.place[0]}"
        return f" (declared in {self.shown}{line})" if self.shown else ""


NOWHERE = Declaration()


def known_findings(tree: AbstractSitemap) -> Iterator[Finding]:
    """Yield what failed in a tree, and what is wrong inside documents; no document is read for that.

    So what is wrong inside page sitemaps is left out, and so are the lines where sitemaps are declared.
    """
    in_folder = is_folder(tree)
    seen: set[int | str] = set()
    waiting: list[tuple[AbstractSitemap, Declaration]] = [(tree, NOWHERE)]
    while waiting:
        node, declared = waiting.pop()
        if is_new(node, seen):
            yield from findings_at(node, known_problems(node), declared, in_folder=in_folder)
        here = Declaration.of(node, None, tree)
        waiting.extend((child, here) for child in reversed(node.sub_sitemaps))
    yield from missing_findings(tree)


_LEAST = 1024  # bytes: rules take as long for a document that is shorter


def is_quickly_read(nodes: Iterable[AbstractSitemap]) -> bool:
    """Return whether documents are so small that what is wrong inside is known at once."""
    total, counted = 0, set()
    for node in nodes:
        stored = stored_of(node)
        document = stored and id(stored.document)
        total += max(node.size or 0, _LEAST)
        if node.size is not None:
            counted.add(document)  # an index that lists pages, too, has another node for them
        elif isinstance(node, AbstractPagesSitemap) and not (
            has_page_list(node) or document in counted
        ):
            return False
    return total <= MAX_READ


def known_problems(node: AbstractSitemap) -> Sequence[Problem]:
    """Return what is known to be wrong inside a document; of page sitemaps nothing."""
    return () if isinstance(node, AbstractPagesSitemap) else node.problems


def failure_codes(tree: AbstractSitemap) -> dict[str, str]:
    """Return the rules that say why documents of a tree are missing or incomplete, by their URLs."""
    found, in_folder = [*missing_findings(tree)], is_folder(tree)
    for node in (tree, *tree.all_sitemaps()):
        found += findings_at(node, known_problems(node), in_folder=in_folder)
    return {one.sitemap: one.code for one in reversed(found) if one.code in FAILURES}


def is_folder(tree: AbstractSitemap) -> bool:
    """Return whether a tree was read from the files in a folder."""
    return isinstance(tree, IndexWebsiteSitemap) and tree.url.startswith("file:")


def is_new(node: AbstractSitemap, seen: set[int | str]) -> bool:
    """Return whether the document of a node was not seen; it may be there twice, after a redirect."""
    stored = stored_of(node)
    keys = () if stored is None else (id(stored.document), normal_url(node.url))
    is_known = not seen.isdisjoint(keys)
    seen.update(keys)
    return not is_known


def findings_at(
    node: AbstractSitemap,
    problems: Sequence[Problem],
    declared: Declaration = NOWHERE,
    *,
    in_folder: bool = False,
) -> Iterator[Finding]:
    """Yield why a node is missing or incomplete, and its problems."""
    failure = node.why if isinstance(node, InvalidSitemap) else node.failure
    if failure is not None:
        yield _failed(node, failure, problems, declared, in_folder=in_folder)
        if is_broken(failure):
            return
    if {problem.code for problem in problems} >= _WRONG_ROOT:
        problems = [problem for problem in problems if problem.code not in _OF_WRONG_ROOT]
    for problem in _once(problems if failure is None else _without_cut_end(problems)):
        if failure is not None and problem.code in (failure.code, FailureCode.TRUNCATED):
            continue  # what was not received whole breaks off, too
        quoted = "" if problem.excerpt is None else f": {problem.excerpt!r}"
        column = problem.column or (1 if problem.line and kind_of(node).name in _OF_LINES else None)
        place = problem.line, column
        if problem.code is ProblemCode.BAD_BYTES and (stored := stored_of(node)):
            text = stored.text(PROTOCOL_BYTES)
            place = place_at(text, text.find("\ufffd"))
        message = f"{problem.message}{quoted}"
        found = _finding(problem.code.rule, message, node.url, place)
        yield replace(found, page=problem.page, times=problem.times, lost=problem.lost)


def _once(problems: Sequence[Problem]) -> Iterable[Problem]:
    """Return problems; those that a wrong name gives in each entry are one: the first."""
    found: dict[object, Problem] = {}
    for number, one in enumerate(problems):
        is_more = one.times > 1  # of those that were not kept one by one
        key = one.code if one.code in _OF_NAMES and (one.excerpt or is_more) else number
        if before := found.get(key):
            times, lost = before.times + one.times, before.lost + one.lost
            found[key] = replace(before, times=times, lost=lost)
        else:
            found[key] = one
    return found.values()


def place_at(text: str, at: int) -> Place:
    """Return the line and the column of a position in a text; -1 is none."""
    before = text[: max(at, 0)]
    return (None, None) if at < 0 else (before.count("\n") + 1, at - before.rfind("\n"))


def _without_cut_end(problems: Sequence[Problem]) -> Sequence[Problem]:
    """Return problems without those of what is left of the last entry of a document that breaks off."""
    cut = next((one.line for one in problems if one.code is FailureCode.TRUNCATED), None)
    last = {
        one.code: one for one in problems if one.code in _OF_CUT and (one.line or 0) >= (cut or 0)
    }
    return [one for one in problems if cut is None or last.get(one.code) is not one]


def is_broken(failure: Failure | None) -> bool:
    """Return whether all else that is found in a document follows from its failure."""
    return failure is not None and failure.code in _BROKEN


def _failed(
    node: AbstractSitemap,
    failure: Failure,
    problems: Sequence[Problem],
    declared: Declaration,
    *,
    in_folder: bool,
) -> Finding:
    exchange = node.exchange
    if in_folder and failure.code is FailureCode.NOT_FETCHED:
        message = f"there is no file for {node.url}"
        return _finding(MISSING_FILE, message, declared.url or node.url, declared.place)
    status = None if exchange is None else exchange.status
    is_page = isinstance(node, InvalidSitemap) and failure.code is FailureCode.HTML_PAGE
    if exchange and status in _SUCCESS and is_page:  # not one that is kept as it was
        where = f" after a redirect to {exchange.final_url}" if exchange.redirects else ""
        what = f"a web page with status {status}{where} instead of a sitemap"
        return _finding(SOFT_404, f"{what}{declared}", exchange.url)
    places = ((one.line, one.column) for one in problems if one.code is failure.code and one.line)
    said = failure.code.message if failure.code in _FOR_LOGS else failure.plain
    place: Place = next(places, (None, None))
    return _finding(failure.code.rule, f"{said}{declared}", node.url, place)


def missing_findings(tree: AbstractSitemap) -> Iterator[Finding]:
    """Yield what was looked for and could not be fetched, and so is not in the tree.

    A robots.txt that is refused is as good as none if there are sitemaps all the same.
    """
    reported = {url for node in (tree, *tree.all_sitemaps()) for url in (node.url, requested(node))}
    for website in websites_in(tree):
        yield from _missing_of(website, reported)


def _missing_of(tree: AbstractSitemap, reported: Container[str | None]) -> Iterator[Finding]:
    for failure in tree.not_found if isinstance(tree, IndexWebsiteSitemap) else ():
        url, code, said = failure.url, failure.code.rule, failure.plain
        if url != f"{tree.url}robots.txt":
            if url in reported:
                continue  # what is declared and looked for is one finding
        elif failure.status not in _UNAVAILABLE:
            code, said = ROBOTS_UNREACHABLE, f"robots.txt could not be fetched: {said}"
        elif tree.sub_sitemaps:
            code, said = ROBOTS_REFUSED, f"the server refuses robots.txt (status {failure.status})"
        yield _finding(code, said, url)


def _finding(code: str, message: str, url: str, place: Place = (None, None)) -> Finding:
    """Return what was found in the document at a URL, with the name and the hint of its rule."""
    known = CODES.get(code)
    if known is not None:
        rule = known.value, Severity(known.severity)
        return Finding(code, *rule, message, url, None, *place, known.hint)
    from usp.checks.rules import RULES  # noqa: PLC0415 - most codes need no rules

    declared = RULES[code]
    rule = declared.name, declared.severity
    return Finding(code, *rule, message, url, None, *place, declared.hint)


def requested(node: AbstractSitemap) -> str:
    """Return the URL that a document was requested at, before redirects."""
    return node.url if node.exchange is None else node.exchange.url


def with_known(node: AbstractSitemap, problems: Sequence[Problem], first: Place) -> list[Problem]:
    """Return the problems of an index with those that its document alone does not show.

    ``first`` is where its first page is.
    """
    known = {problem.code for problem in problems}
    if ProblemCode.SITEMAPS_IN_URLSET in known:
        known.add(ProblemCode.PAGES_IN_INDEX)  # the same from the other side
    line, column = first
    more = (
        replace(one, line=line, column=column) for one in node.problems if one.code not in known
    )
    return [*problems, *more]
