"""SIGTERM ends a command as usual, and leaves neither files nor a line of progress behind."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from website import Answer, Request, Site, robots, urlset

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")


class SlowSite(Site):
    """A website whose sitemap comes when the test is over."""

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()
        super().__init__({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})

    def answer(self, request: Request) -> Answer:
        """Wait with the sitemap."""
        if request.path == "/a.xml":
            self.asked.set()
            self.over.wait(20)
        return super().answer(request)


@pytest.fixture
def site():
    with SlowSite() as site:
        yield site
        site.over.set()


def test_sigterm_leaves_nothing_behind(site, tmp_path, subtests):
    for command in ["snapshot", "ls"]:
        with subtests.test(command=command):
            argv = [command, site.base, "-k", "-o", str(tmp_path / "out.warc.gz")]
            if command == "ls":
                argv[-1] = str(tmp_path / "out.csv")
            with subprocess.Popen(
                [sys.executable, "-m", "usp.cli", *argv],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "NO_PROXY": "*"},
            ) as process:
                assert site.asked.wait(20)
                process.send_signal(signal.SIGTERM)
                timer = threading.Timer(5, site.over.set)
                timer.start()
                out, err = process.communicate(timeout=20)
                timer.cancel()
            assert (process.returncode, out, err) == (-signal.SIGTERM, b"", b"")
            assert list(tmp_path.iterdir()) == []
