"""One bad round empties nothing: what fails is kept and marked, and what collapses must be accepted."""

import json
from contextlib import closing

import pytest
from snapshots import sorted_urls as urls

import usp
from website import NOT_FOUND, Answer, index, robots, urlset, with_index

COUNT, EACH = 6, 4
PAGES = COUNT * EACH
HTML = Answer("<html><body>back soon</body></html>", headers={"Content-Type": "text/html"})


def good() -> dict[str, object]:
    return with_index(
        {f"/{n}.xml": urlset(*(f"/{n}/{at}" for at in range(EACH))) for n in range(COUNT)}
    )


COLLAPSES = {
    "no robots.txt": {"/robots.txt": NOT_FOUND},
    "an empty robots.txt": {"/robots.txt": ""},
    "a robots.txt without sitemaps": {"/robots.txt": "User-agent: *\nDisallow: /\n"},
    "a robots.txt of another website": {
        "/robots.txt": Answer(redirect="{alt}/robots.txt"),
        "alt:/robots.txt": "Sitemap: {alt}/parked.xml\n",
        "alt:/parked.xml": urlset("/parked"),
    },
    "an empty index": {"/index.xml": index()},
    "a urlset instead of the index": {"/index.xml": urlset()},
    "an index of few children": {"/index.xml": index("/0.xml", "/1.xml")},
    "many empty sitemaps": {f"/{n}.xml": urlset() for n in range(COUNT - 2)},
    "few pages in each sitemap": {f"/{n}.xml": urlset(f"/{n}/0") for n in range(COUNT)},
}
# No single document has lost what it had.
WITHOUT_CAUSE = ("a robots.txt of another website", "few pages in each sitemap")
OUTAGES = {
    "errors": {path: Answer("down", 500) for path in good()},
    "no answers": {path: Answer(hang_up=True) for path in good()},
    "a page for everything": dict.fromkeys(good(), HTML),
    "a bot wall": {path: Answer("<title>Just a moment...</title>", 403) for path in good()},
    "redirects to another website": {
        **{path: Answer(redirect="{alt}/") for path in good()},
        "alt:/": HTML,
    },
    "a page instead of robots.txt": {"/robots.txt": HTML},
    "a forbidden robots.txt": {"/robots.txt": Answer("", 403)},
    "no index": {"/index.xml": NOT_FOUND},
    "garbage instead of the index": {"/index.xml": "\0\1 garbage"},
    "JSON instead of the index": {"/index.xml": '{"error": "later"}'},
    "an index that breaks off": {"/index.xml": str(good()["/index.xml"])[:200]},
    "most sitemaps missing": {f"/{n}.xml": NOT_FOUND for n in range(COUNT - 2)},
}
BAD = COLLAPSES | OUTAGES
# What is kept does not depend on the driver: the other one goes through all of it with the long tests.
DRIVERS = ["threads", pytest.param("asyncio", marks=pytest.mark.long)]


@pytest.fixture(autouse=True)
def site(record):
    site, _ = record(good(), use_known_paths=False)
    site.tags = False
    return site


def rounds(site, path, **how):
    return usp.watch(f"{site.base}/", path, every=0.001, use_known_paths=False, **how)


@pytest.mark.parametrize("update", DRIVERS, indirect=True)
@pytest.mark.parametrize("bad", COLLAPSES)
def test_a_collapse_replaces_nothing_until_it_is_accepted(site, path, update, bad):
    before = path.read_bytes()
    site.answers |= COLLAPSES[bad]
    for _ in range(2):
        done = update(path)
        assert (done.accepted, done.pages_before) == (False, PAGES)
        assert done.pages_lost > PAGES / 2
        causes = () if bad in WITHOUT_CAUSE else COLLAPSES[bad]
        assert {failure.url for failure in done.kept} == set(map(site.url, causes))
        assert done.tree.page_count() == PAGES
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]
    done = update(path, accept=True)
    assert done.accepted
    assert usp.load(path) == done.tree
    assert done.tree.page_count() == PAGES - done.pages_lost
    assert update(path).warning == ""  # what was accepted is what counts now


