"""A process that is killed while it records or updates leaves the old file, or the new one."""

import random
import signal
import subprocess
import sys
import time

import pytest
from snapshots import codes, urls

import usp
from website import TaggedSite, urlset, with_index

SITEMAPS = 12

# Records and updates in turn, as often as it can, until it is killed.
CHILD = """
import sys
import usp
base, path = sys.argv[1:]
print("ready", flush=True)
while True:
    usp.sitemap_tree_for_homepage(base, record=path, use_known_paths=False)
    print("recorded", flush=True)
    usp.update(path)
    usp.update(path, trust_lastmod=True)
"""


def answers(state: int) -> dict[str, str]:
    """Return a website in one of its states: all sitemaps say the same number."""
    names = [f"/{state}/{n}" for n in range(SITEMAPS)]
    return with_index({f"{n}.xml": urlset(*(f"{n}/{at}" for at in range(300))) for n in names})


def is_true(tree) -> bool:
    """Return whether a tree is one that the website had: complete, and all of one state."""
    states = [url.split("/")[3] for url in urls(tree)]
    return tree.is_complete and len(set(states)) == 1 and len(states) == 300 * SITEMAPS


@pytest.mark.parametrize(
    "kills", [2, pytest.param(100, marks=pytest.mark.proof)], ids=["some", "many"]
)
def test_a_kill_at_any_moment_leaves_no_file_that_lies(path, tmp_path, kills):
    chance = random.Random(kills)
    leftovers = 0
    with TaggedSite({**answers(0), **answers(1)}) as site:
        for turn in range(kills):
            site.answers = {**answers(0), **answers(1), **answers(turn % 2)}
            child = subprocess.Popen(
                [sys.executable, "-c", CHILD, site.base, str(path)], stdout=subprocess.PIPE
            )
            assert child.stdout.readline() == b"ready\n"
            if turn == 0:
                assert child.stdout.readline() == b"recorded\n"
            time.sleep(chance.uniform(0, 0.4))
            child.send_signal(signal.SIGKILL)
            child.stdout.close()
            child.wait()
            assert is_true(usp.load(path))
            for left in tmp_path.glob(".*.part"):
                leftovers += 1
                try:
                    tree = usp.load(left)
                except usp.SnapshotError:
                    assert left.stat().st_size < 100_000  # not even a record is complete
                else:
                    assert is_true(tree) or "incomplete-snapshot" in codes(tree)
                left.unlink()
        assert is_true(usp.update(path).tree)
    if kills > 10:
        assert leftovers


def test_what_a_killed_process_has_left_is_removed_by_the_next_one(path, tmp_path, monkeypatch):
    left = tmp_path / ".site.warc.gz.0123456789ab.part"
    other = tmp_path / ".other.warc.gz.0123456789ab.part"
    for file in (left, other):
        file.write_bytes(b"unfinished")
    now = time.time()
    with TaggedSite(answers(0)) as site:
        usp.sitemap_tree_for_homepage(site.base, record=path)
        assert left.exists()  # somebody may be writing it
        monkeypatch.setattr(time, "time", lambda: now + 3600)
        usp.sitemap_tree_for_homepage(site.base, record=path)
    assert not left.exists()
    assert other.exists()


def test_a_crawl_that_raises_leaves_the_old_file(record, path):
    site, _ = record(answers(0))
    before = path.read_bytes()

    def fail(*_: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        usp.sitemap_tree_for_homepage(site.base, record=path, recurse_callback=fail)
    with pytest.raises(KeyboardInterrupt):
        usp.update(path, recurse_callback=fail)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
