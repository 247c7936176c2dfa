"""A record that is damaged costs its sitemap, and the tree says so: never the others, never in silence."""

import pickle
import zlib

import pytest

import usp
from usp._snapshot.snapshot_file import open_snapshot
from usp.objects.sitemap import page_steps
from website import urlset, with_index


def lists(name, count=2000):
    return urlset(*(f"/{name}/{number}" for number in range(count)))


@pytest.fixture(autouse=True)
def site(record):
    documents = with_index({f"/{name}.xml": lists(name) for name in "abc"})
    return record(documents, use_known_paths=False)[0]


def record_of(path, name="b"):
    """Return where the response of a sitemap stands in the file."""
    snapshot = open_snapshot(path)
    (entry,) = [one for (_, url), one in snapshot.entries.items() if url.endswith(f"/{name}.xml")]
    snapshot.file.close()
    data, inflate = path.read_bytes(), zlib.decompressobj(31)
    inflate.decompress(data[entry.offset :])
    return entry.offset, len(data) - len(inflate.unused_data)


def damage(path, at=0.6, end=0):
    """Change a byte in the record of a sitemap, by its place in it or before its end."""
    start, after = record_of(path)
    where = after - end if end else start + int((after - start) * at)
    data = bytearray(path.read_bytes())
    data[where] ^= 0xFF
    path.write_bytes(data)


def urls(tree, name=""):
    return [page.url for page in tree.all_pages() if f"/{name}" in page.url]


def codes(tree):
    return {failure.url.rpartition("/")[2]: failure.code for failure in tree.failures()}


@pytest.mark.parametrize("at", [0.2, 0.6, 0.95])
def test_damage_is_known_when_the_tree_is_loaded(path, at):
    damage(path, at=at)
    tree = usp.load(path)
    assert codes(tree) == {"b.xml": "damaged-record"}
    assert not tree.is_complete
    found = urls(tree)
    intact = [url for url in found if "/a/" in url or "/c/" in url]  # damage may change others
    assert intact == urls(tree, "a/") + urls(tree, "c/")
    assert len(urls(tree, "a/")) == len(urls(tree, "c/")) == 2000


@pytest.mark.parametrize("end", [0, 6], ids=["body", "checksum"])  # which alone tells
def test_a_file_that_is_damaged_while_it_is_open_costs_one_sitemap(path, end):
    tree = usp.load(path)
    assert tree.is_complete
    damage(path, end=end)
    assert len(urls(tree, "a/")) == len(urls(tree, "c/")) == 2000
    assert len(urls(tree, "b/")) < 2000 + bool(end)
    assert codes(tree) == {"b.xml": "damaged-record"}
    (node,) = [node for node in tree.all_sitemaps() if node.url.endswith("b.xml")]
    assert node.failure is not None
    assert node.problems
    assert node.page_count() < 2000 + bool(end)


def test_every_way_of_reading_shows_the_damage(path):
    reads = {
        "blocks": lambda tree: list(tree.page_blocks()),
        "steps": lambda tree: list(page_steps(tree)),
        "count": lambda tree: tree.page_count(),
        "problems": lambda tree: [node.problems for node in tree.all_sitemaps()],
        "dict": lambda tree: tree.to_dict(),
        "pickle": lambda tree: pickle.loads(pickle.dumps(tree)),
    }
    whole = path.read_bytes()
    for name, read in reads.items():
        path.write_bytes(whole)
        tree = usp.load(path)
        damage(path)
        read(tree)
        assert codes(tree) == {"b.xml": "damaged-record"}, name
    copy = pickle.loads(pickle.dumps(tree))
    assert urls(copy) == urls(tree)


def test_an_update_fetches_what_is_damaged(site, path):
    damage(path)
    site.forget()
    update = usp.update(path)
    assert site.bodies == ["/b.xml"]
    assert (update.identical, update.not_modified, update.failed) == (1, 4, 0)
    assert len(urls(usp.load(path))) == 6000


@pytest.mark.parametrize("count", [2000, 9000], ids=["nothing", "some"])
def test_a_damaged_tree_is_saved_as_what_is_left(site, path, tmp_path, count):
    site.answers["/b.xml"] = lists("b", count)
    usp.sitemap_tree_for_homepage(site.base, record=path, use_known_paths=False)
    damage(path)
    tree, copy = usp.load(path), tmp_path / "copy.warc.gz"
    assert bool(urls(tree, "b/")) == (count == 9000)
    tree.save(copy)
    assert urls(usp.load(copy)) == urls(tree)
    assert codes(usp.load(copy)) == codes(tree) == {"b.xml": "damaged-record"}


def test_what_is_damaged_now_is_not_saved_as_whole(path):
    tree = usp.load(path)
    damage(path)
    with pytest.raises(usp.SnapshotError, match=r"b\.xml"):
        tree.save(path.with_name("copy.warc.gz"))


def test_commands_say_what_is_damaged_and_its_pages_are_unknown_and_not_removed(path, run):
    whole = path.with_name("whole.warc.gz")
    whole.write_bytes(path.read_bytes())
    damage(path)
    counts = usp.diff(whole, path).counts()
    assert not counts.pages["removed"]
    assert counts.pages["unknown"]
    assert counts.sitemaps["failed"] == 1
    status, out, told = run("ls", "-f", "pages", path)
    assert (status, "/c/1999" in out) == (0, True)
    assert "incomplete" in told
    assert "b.xml" in told
    assert run("ls", "-f", "pages", "--strict", path)[0] == 3
    assert "damaged" in run("tree", path)[1]
