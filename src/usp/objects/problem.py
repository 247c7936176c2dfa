"""What went wrong while a document was read, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.display import excerpt as cut
from usp._base.display import printable, shortened
from usp.objects.failure_codes import Code, FailureCode

if TYPE_CHECKING:
    from usp._base.reason import Advice, Reason

__all__ = ["Failure", "FailureCode", "Problem", "ProblemCode", "ProblemKind", "by_kind", "how_many"]


class ProblemCode(Code):
    """What is wrong at some place of a document; a code stays the same when its message changes."""

    # References and characters
    BARE_AMPERSAND = "bare-ampersand"
    BAD_ENTITY = "bad-entity"
    BAD_REFERENCE = "bad-reference"
    CONTROL_CHARACTER = "control-character"
    BAD_BYTES = "bad-bytes"
    GUESSED_ENCODING = "guessed-encoding"
    NUL_BYTES = "nul-bytes"
    TRAILING_DATA = "trailing-data"

    # Tags and nesting
    STRAY_LESS_THAN = "stray-less-than"
    UNCLOSED_QUOTE = "unclosed-quote"
    UNCLOSED_COMMENT = "unclosed-comment"
    UNCLOSED_CDATA = "unclosed-cdata"
    UNCLOSED_INSTRUCTION = "unclosed-instruction"
    UNCLOSED_ELEMENT = "unclosed-element"
    UNCLOSED_ENTRY = "unclosed-entry"
    STRAY_END_TAG = "stray-end-tag"
    BAD_END_TAG = "bad-end-tag"
    INNER_DECLARATION = "inner-declaration"
    TEXT_IN_ENTRY = "text-in-entry"
    TEXT_BETWEEN_ENTRIES = "text-between-entries"

    # The document
    TEXT_BEFORE_DOCUMENT = "text-before-document"
    DOCTYPE_IGNORED = "doctype-ignored"
    NO_ROOT = "no-root"
    MORE_AFTER_END = "more-after-end"
    SITEMAPS_IN_URLSET = "sitemaps-in-urlset"
    PAGES_IN_INDEX = "pages-in-index"
    UNKNOWN_ELEMENTS = "unknown-elements"
    LONG_FIELD = "long-field"
    TOO_MANY_FIELDS = "too-many-fields"
    LONG_BASE = "long-base"
    LONG_LINE = "long-line"
    BAD_JSON = "bad-json"
    MISSING_FEED_FIELD = "missing-feed-field"
    NO_TITLE = "no-title"

    # URLs
    NO_LOC = "no-loc"
    BAD_LOC = "bad-loc"
    SEVERAL_LOCS = "several-locs"
    LOC_OUTSIDE_ENTRY = "loc-outside-entry"
    ENTRY_IN_LOC = "entry-in-loc"
    MISPLACED_ADDRESS = "misplaced-address"
    NO_SCHEME = "no-scheme"
    NO_LINK = "no-link"
    BAD_LINK = "bad-link"
    BAD_LINE = "bad-line"
    CUT_LINE = "cut-line"
    BAD_SITEMAP_LINK = "bad-sitemap-link"

    # robots.txt
    SITEMAP_LINE_WITHOUT_URL = "sitemap-line-without-url"
    BAD_SITEMAP_LINE = "bad-sitemap-line"

    # Fields
    BAD_LASTMOD = "bad-lastmod"
    BAD_CHANGEFREQ = "bad-changefreq"
    BAD_PRIORITY = "bad-priority"
    BAD_FEED_DATE = "bad-feed-date"
    UNKNOWN_ZONE = "unknown-zone"
    BAD_EXTENSION_FIELD = "bad-extension-field"
    MISSING_EXTENSION_FIELD = "missing-extension-field"
    MISPLACED_EXTENSION_FIELD = "misplaced-extension-field"
    BAD_ALTERNATE = "bad-alternate"
    OTHER_PROBLEM = "other-problem"


AnyCode: TypeAlias = ProblemCode | FailureCode

# How many problems of one document are kept one by one; the rest are counted by their codes.
MAX_PROBLEMS = 200

_MAX_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was wrong with a document.

    ``code`` names the kind of problem for programs, ``message`` for people; ``excerpt`` quotes the
    document. ``lost`` is the number of entries (pages or child sitemaps) that it cost: 0 for damage
    that was repaired or that cost only a field. ``line`` counts from 1 and is None where a line has no
    meaning. ``times`` is more than 1 where problems of one kind were too many to be kept one by one.
    ``page`` is the URL of the page that it is about, and ``column`` where on the line it is, if known.
    A problem that kept the rest of a document from being read has the code of a failure.
    """

    message: str
    line: int | None = None
    excerpt: str | None = None
    lost: int = 0
    times: int = 1
    code: AnyCode = ProblemCode.OTHER_PROBLEM
    page: str | None = field(default=None, compare=False, repr=False)
    column: int | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Bound the texts, which a website may have chosen; the excerpt quotes it as it is."""
        object.__setattr__(self, "message", cut(self.message))
        if self.excerpt is not None:
            object.__setattr__(self, "excerpt", shortened(self.excerpt, _MAX_EXCERPT))

    def __str__(self) -> str:
        """Return the problem on one line, as a log or a terminal shows it."""
        more = "" if self.times == 1 else f"{self.times:,} more: "
        where = "" if self.line is None else f"line {self.line}: "
        what = "" if self.excerpt is None else f": {self.excerpt!r}"
        return f"{more}{where}{self.message}{what}"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """The problems of one kind: how many, the entries they cost, and the first of them."""

    code: AnyCode
    message: str
    times: int
    lost: int
    first: Problem


def by_kind(problems: Iterable[Problem]) -> list[ProblemKind]:
    """Return problems grouped by their codes, the most frequent first.

    Those that were created without a code are grouped by their messages.
    """
    kinds: dict[str, ProblemKind] = {}
    for problem in problems:
        key = kind_key(problem)
        kind = kinds.get(key) or ProblemKind(problem.code, problem.message, 0, 0, problem)
        kinds[key] = replace(kind, times=kind.times + problem.times, lost=kind.lost + problem.lost)
    return sorted(kinds.values(), key=lambda kind: -kind.times)


def kind_key(problem: Problem | ProblemKind) -> str:
    """Return what the problems of one kind share: their code, or the message of those without one."""
    by_hand = problem.code is ProblemCode.OTHER_PROBLEM
    return problem.message if by_hand else problem.code.value


def how_many(problems: Iterable[Problem]) -> int:
    """Return how many problems there are, including those that were not kept one by one."""
    return sum(problem.times for problem in problems)


@dataclass(frozen=True, slots=True)
class Failure:
    """A sitemap that is missing in the tree, or incomplete.

    ``code`` says why for programs, ``reason`` for people; ``brief`` is the reason without the URL, to
    be shown next to it. ``attempts`` is the number of requests, ``status`` the status of the response,
    if there was one. The ``advice`` is a part of both texts.
    """

    url: str
    reason: str
    attempts: int = 0
    status: int | None = None
    code: FailureCode = FailureCode.OTHER_FAILURE
    brief: str = field(default="", compare=False)
    advice: Advice | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Bound the texts, and make them safe to show: a server may have chosen them."""
        if not self.url.isprintable():
            object.__setattr__(self, "url", printable(self.url))
        reason = cut(self.reason)
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "brief", cut(self.brief) if self.brief else reason)

    @classmethod
    def of(cls, url: str, why: Reason, attempts: int = 0, status: int | None = None) -> Failure:
        """Create the failure of a sitemap from its reason."""
        return cls(url, str(why), attempts, status, why.code, why.text, why.advice)

    @property
    def plain(self) -> str:
        """The brief reason without its advice, for tables that are read later."""
        return self.brief if self.advice is None else self.advice.reworded(self.brief, "")


