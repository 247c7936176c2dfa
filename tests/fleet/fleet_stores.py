"""An S3 server on loopback, and a gate before it that can be closed."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

SERVER = "import sys; from moto.server import main; main(['-H', '127.0.0.1', '-p', sys.argv[1]])"
BUCKET = "bucket"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class S3:
    """A server with a bucket. ``put`` and ``names`` are what another program does with it."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        self.environment = {  # of a user
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
        }

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        url = f"http://127.0.0.1:{self.port}/{path}"
        kind = {"Content-Type": "application/octet-stream"}  # a form would be taken apart
        request = urllib.request.Request(url, body, kind, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return bytes(response.read())

    def put(self, name: str, content: bytes = b"") -> None:
        self._ask("PUT", f"{BUCKET}/{name}" if name else BUCKET, content)

    def names(self, below: str) -> set[str]:
        listed = self._ask("GET", f"{BUCKET}?list-type=2&prefix={below}").decode()
        return {part.partition("</Key>")[0] for part in listed.split("<Key>")[1:]}


@contextmanager
def serving_s3() -> Iterator[S3]:
    port = free_port()
    command = [sys.executable, "-c", SERVER, str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=dict(os.environ)) as process:
        server = S3(process, port)
        try:
            end = time.monotonic() + 120
            while True:
                try:
                    server.put("")
                    break
                except urllib.error.URLError:
                    assert time.monotonic() < end, "the server does not start"
                    assert process.poll() is None, "the server has ended"
                    time.sleep(0.1)
            yield server
        finally:
            process.kill()


GATE = """
import asyncio, re, sys

KINDS = ["^POST .*[?]uploads", "^POST .*uploadId=", "^GET .*list-type", "^GET .*_delta_log/.*json"]
uncut = [re.compile(kind.encode()) for kind in KINDS if sys.argv[3:]]

async def pass_on(reader, writer, cut=lambda data: None):
    try:
        while data := await reader.read(1 << 16):
            if (end := cut(data)) is not None:
                writer.write(data[:end])
                break
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

async def serve(reader, writer):
    inside = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    asked = b""

    def hear(data):
        nonlocal asked
        asked = data if data.startswith((b"GET ", b"POST ", b"PUT ", b"HEAD ")) else asked

    def cut(data):
        for kind in uncut:
            if kind.search(asked) and b" 200 " in data[:16] and b"\\r\\n\\r\\n" in data:
                uncut.remove(kind)
                print(kind.pattern.decode(), flush=True)
                return data.index(b"\\r\\n\\r\\n") + 4

    await asyncio.gather(pass_on(reader, inside[1], hear), pass_on(inside[0], writer, cut))

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), reuse_port=True)
    print("open", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Gate:
    """Another port for a server. While it is closed, nobody listens there; requests are cut off.

    With "cut", it cuts off the first response of every kind that has a body, after its headers.
    """

    def __init__(self, inside: int, *options: str) -> None:
        self._options = options
        self._held = socket.socket()  # which never listens: nobody else may have the port meanwhile
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._held.bind(("127.0.0.1", 0))
        self.port = int(self._held.getsockname()[1])
        self._inside = inside
        self._process: subprocess.Popen[bytes] | None = None
        self.open()

    def open(self) -> None:
        command = [sys.executable, "-c", GATE, str(self.port), str(self._inside)]
        command += self._options
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout
        assert self._process.stdout.readline() == b"open\n"

    def close(self) -> list[str]:
        """Close it; return what it has cut off."""
        told = ""
        if self._process is not None:
            self._process.kill()
            told = self._process.communicate()[0].decode()
        self._process = None
        return told.splitlines()

    def end(self) -> None:
        """Close it for ever."""
        self.close()
        self._held.close()
