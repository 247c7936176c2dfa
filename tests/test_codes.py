"""Whatever is wrong has a code: stable, documented, and what programs decide by."""

import ast
import errno
import json
import pickle
import re
from pathlib import Path

import usp
from together import together
from usp._base.reason import Reason
from usp.exceptions import LocalShortageError
from usp.limits import Limits
from usp.objects.failure_codes import _TEXTS
from usp.objects.problem import (
    MAX_PROBLEMS,
    Failure,
    FailureCode,
    Problem,
    ProblemCode,
    Problems,
    by_kind,
    how_many,
)
from usp.objects.sitemap import InvalidSitemap

ROOT = Path(usp.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
CODES = [*ProblemCode, *FailureCode]


# The codes ----------------------------------------------------------------------------------------


def test_a_code_is_a_short_word_of_its_own_with_an_explanation():
    assert {code.value for code in CODES} == _TEXTS.keys()
    assert len(_TEXTS) == len(CODES)
    for code in CODES:
        assert re.fullmatch(r"[a-z]+(-[a-z]+){0,4}", code.value), code
        assert code.name == code.value.upper().replace("-", "_")
        assert code.message, code
        assert not code.message.endswith("."), code
        assert code.meaning.endswith("."), code
        assert code.remedy.endswith((".", "….")), code
        assert code.example, code


@together("code", [ProblemCode.NO_LOC, FailureCode.NOT_FOUND])
def test_a_code_is_its_text_and_survives_pickles_and_json(code):
    assert code == code.value
    assert pickle.loads(pickle.dumps(code)) is code
    assert json.loads(json.dumps({"code": code})) == {"code": code.value}
    assert type(code)(code.value) is code


def test_every_limit_and_nothing_else_has_a_code_that_knows_its_name():
    assert {code.limit for code in FailureCode if not code.name.startswith("LIMIT_")} == {None}
    for name in Limits.__dataclass_fields__:
        reason = Limits().reached(name)
        assert reason.code.limit == name
        assert FailureCode.of_limit(name) is reason.code
        assert name in reason.code.message


def test_a_status_has_a_code():
    statuses = (304, 400, 401, 403, 404, 410, 429, 500, 599)
    assert [FailureCode.of_status(status).value for status in statuses] == [
        *("http-error", "http-error", "unauthorized", "blocked", "not-found", "not-found"),
        *("rate-limited", "server-error", "server-error"),
    ]


# Counting -----------------------------------------------------------------------------------------


def test_every_kind_keeps_its_count_its_first_line_and_an_example():
    problems = Problems()
    for line in range(1, 601):
        problems.add(ProblemCode.BAD_LASTMOD, line, f"day {line}")
    for line in range(601, 1201):
        problems.add(ProblemCode.NO_LOC, line, f"entry {line}", lost=1)
    listed = problems.listed()
    assert len(listed) <= MAX_PROBLEMS + len(CODES)
    assert how_many(listed) == 1200
    dates, locs = by_kind(listed)
    assert (dates.code, dates.times, dates.first.line) == (ProblemCode.BAD_LASTMOD, 600, 1)
    assert (locs.times, locs.lost, locs.first.line) == (600, 600, 601)
    assert (dates.first.excerpt, locs.first.excerpt) == ("day 1", "entry 601")


def test_problems_of_another_collector_are_counted_with_all_their_times():
    one, other = Problems(), Problems()
    for line in range(1000):
        one.add(ProblemCode.NO_LOC, line, lost=1)
    for _ in range(2):
        other.add_all(one.listed())
    (kind,) = by_kind(other.listed())
    assert (kind.times, kind.lost, kind.first.line) == (2000, 2000, 0)


def test_problems_are_of_one_kind_by_their_code_or_without_one_by_their_message():
    code = FailureCode.GZIP_BROKEN
    problems = [Problem(f"the compressed data is broken ({why})", code=code) for why in "ab"]
    assert [(kind.code, kind.times) for kind in by_kind(problems)] == [(code, 2)]
    assert [kind.times for kind in by_kind([Problem("a"), Problem("b"), Problem("a")])] == [2, 1]


def test_a_sitemap_made_by_hand_has_a_code_too():
    node = InvalidSitemap("http://h/", "my own words")
    assert node.failure == Failure("http://h/", "my own words")
    assert node.why.code is node.failure.code is FailureCode.OTHER_FAILURE


def test_one_that_leads_back_says_why_without_being_a_failure():
    loop = Reason(FailureCode.RECURSION, "it is one of the sitemaps above it", full="Recursion …")
    node = InvalidSitemap(
        "http://h/", str(loop), failure=Failure.of("http://h/", loop), missing=False
    )
    assert (node.failure, node.reason) == (None, "Recursion …")
    assert (node.why.code, node.why.brief) == ("recursion", "it is one of the sitemaps above it")


# Decisions ----------------------------------------------------------------------------------------

_WORDS = {"message", "reason", "brief", "refusal", "unfinished", "broken", "plain", "text"}
_SEARCHES = {"startswith", "endswith", "removeprefix", "partition", "find", "index", "split"}
_SEARCHES |= {"search", "match", "fullmatch"}

ALLOWED = {  # where words are compared, and why
    ("checks/finding.py", "finding.page in finding.message"): "a URL is not shown twice in a line",
    ("objects/sitemap.py", "self.reason == other.reason"): "equal nodes have equal reasons",
    ("web_client/abstract_client.py", "error.message().partition(' ')"): (
        "a client of a user tells the status in its message, as in ultimate-sitemap-parser 1.8.1"
    ),
}


def _is_words(node: ast.AST) -> bool:
    """Return whether an expression is what is told to people: ``x.message``, ``x.message()``."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Attribute) and node.attr in _WORDS - {"text"}


def _decisions(source: str):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            told = [one for one in (node.left, *node.comparators) if _is_words(one)]
            against = [one for one in (node.left, *node.comparators) if one not in told]
            absent = all(isinstance(one, ast.Constant) and one.value is None for one in against)
            if told and not (absent and against):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            searched = node.func.attr in _SEARCHES
            if searched and any(map(_is_words, (node.func.value, *node.args))):
                yield ast.unparse(node)


def test_nothing_decides_by_the_words_of_a_message():
    found = {
        (path.relative_to(ROOT).as_posix(), decision)
        for path in ROOT.rglob("*.py")
        for decision in _decisions(path.read_text(encoding="utf-8"))
    }
    assert found == set(ALLOWED)


@together(
    "source",
    [
        *("p.message.startswith('the transfer')", "look.refusal == CHALLENGE", "'x' in f.reason"),
        *("PATTERN.search(node.reason)", "broken in x.reason"),
    ],
)
def test_such_decisions_are_found(source):
    assert list(_decisions(source))


# What is said when this machine runs out of something -------------------------------------------------


@together("code, said", LocalShortageError.ADVICE.items())
def test_the_message_says_what_to_do_and_no_number(code, said):
    error = LocalShortageError(code)
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), one.strerror, one.errno) == (said, said, code)


def test_a_full_disk_is_not_said_to_be_that_of_temporary_files():
    for code in (errno.ENOSPC, errno.EDQUOT):
        said = LocalShortageError.ADVICE[code]
        assert said.index("disk") < said.index("temporary")
