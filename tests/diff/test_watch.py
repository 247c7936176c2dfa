"""A watch gives new and changed pages once each, whatever fails, stops or crashes in between."""

import asyncio
import threading
import time
from contextlib import aclosing, closing
from unittest.mock import Mock

import pytest

import usp
from usp import aio
from usp._snapshot import recording
from usp.changes import watching
from website import Answer, Site, index, robots, urlset

QUICK = 0.001


@pytest.fixture
def site():
    answers = {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/a.xml", "/b.xml"),
        "/a.xml": urlset("/1"),
        "/b.xml": urlset("/2"),
    }
    with Site(answers) as site:
        yield site


@pytest.fixture
def path(tmp_path):
    return tmp_path / "site.warc.gz"


def rounds(site, path, **how):
    return usp.watch(f"{site.base}/", path, every=QUICK, use_known_paths=False, **how)


def said(current) -> list[tuple[str, str]]:
    return [(change.kind.value, change.url.rpartition("/")[2]) for change in current]


def test_new_and_changed_pages_come_once_each(site, path):
    changed = "<url><loc>{base}/1</loc><lastmod>2025-01-01</lastmod></url>"
    with closing(rounds(site, path)) as watch:
        first = next(watch)
        assert (first.first, said(first)) == (True, [])
        assert said(next(watch)) == []
        site.answers["/a.xml"] = urlset("/1", "/3")
        assert said(next(watch)) == [("added", "3")]
        assert said(next(watch)) == []
        site.answers["/a.xml"] = urlset(changed, "/3")
        (change,) = next(watch)
        assert [(field.name, field.before) for field in change.fields] == [("lastmod", None)]
        assert said(next(watch)) == []


def test_removed_pages_come_once_and_never_because_of_a_failure(site, path):
    good = site.answers["/b.xml"]
    with closing(rounds(site, path, existing=True)) as watch:
        first = next(watch)
        assert (said(first), list(first.removed())) == ([("added", "1"), ("added", "2")], [])
        site.answers["/b.xml"] = Answer(status=500)
        assert list(next(watch).removed()) == []
        site.answers["/b.xml"] = good
        site.answers["/a.xml"] = urlset("/3")
        current = next(watch)
        assert (said(current), said(current.removed())) == ([("added", "3")], [("removed", "1")])
        assert list(next(watch).removed()) == []


def test_a_host_that_is_down_is_reported_and_asked_again(site, path):
    base = site.base
    with closing(rounds(site, path)) as watch:
        next(watch)
        site.close()
        assert [said(next(watch)) for _ in range(2)] == [[], []]
    assert usp.load(path, last_good=True).page_count() == 2
    gone = path.with_name("other.warc.gz")
    with closing(usp.watch(f"{base}/", gone, every=QUICK)) as watch:
        assert next(watch).error is not None
        assert next(watch).number == 2
    assert not gone.exists()


def test_what_was_not_dealt_with_comes_again(site, path):
    """The process may end anywhere until the next round is asked for; so may the caller."""
    assert len(list(rounds(site, path, rounds=1))) == 1
    site.answers["/a.xml"] = urlset("/1", "/3")
    for _ in range(2):
        watch = rounds(site, path)
        assert said(next(watch)) == [("added", "3")]
        watch.close()
    watch = rounds(site, path)
    current = next(watch)
    current.retry()
    assert [said(next(watch)), said(next(watch))] == [[("added", "3")], []]
    watch.close()
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_is_an_error_of_the_round_only(site, path, monkeypatch):
    with closing(rounds(site, path)) as watch:
        next(watch)
        site.answers["/a.xml"] = urlset("/1", "/3")
        with monkeypatch.context() as full:
            failing = Mock(side_effect=OSError(28, "No space left on device"))
            full.setattr(watching, "run_update", failing)
            assert next(watch).error.errno == 28
        assert said(next(watch)) == [("added", "3")]


def test_a_snapshot_of_another_website_and_a_pause_that_is_no_number_are_refused(site, path):
    for every in (0, -1, float("nan"), "5m", True):
        with pytest.raises(ValueError, match="every must be a positive number"):
            usp.watch("https://example.org/", path, every=every)
    list(rounds(site, path, rounds=1))
    before = path.read_bytes()
    with pytest.raises(usp.SnapshotError, match="is a snapshot of"):
        usp.watch("https://example.org/", path)
    assert path.read_bytes() == before


