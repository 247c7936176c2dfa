"""One fault at a time: the rest of the website is found, and the fault is named."""

import pytest
from fault_cases import BAD, CASES, GOOD, site
from fault_fronts import crawl

from website import nobody

STREAMED = {
    *("reset at every try", "a body reset in the middle", "a body that falls silent"),
    *("a body shorter than announced, once", "bodies of several lengths: the longest counts"),
    *("a body that drips without end", "chunks that go on for ever", "an endless body"),
    *("gzip that breaks off", "gzip with a wrong checksum", "a small bomb"),
    *("a document that ends in the middle", "an index that lists itself"),
    "429 that asks for a year",
}


def test_cases_have_names_of_their_own():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert set(names) >= STREAMED


@pytest.fixture(scope="module", autouse=True)
def _closed():
    yield
    site().close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_costs_only_what_it_hits_and_is_named(case):
    streams = ("stream", "aio stream") if case.name in STREAMED else ()
    for front in ("tree", "aio tree", *streams):
        with nobody() as refusing:
            where = refusing if case.name == "connection refused" else site().base
            site().answers = case.answers(f"{where}/bad.xml")
            site().requests.clear()
            options = {"limits": case.limits, "timeout": (1.0, 0.5), "use_known_paths": False}
            outcome = crawl(front, site().base + "/", **options)
        check_pages(case, [url.removeprefix(site().base) for url in outcome.pages])
        if outcome.tree is not None:
            check_failures(case, outcome.failures)
            check_problems(case, outcome.tree)


def check_pages(case, pages):
    assert [path for path in pages if path in GOOD] == GOOD
    bad = [path for path in pages if path not in GOOD]
    assert bad == BAD[: len(bad) if case.found is None else case.found]


def check_failures(case, failures):
    if case.failure is None:
        assert failures == {}
        return
    ((url, reason),) = failures.items()
    assert url.endswith("/bad.xml")
    assert case.failure.lower() in reason.lower()
    assert reason.isprintable()


def check_problems(case, tree):
    if case.problem is not None:
        problems = [problem for node in tree.all_sitemaps() for problem in node.problems]
        assert any(case.problem in problem.message for problem in problems)
        assert len(problems) < 1000