@pytest.mark.parametrize("update", DRIVERS, indirect=True)
@pytest.mark.parametrize("bad", OUTAGES)
def test_what_fails_stays_as_it_was_and_says_so(site, path, update, bad):
    known = urls(usp.load(path))
    site.answers |= OUTAGES[bad]
    for _ in range(2):
        done = update(path)
        assert (done.accepted, done.removed, done.pages_before) == (True, 0, PAGES)
        assert "could not be read" in done.warning
        assert done.kept
        tree = usp.load(path)
        assert urls(tree) == urls(done.tree) == known
        assert not tree.is_complete
        for failure in tree.failures():
            assert "kept as it was at 2" in failure.brief
    copy = path.with_name("copy.warc.gz")
    tree.save(copy)
    assert usp.load(copy) == tree
    assert usp.load(copy).failures() == tree.failures()
    site.answers |= good()
    assert update(path).tree.is_complete
    assert urls(usp.load(path)) == known


@pytest.mark.parametrize("bad", ["errors", "most sitemaps missing"])
def test_failures_that_are_accepted_are_missing_and_stay_so(site, path, update, bad):
    site.answers |= OUTAGES[bad]
    left = 0 if bad == "errors" else 2 * EACH
    for accept in (True, False):
        done = update(path, accept=accept)
        assert done.tree.page_count() == usp.load(path).page_count() == left
        assert done.failed
    assert usp.load(path, last_good=True).page_count() == PAGES
    site.answers |= OUTAGES["errors"]  # which nobody has accepted, if something was left
    assert usp.load(update(path) and path).page_count() == (PAGES if left else 0)
    site.answers |= good()
    assert update(path).tree.page_count() == PAGES


@pytest.mark.parametrize("bad", BAD)
def test_bad_rounds_of_a_watch_give_nothing_and_the_next_good_one_only_what_is_new(site, path, bad):
    known = urls(usp.load(path))
    with closing(rounds(site, path)) as watch:
        assert list(next(watch)) == []
        site.answers |= BAD[bad]
        for _ in range(3):
            current = next(watch)
            assert (list(current), list(current.removed())) == ([], [])
            assert (current.error is not None) == (bad in COLLAPSES)
            assert urls(usp.load(path)) == known
        site.answers |= good()
        site.answers["/3.xml"] = urlset("/3/new", *(f"/3/{at}" for at in range(EACH)))
        current = next(watch)
        assert [change.url for change in current] == [site.url("/3/new")]
        assert list(current.removed()) == []
        assert list(next(watch)) == []


def test_a_watch_replaces_nothing_unless_it_is_told_to_accept(site, path, watched):
    before = path.read_bytes()
    site.answers["/index.xml"] = index()
    given = {"rounds": 1, "use_known_paths": False}
    (current,) = watched(f"{site.base}/", path, **given)
    assert str(current.error).startswith(f"{PAGES} of {PAGES} pages")
    assert (list(current.removed()), path.read_bytes()) == ([], before)
    (current,) = watched(f"{site.base}/", path, **given, accept=True)
    assert (current.error, len(list(current.removed()))) == (None, PAGES)


@pytest.mark.parametrize(
    "bad", ["a page instead of robots.txt", "no index", "most sitemaps missing"]
)
@pytest.mark.parametrize("options", [[], ["-p"]])
def test_the_tree_marks_what_is_kept(site, path, run, bad, options):
    site.answers |= OUTAGES[bad]
    usp.update(path)
    _, shown, _ = run("tree", path, "--all", *options)
    assert shown.count("kept as it was at") == len(OUTAGES[bad])


def test_a_host_that_is_down_keeps_all_pages(site, path, run):
    known = urls(usp.load(path))
    site.close()
    for command in (["update", path], ["update", path, "--strict"]):
        status, _, told = run(*command)
        assert (status, f"{PAGES} of {PAGES} pages could not be read" in told) == (1, True)
        assert urls(usp.load(path)) == known
    status, listed, told = run("ls", path, "-f", "pages")
    assert (status, listed.split(), "kept as it was" in told) == (0, known, True)