def test_pauses_follow_no_wall_clock_and_are_not_all_the_same(path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "time", lambda: pytest.fail("the clock may jump"))
    watch = watching._Watch("https://example.org/", path, 100.0, usp.CrawlOptions())
    watch.begin()
    now[0] += 40
    pauses = {watch.pause() for _ in range(50)}
    assert len(pauses) > 1
    assert all(50 <= pause <= 70 for pause in pauses)
    now[0] += 500
    assert watch.pause() == 0, "a round that took longer is followed by the next one"


def test_a_watch_stops_while_it_waits(site, path):
    stop = threading.Event()
    watch = usp.watch(f"{site.base}/", path, every=3600, stop=stop, use_known_paths=False)
    next(watch)
    threading.Timer(0.05, stop.set).start()
    assert list(watch) == []


def test_a_watch_on_asyncio_gives_the_same(site, path):
    async def run():
        found = []
        watch = aio.watch(f"{site.base}/", path, every=QUICK, rounds=4, use_known_paths=False)
        async with aclosing(watch) as coming:
            async for current in coming:
                found.append(said(current))
                site.answers["/a.xml"] = urlset("/1", *["/3"] * (current.number > 1))
        return found

    assert asyncio.run(run()) == [[], [], [("added", "3")], []]


BAD = {
    "an error": Answer(status=500),
    "a page": Answer("<!doctype html><html>sorry</html>", headers={"Content-Type": "text/html"}),
    "a challenge": Answer("<html><title>Just a moment...</title></html>"),
    "a login": Answer(redirect="{base}/login", status=302),
    "nothing": "",
    "an XML that is cut off": urlset("/1", "/2")[:-30],
    "a body that breaks off": Answer(urlset("/1", "/2"), cut=200),
}


@pytest.mark.parametrize("broken", ["/a.xml", "/index.xml", "/robots.txt"])
def test_what_appears_while_something_else_is_served_comes_once_and_nothing_else(
    site, path, broken
):
    good = dict(site.answers)
    site.answers["/login"] = BAD["a page"]
    for name, bad in BAD.items():
        if (broken, name) == ("/robots.txt", "nothing"):
            continue  # an empty robots.txt is one
        path.unlink(missing_ok=True)
        site.answers |= good
        with closing(rounds(site, path)) as watch:
            next(watch)
            site.answers[broken] = bad
            failed = next(watch)
            assert said(failed) == [], name
            if name == "an error":
                assert [failure.url for failure in failed.failures] == [site.url(broken)]
            pages = usp.load(path, last_good=True).all_pages()
            assert [page.url for page in pages] == [site.url("/1"), site.url("/2")], name
            assert said(next(watch)) == [], name
            site.answers[broken] = good[broken]
            site.answers["/a.xml"] = urlset("/1", "/3")
            assert said(next(watch)) == [("added", "3")], name
            assert said(next(watch)) == [], name


def test_without_an_interval_a_round_requests_only_what_is_due(site, path, monkeypatch):
    waits, clock = [], Mock(wraps=time)
    monkeypatch.setattr(recording, "time", clock)
    monkeypatch.setattr(watching, "time", clock)
    clock.time.return_value = time.time()
    stop = Mock(is_set=lambda: False, wait=waits.append)
    with closing(usp.watch(f"{site.base}/", path, use_known_paths=False, stop=stop)) as watch:
        next(watch)
        next(watch)  # learns: nothing was known of the rhythm of any
        site.requests.clear()
        assert said(next(watch)) == []
        assert (site.hits, waits[-1] > 300) == ({}, True)
        clock.time.return_value += 86400
        site.answers["/a.xml"] = urlset("/1", "/3")
        assert said(next(watch)) == [("added", "3")]
        assert set(site.hits) == {"/robots.txt", "/index.xml", "/a.xml", "/b.xml"}
    site.requests.clear()
    with closing(usp.watch(f"{site.base}/", path, use_known_paths=False)) as watch:
        assert said(next(watch)) == [("added", "3")]  # which nobody had dealt with
    assert set(site.hits) == {"/robots.txt", "/index.xml", "/a.xml", "/b.xml"}  # the first round
