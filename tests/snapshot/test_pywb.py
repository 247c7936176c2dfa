"""pywb replays an updated snapshot: every URL, at every date, with what it was then.

pywb needs a Python of its own: ``pip install pywb 'setuptools<81'`` there, and its ``bin`` in the PATH.
"""

import gzip
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import closing

import pytest
from test_recorded_warc import records

import usp
from website import Answer, index, robots, urlset

COUNT = 199
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not shutil.which("wayback"), reason="pywb is not installed"),
]


def answering(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_every_url_is_replayed_at_every_date(record, path, tmp_path):
    paths = [f"/{n}.xml" for n in range(COUNT)]
    answers = {"/robots.txt": robots("/index.xml"), "/index.xml": index(*paths)}
    site, _ = record(answers | {one: urlset(f"{one}/1") for one in paths}, use_known_paths=False)
    packed = gzip.compress(site.fill(urlset("/packed")))
    wanted = dict[str, bytes]()  # by what pywb is asked for
    for change in (0, 1):
        site.tags = not change  # 304, then the same once more
        site.answers |= {one: urlset(f"{one}/2") for one in paths[change::10]}
        site.answers["/3.xml"] = Answer(packed, headers={"Content-Encoding": "gzip"})
        usp.update(path)
        for command in (f"init {change}", f"add {change} {path}"):
            subprocess.run(["wb-manager", *command.split()], cwd=tmp_path, check=True)
        for one, _ in records(path):
            if one.rec_type in ("response", "revisit"):
                url, date = (one.rec_headers[f"WARC-{name}"] for name in ("Target-URI", "Date"))
                said = site.answers[url.removeprefix(site.base)]
                date = re.sub(r"\D", "", date)[:14]
                data = packed if isinstance(said, Answer) else site.fill(said)
                wanted[f"{change}/{date}id_/{url}"] = data
    assert len(wanted) > 3 * COUNT
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    wrong = []
    with subprocess.Popen(["wayback", "-p", str(port)], cwd=tmp_path) as wayback:
        try:
            while not answering(port) and wayback.poll() is None:
                time.sleep(0.1)
            for asked, data in wanted.items():
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{asked}") as answer:
                    body = answer.read()
                if answer.status != 200 or body not in (data, unpacked(data)):
                    wrong.append((asked, answer.status, len(body)))
        finally:
            wayback.terminate()
    assert wrong == []


def unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