def test_limits_that_were_not_reached_hide_no_outage(site, path, run):
    for limit in ("pages=3", "sitemaps=2"):
        site.answers["/3.xml"] = NOT_FOUND
        assert run("update", path, "--max", limit)[0] == 0
    site.close()
    status, _, told = run("update", path, "--max", "seconds=60")
    assert (status, f"{PAGES} of {PAGES} pages could not be read" in told) == (1, True)


def test_a_watch_says_what_it_was_told_to_accept(site, path, run):
    site.answers["/robots.txt"] = NOT_FOUND
    watch = ["watch", f"{site.base}/", "--snapshot", path, "--no-known", "--rounds", 1]
    status, _, told = run(*watch, "--accept")
    assert (status, told.count(f"{PAGES} of {PAGES} pages are gone")) == (0, 1)


@pytest.mark.parametrize("options", [[], ["--strict"], ["-q"]])
def test_the_commands_say_it_loudly_and_end_with_1(site, path, run, options):
    before = path.read_bytes()
    site.answers["/robots.txt"] = NOT_FOUND
    out = path.with_name("got")
    watch = ["watch", f"{site.base}/", "--snapshot", path, "--no-known", "--every", "0.01s"]
    for command in (["update", path], [*watch, "--rounds", 2, "--exec", f"cat >> {out}"]):
        status, listed, told = run(*command, *options)
        assert (status, listed) == (1, "")
        assert told.count(f"{PAGES} of {PAGES} pages would be gone") == 1
        assert "--accept" in told
    assert (path.read_bytes(), out.exists()) == (before, False)
    status, _, told = run("update", path, "--accept", *options)
    assert (status, usp.load(path).page_count()) == (0, 0)


def test_programs_read_the_numbers(site, path, run):
    site.answers["/robots.txt"] = NOT_FOUND
    lines = [json.loads(line) for line in run("update", path, "--json")[2].splitlines()]
    assert lines[-1]["status"] == 1
    # Nothing was replaced; still, every document is counted, and the time that it took.
    assert {"failed": 1, "not_checked": COUNT + 1, "removed": 0}.items() <= lines[0].items()
    assert lines[0]["seconds"] > 0
    lines = [json.loads(line) for line in run("update", path, "--json", "--accept")[2].splitlines()]
    assert {"pages_before": PAGES, "pages_lost": PAGES}.items() <= lines[1].items()


def test_half_of_the_pages_may_go_on_a_small_website_too(site, path):
    for before, after, accepted in [(1, 0, 0), (2, 1, 1), (3, 1, 0), (3, 2, 1)]:
        site.answers["/map.xml"] = urlset(*(f"/{n}" for n in range(before)))
        usp.sitemap_tree_for_sitemap(site.url("/map.xml"), record=path)
        site.answers["/map.xml"] = urlset(*(f"/{n}" for n in range(after)))
        done = usp.update(path)
        assert done.accepted == bool(accepted)
        assert done.tree.page_count() == (after if accepted else before)


@pytest.mark.parametrize(("share", "lost", "status"), [
    ("10%", 3, 1), ("12.5%", 3, 0), ("0", 1, 1), ("50%", 13, 1), ("60%", 13, 0), ("100%", PAGES - 1, 0),
])  # fmt: skip
def test_how_many_pages_may_go_is_an_option(site, path, run, share, lost, status):
    site.answers["/index.xml"] = index("/0.xml")
    site.answers["/0.xml"] = urlset(*(f"/{n}" for n in range(PAGES)))
    usp.sitemap_tree_for_homepage(site.base, record=path, use_known_paths=False)
    site.answers["/0.xml"] = urlset(*(f"/{n}" for n in range(PAGES - lost)))
    ended, _, told = run("update", path, "--max-removed", share)
    assert (ended, "would be gone" in told) == (status, bool(status))


