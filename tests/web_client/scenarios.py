"""Responses as servers send them, byte by byte, and the one outcome that every client has for each."""

import contextlib
import gzip
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from both import speaking

from usp._http.http1 import HEAD_BYTES, BadResponse, ResponseReader

BODY = b"0123456789"


@dataclass(frozen=True)
class Broken:
    """A body that breaks off: the code of the failure, and what was received before."""

    code: str
    kept: bytes


@dataclass(frozen=True)
class Case:
    """What a server sends for ``/``, and what a client makes of it: a body, or the code of a failure.

    ``connections`` is how many it takes to fetch this and something else, where that matters.
    """

    sent: bytes
    outcome: bytes | str | Broken
    connections: int | None = None

    @property
    def closes(self) -> bool:
        """Whether the server must close the connection, for the response to be over."""
        reader = ResponseReader()
        try:
            reader.feed(self.sent)
        except BadResponse:
            return False
        return not reader.is_over and reader.error is None


def ok(*fields: str | bytes, body: bytes = BODY, status: str = "HTTP/1.1 200 OK", end="\r\n"):
    lines = [
        line.encode("latin-1") if isinstance(line, str) else line for line in (status, *fields)
    ]
    return end.encode().join([*lines, b"", body])


def sized(*fields: str | bytes, body: bytes = BODY, status: str = "HTTP/1.1 200 OK", end="\r\n"):
    return ok(*fields, f"Content-Length: {len(body)}", body=body, status=status, end=end)


def chunked(*parts: bytes, fields: tuple = (), status: str = "HTTP/1.1 200 OK"):
    return ok("Transfer-Encoding: chunked", *fields, body=b"".join(parts), status=status)


CHUNKS = (b"4\r\n0123\r\n", b"6\r\n456789\r\n", b"0\r\n\r\n")
IN_CHUNKS = b"".join(CHUNKS)
OK, CLOSED, NO_HTTP, BAD = BODY, "connection-closed", "not-http", "bad-headers"
EMPTY = b""
ERROR = "http-error"


def cut_off(kept: bytes = BODY) -> Broken:
    return Broken("body-cut-off", kept)


def bad_chunk(kept: bytes = b"") -> Broken:
    return Broken("bad-chunk", kept)


