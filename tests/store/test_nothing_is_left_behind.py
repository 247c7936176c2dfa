"""No file is left after the tree is gone, after an exception, after Ctrl-C, after a kill."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from fronts import needs_proc, spools
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, robots, urlset

LARGE = [f"/{n:06}/" + "x" * 700 for n in range(600)]
PROGRAM = """
import sys, tempfile
tempfile.tempdir = sys.argv[2]
from usp._crawl.stored_pages import StoredPages
from usp.tree import sitemap_tree_for_homepage

def seen(event):
    if type(event).__name__ == "PagesReady":
        assert event.pages.document.data is None
        {action}

tree = sitemap_tree_for_homepage(sys.argv[1], use_known_paths=False, on_event=seen)
print(tree.page_count())
{after}
"""


def run(site, where, action="pass", after="pass", **options):
    program = textwrap.dedent(PROGRAM).format(action=action, after=after)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, site.base + "/", str(where)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def site(serve):
    return serve(
        {"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml"), "/a.xml": urlset(*LARGE)}
    )


ENDINGS = {
    ("pass", "pass"): 0,
    ("raise LookupError", "pass"): 1,
    ("raise KeyboardInterrupt", "pass"): -signal.SIGINT,
    ("pass", "raise SystemExit(3)"): 3,
    ("pass", "import os; os._exit(4)"): 4,
    ("pass", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"): -signal.SIGTERM,
}


def test_no_file_is_left_however_the_program_ends(site, tmp_path):
    processes = {ending: run(site, tmp_path, *ending) for ending in ENDINGS}
    for (action, after), process in processes.items():
        out, err = process.communicate(timeout=120)
        code = ENDINGS[action, after]
        assert process.returncode == code, err
        if action == "pass" and code in (0, 3):
            assert out.strip() == str(len(LARGE))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_in_the_middle_of_a_transfer_ends_the_program_and_leaves_no_file(serve, tmp_path):
    filler = b"<url><loc>http://h/p</loc></url>" * 50
    site = serve(
        {"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": Answer(urlset(*LARGE))}
        | {"/b.xml": Answer("<urlset>", endless=filler)}
    )
    process = run(site, tmp_path, "print('ready', flush=True)")
    assert process.stdout.readline().strip() == "ready"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in err
    assert not list(tmp_path.iterdir())


@needs_proc
def test_the_spool_is_closed_when_the_tree_is_gone(site):
    before = spools()
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert len(spools()) == len(before) + 1
    pages = tree.all_pages()
    next(pages)
    del tree
    assert len(spools()) == len(before) + 1
    assert sum(1 for _ in pages) == len(LARGE) - 1  # whoever still reads keeps what he reads
    del pages
    assert spools() == before