class Problems:
    """Collects the problems of one document, in bounded memory.

    The first of each kind is kept in full, and so are others while there are few; the rest are counted.
    ``unfinished`` is why the rest of the document was not read, if there was more of it.
    """

    __slots__ = ("_codes", "_kept", "_more", "unfinished")

    def __init__(self) -> None:
        self.unfinished: Reason | None = None
        self._kept: list[Problem] = []
        self._codes: set[AnyCode] = set()  # of those that are kept
        self._more: dict[AnyCode, tuple[int, int]] = {}  # how many more, and the entries they cost

    def add(
        self,
        code: ProblemCode,
        line: int | None = None,
        excerpt: str | None = None,
        lost: int = 0,
        **where: Any,
    ) -> None:
        """Note a problem; its excerpt is cut to a readable length. ``where`` is its page or column."""
        if not self._counted(code, lost):
            self._keep(Problem(code.message, line, excerpt, lost, code=code, **where))

    @property
    def kept(self) -> int:
        """How many are kept one by one."""
        return len(self._kept)

    def set_page(self, since: int, url: str) -> None:
        """Set the page of those that were kept since then: they are about its entry."""
        for at, problem in enumerate(self._kept[since:], since):
            self._kept[at] = replace(problem, page=problem.page or url)

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Note problems that another collector has listed."""
        for problem in problems:
            if not self._counted(problem.code, problem.lost, problem.times):
                self._keep(problem)

    def note(self, why: Reason, line: int | None = None, excerpt: str | None = None) -> None:
        """Note an entry that is lost because of a limit."""
        if not self._counted(why.code, 1):
            self._keep(Problem(why.text, line, excerpt, 1, code=why.code))

    def end(self, why: Reason, line: int | None = None, lost: int = 0) -> None:
        """Note what kept the rest of the document from being read; it is kept in any case."""
        self.unfinished = self.unfinished or why
        self._keep(Problem(why.text, line, lost=lost, code=why.code))

    def _keep(self, problem: Problem) -> None:
        self._kept.append(problem)
        self._codes.add(problem.code)

    def _counted(self, code: AnyCode, lost: int, times: int = 1) -> bool:
        """Count problems that need not be kept: one of their kind is, and there are many."""
        if code not in self._codes or (times == 1 and len(self._kept) < MAX_PROBLEMS):
            return False
        before, cost = self._more.get(code, (0, 0))
        self._more[code] = before + times, cost + lost
        return True

    def listed(self) -> list[Problem]:
        """Return all problems so far, by line; the last ones count those that were not kept."""
        if not self._kept:
            return []
        kept = sorted(self._kept, key=lambda problem: problem.line or 0)
        more = (
            Problem(code.message, lost=lost, times=times, code=code)
            for code, (times, lost) in self._more.items()
        )
        return [*kept, *more]
