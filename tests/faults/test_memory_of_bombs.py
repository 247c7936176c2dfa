"""What unpacks to a great deal, or never ends, takes little memory: measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from fault_replies import bomb, endless, head, ok, packed, raw

from website import Endless, robots, urlset

pytestmark = pytest.mark.long

MOST = 100 * 1024  # KiB

PROGRAM = """
import resource, sys
sys.path[:0] = sys.argv[3:]
from fault_fronts import crawl
from usp.limits import Limits

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

limits = Limits(document_bytes=4 << 20, document_seconds=20)
before = peak()
outcome = crawl(sys.argv[1], sys.argv[2], limits=limits, use_known_paths=False)
problems = [len(node.problems) for node in outcome.tree.all_sitemaps()] if outcome.tree else []
print(peak() - before, len(outcome.pages), max(problems, default=0))
"""

START = urlset("http://127.0.0.1/page").encode().removesuffix(b"</urlset>")
LAUGHS = b'<!ENTITY l0 "lol">' + b"".join(
    b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 12)
)
BOMBS = {
    "blanks": lambda: ok(bomb(START, b" ", 300)),
    "one gigantic text": lambda: ok(bomb(START + b"<url><loc>", b"x", 300)),
    "one gigantic tag": lambda: ok(bomb(START + b"<url ", b"x", 300)),
    "one gigantic comment": lambda: ok(bomb(START + b"<!--", b"x", 300)),
    "open tags": lambda: ok(bomb(START, b"<a>", 2)),
    "a gigantic line": lambda: ok(bomb(b"http://127.0.0.1/page\n", b"x", 300)),
    "a bomb in a bomb": lambda: ok(packed(bomb(START, b" ", 300))),
    "zeros": lambda: ok(bomb(b"", b"\0", 300)),
    "UTF-16": lambda: ok(bomb(START.decode().encode("utf-16"), b" \0", 300)),
    "an endless body": lambda: endless(START, b"<url> " + b" " * 500),
    "an endless text": lambda: endless(START + b"<url><loc>", b"x" * 65536),
    "endless headers": lambda: raw(b"HTTP/1.1 200 OK\r\n", Endless(b"X-Y: z\r\n" * 5000)),
    "an endless chunk": lambda: raw(
        head(transfer_encoding="chunked"), b"7fffffff\r\n" + START, Endless(b" " * 65536)
    ),
    "entities": lambda: ok(b"<!DOCTYPE urlset [" + LAUGHS + b"]>" + START + b"<url><loc>&l11;"),
}

STREAMED = ("blanks", "one gigantic text", "an endless body", "endless headers")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux")
@pytest.mark.parametrize(
    ("name", "front"),
    [*((name, "tree") for name in BOMBS), *((name, "aio stream") for name in STREAMED)],
)
def test_a_bomb_takes_little_memory(serve, name, front):
    site = serve({"/robots.txt": robots("/bomb.xml"), "/bomb.xml": BOMBS[name]()})
    folder, texts = Path(__file__).parent, {"capture_output": True, "text": True}
    command = [sys.executable, "-c", PROGRAM, front, site.base + "/", folder, folder.parent]
    result = subprocess.run(command, timeout=120, check=False, **texts)
    assert result.returncode == 0, result.stderr[-2000:]
    grown, pages, problems = map(int, result.stdout.split())
    assert grown < MOST
    assert pages <= 1
    assert problems <= 210