STATUS_LINES = {
    **{
        status: Case(sized(status=status), NO_HTTP)
        for status in (
            "HTTP/x.y 200 OK", "HTTP/-1.1 200 OK", "HTTP/1.11111111111 200 OK", "HTTP/1.1",
            "HTTP/1.1 ", "HTTP/1.1 OK", "HTTP/1.1 +200 OK", "HTTP/1.1 -200 OK", "HTTP/1.1 2_0 OK",
            "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 0200 OK", "HTTP/1.1 \xb2\xb2\xb2 OK",
            "HTTP/1.1 000 OK", "HTTP/1.1 099 OK", "HTTP/1.1 0xC8 OK", "HTTP/1.1 200.0 OK",
            "HTTP/1.1 200OK", "ICY 200 OK", "HTTP/1.1 200\rOK"
        )
    },
    **{
        status: Case(sized(status=status), OK)
        for status in (
            "HTTP/1.1 200 \xe9 \x01 x: y", "HTTP/1.2 200 OK", "HTTP/1 200 OK", "HTTP/2 200",
            "HTTP/3.0 200 OK", "HTTP/0.9 200 OK", "HTTP 200 OK", "http/1.1 200 OK",
            "Http/1.1 200 OK", "HTTP/1.1  200  OK", "HTTP/1.1\t200\tOK", "HTTP/1.1 299 Fine",
            "HTTP/1.1 206 Partial Content"
        )
    },
    "ordinary": Case(sized(), OK, 1),
    "without a reason": Case(sized(status="HTTP/1.1 200 "), OK, 1),
    "without a reason or a blank": Case(sized(status="HTTP/1.1 200"), OK, 1),
    "HTTP/1.0": Case(sized(status="HTTP/1.0 200 OK"), OK, 2),
    "HTTP/1.0 kept alive": Case(sized("Connection: keep-alive", status="HTTP/1.0 200 OK"), OK, 1),
    "HTTP/1.0 kept open": Case(sized(status="HTTP/1.0 200 OK"), OK, 2),
    "HTTP/2.0 as text": Case(sized(status="HTTP/2.0 200 OK"), OK, 2),
    "blank line first": Case(b"\r\n" + sized(), OK),
    "several blank lines first": Case(b"\r\n\n\r\n" + sized(), OK),
    "blanks first": Case(b"  " + sized(), OK),
    "blank lines without end": Case(b"\r\n" * HEAD_BYTES + sized(), BAD),
    "status 600": Case(sized(status="HTTP/1.1 600 Odd"), "server-error"),
    "status 999": Case(sized(status="HTTP/1.1 999 Odd"), "server-error"),
    "status 404": Case(sized(status="HTTP/1.1 404 Not Found"), "not-found"),
    "status 503": Case(sized(status="HTTP/1.1 503 Later"), "server-error"),
    "status 300": Case(sized(status="HTTP/1.1 300 Multiple Choices"), ERROR),
    "status 101": Case(ok("Upgrade: h2c", status="HTTP/1.1 101 Switching"), ERROR),
    "another protocol": Case(b"SSH-2.0-OpenSSH_9.6\r\n", NO_HTTP),
    "junk before it": Case(b"xxxx" + sized(), NO_HTTP),
    "no head at all": Case(b"<?xml version='1.0'?><urlset/>", NO_HTTP),
    "a line of junk": Case(b"junk\r\n" + sized(), NO_HTTP),
    "two letters of a name": Case(b"HTX", NO_HTTP),
    "half of a name": Case(b"HTTQ/1.1 200 OK\r\n\r\n", NO_HTTP),
    "binary": Case(b"\x16\x03\x01\x00\x00", NO_HTTP),
    "bare CR in the reason": Case(sized(status="HTTP/1.1 200 O\rK"), BAD),
    "NUL in the reason": Case(sized(status="HTTP/1.1 200 O\0K"), BAD),
    "endless": Case(b"HTTP/1.1 200 " + b"x" * 2 * HEAD_BYTES, BAD),
    "nothing": Case(b"", CLOSED),
    "only a blank line": Case(b"\r\n", CLOSED),
}  # fmt: skip
HEADERS = {
    **{
        field[:20]: Case(sized(field), BAD)
        for field in (
            "X: a\rb", "X: a\rContent-Length: 3", "X\r: a", "X: a\r", "X: a\0b", "X\0: a", "\0"
        )
    },
    **{
        field[:20]: Case(sized(field), OK)
        for field in (
            "X Y: z", "X : y", ": y", ":", "X: \x01\x1b\x7f", "X\x01: y", "X: \xfc", "X-\xfc: y",
            "<!doctype html>", "!#$%&'*+-.^_`|~09azAZ: y"
        )
    },
    "none": Case(ok(), OK),
    "line ends of LF": Case(sized("X: y", end="\n"), OK, 1),
    "mixed line ends": Case(b"HTTP/1.1 200 OK\nX: y\r\nContent-Length: 10\n\r\n" + BODY, OK),
    "other mixed line ends": Case(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\n" + BODY, OK),
    "no colon": Case(sized("no colon here"), OK, 1),
    "no colon at the end": Case(ok("Content-Length: 10", "no colon"), OK),
    "blank before the colon of the length": Case(ok("Content-Length : 10"), OK, 1),
    "no value": Case(sized("X:", "Y: "), OK),
    "no blank": Case(ok("Content-Length:10"), OK, 1),
    "many blanks": Case(ok("Content-Length: \t  10 \t "), OK, 1),
    "folded": Case(sized("X: a", " b", "\tc"), OK),
    "folded length": Case(ok("Content-Length:", " 10"), OK, 1),
    "folded at first": Case(ok(" X: y", "Content-Length: 10"), OK),
    "folded after no colon": Case(ok("nothing", " Content-Length: 3", "Content-Length: 10"), OK),
    "UTF-8": Case(sized("X: \u00fc".encode()), OK),
    "name in brackets": Case(sized("(X): y", "[Y]: z", "<a href: b"), OK),
    "capitals": Case(ok("CONTENT-LENGTH: 10"), OK, 1),
    "the same many times": Case(sized(*["X: y"] * 500), OK, 1),
    "thousands": Case(sized(*[f"X-{at}: y" for at in range(2500)]), OK, 1),
    "too many": Case(sized(*["X: y"] * 10_000), BAD),
    "long": Case(sized("X: " + "y" * 30_000), OK),
    "too long": Case(sized("X: " + "y" * 40_000), BAD),
    "long name": Case(sized("X" * 30_000 + ": y"), OK),
    "just small enough": Case(sized("X: " + "y" * (HEAD_BYTES - 44)), OK),
    "just too large": Case(sized("X: " + "y" * (HEAD_BYTES - 43)), BAD),
    "long without a colon": Case(sized("y" * 30_000), OK),
    "blanks without end": Case(sized("X: " + " " * 30_000 + "y", "Y:" + " " * 100), OK),
    "endless": Case(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000, BAD),
    "endless line": Case(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 60_000, BAD),
    "a second status line": Case(sized("HTTP/1.1 404 Not Found"), OK),
}  # fmt: skip
LENGTHS = {
    **{
        length: Case(ok(f"Content-Length: {length}"), BAD)
        for length in (
            "10, 5", "10,", "+10", "-10", "-0", "1_0", "10.0", "0xA", "1e1", "1 0", "ten",
            "10 bytes", "\xb9\xb2"
        )
    },
    "0": Case(ok("Content-Length: 0", body=b""), EMPTY, 1),
    "twice": Case(sized("Content-Length: 10"), OK, 1),
    "three in two lines": Case(sized("Content-Length: 10, 10"), OK),
    "with a comma": Case(ok("Content-Length: 10,10"), OK, 1),
    "zeros first": Case(ok("Content-Length: 0010"), OK, 1),
    "different": Case(sized("Content-Length: 5"), BAD),
    "quoted": Case(ok('Content-Length: "10"'), BAD),
    "empty": Case(ok("Content-Length:"), BAD),
    "digits of UTF-8": Case(ok("Content-Length: \u0661\u0660".encode()), BAD),
    "huge": Case(ok("Content-Length: " + "9" * 30), BAD),
    "very long": Case(ok("Content-Length: " + "9" * 5000), BAD),
    "large": Case(ok("Content-Length: 999999999999"), cut_off()),
    "less follows": Case(ok("Content-Length: 11"), cut_off()),
    "nothing follows": Case(ok("Content-Length: 10", body=b""), cut_off(b"")),
    "more follows": Case(ok("Content-Length: 4"), b"0123", 2),
    "another response follows": Case(sized() + sized(body=b"wrong"), OK, 2),
    "a line end follows": Case(sized() + b"\r\n", OK),
    "something follows nothing": Case(ok("Content-Length: 0"), EMPTY, 2),
    "none": Case(ok("X: y"), OK),
    "none, and nothing follows": Case(ok("X: y", body=b""), EMPTY),
    "none, kept alive": Case(ok("Connection: keep-alive"), OK),
    "none in HTTP/1.0": Case(ok(status="HTTP/1.0 200 OK"), OK),
    "closed, says the head": Case(sized("Connection: close"), OK, 2),
    "closed among others": Case(sized("Connection: x, Close"), OK, 2),
    "closed in two lines": Case(sized("Connection: keep-alive", "Connection: close"), OK, 2),
}  # fmt: skip
CHUNKED = {
    **{
        f"size {size[:20]!r}": Case(chunked(size + b"\r\n0123456789abcdef\r\n0\r\n\r\n"), bad_chunk())
        for size in (
            b"0xa", b"1_0", b"+a", b"-a", b" a", b"1 0", b"", b";x", b"g", b"ffffffffffffffff",
            b"a\x00"
        )
    },
    "ordinary": Case(chunked(*CHUNKS), OK, 1),
    "nothing": Case(chunked(b"0\r\n\r\n"), EMPTY, 1),
    "line ends of LF": Case(chunked(b"4\n0123\n6\n456789\n0\n\n"), OK, 1),
    "capitals": Case(ok("TRANSFER-ENCODING: CHUNKED", body=b"A\r\n0123456789\r\n0\r\n\r\n"), OK),
    "lower case size": Case(chunked(b"a\r\n0123456789\r\n0\r\n\r\n"), OK),
    "zeros first": Case(chunked(b"0000000000000000000a\r\n0123456789\r\n000\r\n\r\n"), OK),
    "blank after the size": Case(chunked(b"a \r\n0123456789\r\n0 \r\n\r\n"), OK),
    "tab after the size": Case(chunked(b"a\t\r\n0123456789\r\n0\r\n\r\n"), OK),
    "extension": Case(chunked(b"a;x=y\r\n0123456789\r\n0;z\r\n\r\n"), OK),
    "blank before an extension": Case(chunked(b"a ; x\r\n0123456789\r\n0\r\n\r\n"), OK),
    "quoted extension": Case(chunked(b'a;x="\\"; y"\r\n0123456789\r\n0\r\n\r\n'), OK),
    "long extension": Case(chunked(b"a;" + b"x" * 9000 + b"\r\n0123456789\r\n0\r\n\r\n"), OK),
    "too long extension": Case(chunked(b"a;" + b"x" * 20_000 + b"\r\n0123456789\r\n0\r\n\r\n"), bad_chunk()),
    "trailers": Case(chunked(*CHUNKS[:2], b"0\r\nX: y\r\nZ: z\r\n\r\n"), OK, 1),
    "odd trailers": Case(chunked(*CHUNKS[:2], b"0\r\nno colon\r\n: y\r\n\r\n"), OK),
    "length in trailers": Case(chunked(*CHUNKS[:2], b"0\r\nContent-Length: 3\r\n\r\n"), OK, 1),
    "too many trailers": Case(
        chunked(*CHUNKS[:2], b"0\r\n" + b"X: y\r\n" * 10_000 + b"\r\n"), bad_chunk(BODY)
    ),
    "with a length": Case(chunked(*CHUNKS, fields=("Content-Length: 3",)), OK, 2),
    "after a length": Case(ok("Content-Length: 3", "Transfer-Encoding: chunked", body=IN_CHUNKS), OK, 2),
    "with a bad length": Case(chunked(*CHUNKS, fields=("Content-Length: x",)), OK),
    "with two lengths": Case(chunked(*CHUNKS, fields=("Content-Length: 1", "Content-Length: 2")), OK),
    "HTTP/1.0": Case(chunked(*CHUNKS, status="HTTP/1.0 200 OK"), OK),
    "twice": Case(chunked(*CHUNKS, fields=("Transfer-Encoding: chunked",)), OK),
    "after gzip": Case(ok("Transfer-Encoding: gzip, chunked", body=IN_CHUNKS), OK),
    "before gzip": Case(ok("Transfer-Encoding: chunked, gzip", body=IN_CHUNKS), OK),
    "identity": Case(sized("Transfer-Encoding: identity"), OK),
    "gzip alone": Case(sized("Transfer-Encoding: gzip"), OK, 2),
    "gzip alone, until the end": Case(ok("Transfer-Encoding: gzip"), OK),
    "almost its name": Case(sized("Transfer-Encoding: xchunked"), OK),
    "quoted name": Case(sized('Transfer-Encoding: "chunked"'), OK),
    "empty name": Case(sized("Transfer-Encoding:"), OK),
    "blank in its name": Case(sized("Transfer-Encoding: chun ked"), OK),
    "tab before its name": Case(ok("Transfer-Encoding:\tchunked", body=IN_CHUNKS), OK),
    "blank before its colon": Case(ok("Transfer-Encoding : chunked", body=IN_CHUNKS), OK),
    "more follows": Case(chunked(*CHUNKS) + b"junk", OK, 2),
    "another response follows": Case(chunked(*CHUNKS) + sized(body=b"wrong"), OK, 2),
    "negative zero": Case(chunked(*CHUNKS[:2], b"-0\r\n\r\n"), bad_chunk(BODY)),
    "very long": Case(chunked(b"f" * 10_000 + b"\r\n0123456789\r\n0\r\n\r\n"), bad_chunk()),
    "bare CR": Case(chunked(b"a\r0123456789\r\n0\r\n\r\n"), bad_chunk()),
    "longer than said": Case(chunked(b"4\r\n0123456789\r\n0\r\n\r\n"), bad_chunk(b"0123")),
    "no line end after it": Case(chunked(b"4\r\n01236\r\n456789\r\n"), bad_chunk(b"0123")),
    "shorter than said": Case(chunked(b"f\r\n0123456789\r\n0\r\n\r\n"), cut_off(BODY + b"\r\n0\r\n")),
    "a bad one after good ones": Case(chunked(*CHUNKS[:2], b"x\r\n"), bad_chunk(BODY)),
    "not in chunks": Case(chunked(b"<urlset/>\n"), bad_chunk()),
    "cut before it": Case(chunked(), cut_off(b"")),
    "cut in a size": Case(chunked(b"4\r\n0123\r\n6"), cut_off(b"0123")),
    "cut in a chunk": Case(chunked(b"a\r\n01234"), cut_off(b"01234")),
    "cut after a chunk": Case(chunked(*CHUNKS[:2]), cut_off()),
    "cut after the last size": Case(chunked(*CHUNKS[:2], b"0\r\n"), cut_off()),
    "cut in trailers": Case(chunked(*CHUNKS[:2], b"0\r\nX: y\r\n"), cut_off()),
}  # fmt: skip
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
INTERIM = {
    "100": Case(b"HTTP/1.1 100 Continue\r\n\r\n" + sized(), OK, 1),
    "103": Case(EARLY + sized(), OK, 1),
    "199": Case(b"HTTP/1.1 199 Soon\r\n\r\n" + sized(), OK),
    "line ends of LF": Case(b"HTTP/1.1 100 Continue\n\n" + sized(end="\n"), OK),
    "with a length": Case(b"HTTP/1.1 100 Continue\r\nContent-Length: 10\r\n\r\n" + sized(), OK),
    "with two lengths": Case(
        b"HTTP/1.1 100 Go\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" + sized(), OK
    ),
    "in chunks": Case(b"HTTP/1.1 100 Go\r\nTransfer-Encoding: chunked\r\n\r\n" + sized(), OK),
    "closes, it says": Case(b"HTTP/1.1 100 Go\r\nConnection: close\r\n\r\n" + sized(), OK),
    "50": Case(b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + sized(), OK, 1),
    "500": Case(b"HTTP/1.1 102 Processing\r\n\r\n" * 500 + sized(), OK),
    "without end": Case(b"HTTP/1.1 100 Continue\r\n\r\n" * 5000, BAD),
    "a large one": Case(
        b"HTTP/1.1 103 Early Hints\r\nX: %s\r\n\r\n" % (b"x" * 20_000) + sized("Y: " + "y" * 20_000),
        OK,
    ),
    "alone": Case(EARLY, CLOSED),
    "before half a head": Case(EARLY + b"HTTP/1.1 200 OK\r\nX", CLOSED),
    "before junk": Case(EARLY + b"junk", NO_HTTP),
    "a body after it": Case(EARLY + BODY + sized(), NO_HTTP),
    "before a redirect": Case(
        EARLY + ok("Location: /there", "Content-Length: 0", body=b"", status="HTTP/1.1 302 F"),
        b"there",
    ),
}  # fmt: skip
EMPTY_BODIES = {
    f"{status} {name}": Case(ok(*fields, body=body, status=f"HTTP/1.1 {status} X"), outcome)
    for status, outcome in ((204, EMPTY), (205, EMPTY), (304, ERROR))
    for name, fields, body in (
        ("alone", (), b""),
        ("with a length", ("Content-Length: 10",), b""),
        ("with a body", (), BODY),
        ("with a body of a length", ("Content-Length: 10",), BODY),
        ("with chunks", ("Transfer-Encoding: chunked",), IN_CHUNKS),
        ("with a bad length", ("Content-Length: x",), b""),
        ("with a response after it", ("Content-Length: 0",), sized(body=b"wrong")),
    )
}
PACKED = gzip.compress(BODY, mtime=0)
CONTENT_ENCODINGS = {  # gzip and deflate are decompressed later, by their content
    "empty": Case(sized("Content-Encoding:"), OK),
    "twice": Case(sized("Content-Encoding: gzip", "Content-Encoding: gzip", body=PACKED), PACKED),
    "gzip and cut": Case(
        ok("Content-Encoding: gzip", f"Content-Length: {len(PACKED)}", body=PACKED[:-3]),
        cut_off(PACKED[:-3]),
    ),
}


def moved(
    *locations: str | bytes, status: int = 302, fields: tuple = ("Content-Length: 0",), body=b""
):
    lines = [
        b"Location: " + (where.encode("latin-1") if isinstance(where, str) else where)
        for where in locations
    ]
    return ok(*lines, *fields, body=body, status=f"HTTP/1.1 {status} Moved")


NOWHERE = "bad-redirect"
REDIRECTS = {
    **{
        where: Case(moved(where), b"there")
        for where in ("/there", "there", "/there#x", "  /there \t", "/the\tr\te", "\\there")
    },
    **{f"{n}": Case(moved("/there", status=n), b"there") for n in (301, 303, 307, 308)},
    **{f"{n} is not one": Case(moved("/there", status=n), ERROR) for n in (300, 304)},
    "200 is not one": Case(sized("Location: /there"), OK),
    "folded": Case(moved(b"\r\n /there"), b"there"),
    "with a body": Case(moved("/there", fields=("Content-Length: 10",), body=BODY), b"there"),
    "until the end": Case(moved("/there", fields=(), body=BODY), b"there"),
    "until the end, empty": Case(moved("/there", fields=()), b"there"),
    "in chunks": Case(
        moved("/there", fields=("Transfer-Encoding: chunked",), body=IN_CHUNKS), b"there"
    ),
    "more follows": Case(moved("/there") + sized(body=b"wrong"), b"there"),
    "half a body": Case(moved("/there", fields=("Content-Length: 99",), body=BODY), b"there"),
    "twice the same": Case(moved("/there", "/there"), b"there"),
    "two": Case(moved("/there", "/next"), BAD),
    "a comma": Case(moved("/there,x"), "not-found"),
    "none": Case(moved(), ERROR),
    "empty": Case(moved(""), ERROR),
    "empty and another": Case(moved("", "/there"), BAD),
    "UTF-8": Case(moved("/\u00fc".encode()), b"umlaut"),
    "Latin-1": Case(moved("/\xfc"), b"umlaut"),
    "another scheme": Case(moved("ftp://127.0.0.1/"), NOWHERE),
    "backslashes in the path": Case(moved("/x\\y\\..\\..\\there"), b"there"),
    "a backslash in the query": Case(moved("/there?a\\b"), "not-found"),
    "a backslash in the host": Case(moved("http://127.0.0.1\\@localhost/there"), NOWHERE),
    "a control character": Case(moved("/the\x01re"), NOWHERE),
    "a bare CR": Case(moved("/the\rre"), BAD),
    "NUL": Case(moved("/the\0re"), BAD),
    "two lengths": Case(moved("/there", fields=("Content-Length: 1", "Content-Length: 0")), BAD),
    "to itself": Case(moved("/"), "limit-redirects"),
    "cut": Case(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /the", CLOSED),
    "cut before the end": Case(b"HTTP/1.1 302 Found\r\nLocation: /there\r\n", CLOSED),
}

GROUPS = {
    "status line": STATUS_LINES,
    "headers": HEADERS,
    "length": LENGTHS,
    "chunks": CHUNKED,
    "interim": INTERIM,
    "without body": EMPTY_BODIES,
    "encoding": CONTENT_ENCODINGS,
    "redirect": REDIRECTS,
}
TABLE = {
    f"{group}: {name}": case for group, cases in GROUPS.items() for name, case in cases.items()
}


@contextlib.contextmanager
def serving(case: Case) -> Iterator[tuple[str, list[int]]]:
    """Serve a case as ``/``, and ordinary responses elsewhere; gives the URL, and counts connections."""
    others = {b"/next": b"next", b"/there": b"there", b"/%C3%BC": b"umlaut"}
    count = [0]

    def talk(connection: socket.socket) -> None:
        count[0] += 1
        connection.settimeout(60)
        while True:
            request = b""
            while b"\r\n\r\n" not in request:
                request += (got := connection.recv(65536))
                if not got:
                    return
            path = request.split(b" ")[1]
            if path != b"/":
                body = others.get(path)
                status = "HTTP/1.1 404 Not Found" if body is None else "HTTP/1.1 200 OK"
                connection.sendall(sized(body=body or b"", status=status))
                continue
            connection.sendall(case.sent)
            if case.closes:
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
                return

    with speaking(talk, first=False) as url:
        yield url, count
