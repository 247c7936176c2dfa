"""Standard streams that are closed, or cannot be written to: a message and a status, no traceback."""

import os
import subprocess
import sys

import pytest

SITEMAP = b"<urlset><url><loc>https://example.org/1</loc></url></urlset>"


@pytest.fixture
def shell(tmp_path):
    """Run a line of the shell in which ``usp`` is the command, in a folder with a sitemap."""
    (tmp_path / "map.xml").write_bytes(SITEMAP)
    (tmp_path / "new.xml").write_bytes(SITEMAP.replace(b"/1", b"/2"))

    def _shell(line: str) -> subprocess.CompletedProcess:
        line = line.replace("usp", f"'{sys.executable}' -m usp.cli")
        return subprocess.run(
            ["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return _shell


pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")


@pytest.mark.parametrize(
    ("line", "status"),
    [("ls map.xml -f pages", 1), ("tree map.xml", 1), ("diff map.xml new.xml", 2), ("--help", 1)],
)
def test_a_closed_standard_output_is_reported(shell, line, status):
    ended = shell(f"usp {line} >&-")
    assert (ended.returncode, ended.stderr) == (status, "usp: Bad file descriptor\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("line", ["--help", "--version", "ls --help", "ls map.xml"])
def test_a_full_disk_is_reported(shell, line):
    ended = shell(f"usp {line} > /dev/full")
    assert (ended.returncode, ended.stderr) == (1, "usp: No space left on device\n")


def test_closed_messages_and_input_change_nothing(shell):
    ended = shell("usp ls map.xml -f pages <&- 2>&-")
    assert (ended.returncode, ended.stdout) == (0, "https://example.org/1\n")
