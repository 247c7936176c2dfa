"""An S3 server on loopback with one bucket, ``bucket``; its port is printed on the first line."""

from __future__ import annotations

import logging
import sys
import urllib.request

from moto.server import ThreadedMotoServer


def main() -> None:
    """Serve until killed."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    bucket = urllib.request.Request(f"http://127.0.0.1:{port}/bucket", method="PUT")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(bucket).close()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