def test_a_share_is_one(path, run):
    for share in ("101%", "-1", "half"):
        assert run("update", path, "--max-removed", share)[0] == 2
    with pytest.raises(ValueError, match="from 0 to 1"):
        usp.update(path, max_removed=50)


def test_a_website_that_moved_to_another_host_is_new_there_and_gone_here(site, path):
    with closing(rounds(site, path)) as watch:
        next(watch)
        for name, answer in good().items():
            site.answers[name] = Answer(redirect="{alt}" + name)
            site.answers[f"alt:{name}"] = str(answer).replace("{base}", "{alt}")
        current = next(watch)
        assert [len(list(some)) for some in (current, current.removed())] == [PAGES, PAGES]


def test_pages_that_are_replaced_or_moved_are_not_gone(site, path):
    site.answers["/index.xml"] = index("/all.xml")
    site.answers["/all.xml"] = urlset(*(f"/new/{n}" for n in range(PAGES // 2)))
    done = usp.update(path)
    assert (done.accepted, done.warning, done.tree.page_count()) == (True, "", PAGES // 2)


def test_a_loss_by_and_by_is_measured_by_what_was_good(site, path):
    for number in range(COUNT):
        site.answers[f"/{number}.xml"] = NOT_FOUND
        done = usp.update(path)
        assert bool(done.warning) == (number >= COUNT / 2)
        assert done.tree.page_count() == PAGES
        assert (done.failed, done.removed) == (number + 1, 0)
        assert len(done.kept) == len(done.tree.failures()) == number + 1


def test_a_homepage_that_links_to_nothing_is_a_collapse_and_one_that_fails_is_kept(
    record, path, update
):
    link = '<html><a href="/about">about</a><link rel="sitemap" href="/map.xml"></html>'
    options = {"use_known_paths": False, "use_html_links": True, "use_robots": False}
    site, _ = record({"/": link, "/map.xml": urlset("/1", "/2", "/3")}, **options)
    assert usp.load(path).page_count() == 3
    site.answers["/"] = Answer(redirect="{alt}/")
    site.answers["alt:/"] = HTML
    assert not update(path).accepted
    site.answers["/"] = Answer("", 500)
    done = update(path)
    assert (done.accepted, done.tree.page_count()) == (True, 3)
    assert [failure.code for failure in done.tree.failures()] == ["server-error"]


def test_a_diff_with_a_snapshot_that_keeps_removes_nothing(site, path, run):
    before = path.with_name("before.warc.gz")
    before.write_bytes(path.read_bytes())
    site.answers |= OUTAGES["most sitemaps missing"]
    usp.update(path)
    for one, other in ((before, path), (path, before)):
        status, listed, _ = run("diff", one, other)
        assert status == 3 or "xml" in listed
        assert not [line for line in listed.splitlines() if line.endswith(tuple("0123"))]


def test_a_failure_below_what_fails_later_is_still_said(site, path):
    site.answers["/1.xml"] = NOT_FOUND
    usp.update(path)
    site.answers["/index.xml"] = Answer("", 500)
    usp.update(path)
    failures = usp.load(path).failures()
    assert [failure.code for failure in failures] == ["server-error", "not-found"]
    assert usp.load(path).page_count() == PAGES


@pytest.mark.parametrize(
    "bad", ["no robots.txt", "an empty index", "errors", "many empty sitemaps"]
)
def test_a_snapshot_is_not_recorded_over_by_one_without_pages(site, path, run, bad):
    before = path.read_bytes()
    site.answers |= BAD[bad] | {f"/{n}.xml": urlset() for n in range(COUNT)}
    status, listed, told = run("snapshot", f"{site.base}/", "-o", path, "--no-known")
    assert (status, listed, path.read_bytes()) == (1, "", before)
    assert "was left as it was" in told
    new = path.with_name("new.warc.gz")
    status, listed, _ = run("snapshot", f"{site.base}/", "-o", new, "--no-known")
    assert (status, listed) == (bad == "errors", f"{new}\n")


# Less than half of the pages ------------------------------------------------------------------------

MORE = {"/other.xml": urlset(*(f"/other/{n}" for n in range(3 * PAGES)))}
SHRUNK = {
    "an empty sitemap": ({"/1.xml": urlset()}, EACH, "emptied"),
    "a damaged sitemap without pages": ({"/1.xml": "<urlset><url></urlset>"}, EACH, "emptied"),
    "a feed without items": (
        {"/1.xml": "<rss><channel><title>t</title></channel></rss>"},
        EACH,
        "emptied",
    ),
    "an empty index": ({"/index.xml": index()}, PAGES, "emptied"),
    "an index of few children": ({"/index.xml": index("/0.xml", "/1.xml")}, PAGES - 2 * EACH, "emptied"),
    "a robots.txt with fewer lines": ({"/robots.txt": robots("/other.xml")}, PAGES, "emptied"),
    "no robots.txt": ({"/robots.txt": NOT_FOUND}, PAGES, "not-found"),
}  # fmt: skip


@pytest.fixture
def part(site, path):
    """A website of which less than half of the pages can be lost by one document."""
    declared = robots("/index.xml", "/other.xml", "/empty.xml")
    site.answers |= MORE | {"/robots.txt": declared, "/empty.xml": urlset()}
    usp.sitemap_tree_for_homepage(
        f"{site.base}/", record=path, use_known_paths=False, extra_known_paths=["other.xml"]
    )
    return path


@pytest.mark.parametrize("bad", SHRUNK)
def test_what_one_document_has_lost_is_kept_until_a_second_round_finds_the_same(
    site, part, update, run, bad
):
    before, all_pages = part.read_bytes(), urls(usp.load(part))
    answers, lost, code = SHRUNK[bad]
    healthy = dict(site.answers)
    site.answers |= answers
    done = update(part)
    assert (done.accepted, done.removed, done.failed) == (True, 0, 1)
    assert done.warning.startswith("1 sitemap suddenly lost all pages or most sitemaps")
    (failure,) = done.kept
    assert (failure.code, "kept as it was at 2" in failure.brief) == (code, True)
    assert urls(usp.load(part)) == urls(done.tree) == all_pages
    kept = part.read_bytes()
    site.answers |= healthy  # it was a mistake
    done = update(part)
    assert (urls(done.tree), done.tree.is_complete) == (all_pages, True)
    part.write_bytes(kept)
    site.answers |= answers  # it was not
    done = update(part)
    assert (done.accepted, done.kept, len(urls(done.tree))) == (True, (), len(all_pages) - lost)
    assert usp.load(part) == done.tree
    part.write_bytes(before)
    assert len(urls(update(part, accept=True).tree)) == len(all_pages) - lost
    for options in ([], ["--strict"]):
        part.write_bytes(before)
        ended, _, told = run("update", part, *options)
        assert (ended, "1 failed" in told, "suddenly lost" in told) == (1, True, True)


def test_another_failure_does_not_confirm_what_a_sitemap_has_lost(site, part):
    for answer in (Answer("", 500), urlset(), Answer("", 500), urlset()):
        site.answers["/1.xml"] = answer
        assert usp.update(part).tree.page_count() == 4 * PAGES
    assert usp.update(part, trust_lastmod=True).tree.page_count() == 4 * PAGES - EACH


def test_a_watch_gives_what_a_sitemap_has_lost_in_the_second_round(site, part):
    with closing(rounds(site, part, extra_known_paths=["other.xml"])) as watch:
        assert list(next(watch)) == []
        site.answers["/1.xml"] = urlset()
        assert (list(current := next(watch)), list(current.removed())) == ([], [])
        assert [failure.code for failure in current.failures] == ["emptied"]
        current = next(watch)
        assert (list(current), len(list(current.removed()))) == ([], EACH)
        assert list(next(watch).removed()) == []
