"""Faults that may hit any document of a generated website, and what each leaves of it."""

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from fault_documents import Written
from fault_replies import (
    CHALLENGE,
    PAGE,
    chunked,
    cut,
    drip,
    endless,
    hang_up,
    ok,
    packed,
    raw,
    redirect,
    reset,
    reset_in_headers,
    stall,
    status,
)

from website import Answer, Endless

LIMIT = 512 * 1024
"""How many bytes of a document a crawl of generated websites may receive."""


@dataclass(frozen=True)
class Effect:
    """What a document answers. ``kept`` is where it is cut, None if nothing of it comes.

    ``named`` is whether it must be among the failures.
    """

    answer: Answer | list[Answer]
    kept: int | None
    named: bool


def whole(document: Written, answer: Answer | list[Answer]) -> Effect:
    return Effect(answer, len(document.data), named=False)


def nothing(answer: Answer | list[Answer]) -> Effect:
    return Effect(answer, None, named=True)


# What passes ----------------------------------------------------------------------------------------

_ENCODINGS: dict[str, Callable[[bytes], Answer]] = {
    "plain": ok,
    "gzip": lambda data: ok(packed(data)),
    "gzip, announced": lambda data: ok(packed(data), content_encoding="gzip"),
    "gzip twice": lambda data: ok(packed(data, 2)),
    "gzip and junk": lambda data: ok(packed(data) + b"junk"),
    "a mark": lambda data: ok(b"\xef\xbb\xbf" + data),
    "UTF-16": lambda data: ok(data.decode().replace("UTF-8", "UTF-16").encode("utf-16")),
    "a wrong label": lambda data: ok(data, content_type="text/xml; charset=koi8-r"),
    "chunks": lambda data: chunked(*(data[at : at + 300] for at in range(0, len(data), 300))),
    "a drip": lambda data: drip(data, 0.001, max(40, len(data) // 20)),
    "no length": lambda data: raw(b"HTTP/1.1 200 OK\r\n\r\n", data),
}


def fine(chance: random.Random, document: Written) -> Effect:
    """Serve the whole document, in some way or other."""
    encoding = chance.choice(["plain"] * len(_ENCODINGS) + list(_ENCODINGS))
    return whole(document, _ENCODINGS[encoding](document.data))


def at_last(chance: random.Random, document: Written, *, probe: bool) -> Effect:
    """Fail as often as a patient client bears it, then serve the whole document."""
    connection, busy, server = (1, 1, 1) if probe else (2, 4, 4)
    data = document.data
    failures = [
        chance.choice([reset(), hang_up(), cut(data, chance.randrange(1, len(data)))])
        for _ in range(chance.randint(0, connection))
    ]
    failures += [
        chance.choice([status("503 Unavailable", retry_after=0), status("429 Too Many Requests")])
        for _ in range(chance.randint(0, busy))
    ]
    failures += [
        chance.choice([status("500 Internal Server Error"), status("502 Bad Gateway")])
        for _ in range(chance.randint(0, server))
    ]
    chance.shuffle(failures)
    return whole(document, [*failures, ok(data)])


# What does not --------------------------------------------------------------------------------------


def _failing(make: Callable[[random.Random], Answer]) -> Callable[[random.Random, Written], Effect]:
    return lambda chance, _: nothing(make(chance))


def _no_answer(chance: random.Random) -> Answer:
    flood = raw(b"HTTP/1.1 200 OK\r\n", Endless(b"X-Flood: flood\r\n" * 500))
    no_http = raw(b"SSH-2.0-OpenSSH_9.6\r\n")
    return chance.choice([reset(), hang_up(), reset_in_headers(), no_http, flood])


_REFUSALS = ["403 Forbidden", "404 Not Found", "410 Gone", "401 Unauthorized"]
_ERRORS = [
    status("500 Internal Server Error"),
    status("503 Service Unavailable", CHALLENGE),
    status("429 Too Many Requests", retry_after=86400),
]
_NO_SITEMAPS = [PAGE, b"", b"   \n", b'{"error": 404}', b"\0" * 100]
_MISDIRECTIONS = ["file:///etc/passwd", "gopher://127.0.0.1/", "?again", "/no/such/thing"]

refused = _failing(lambda chance: status(chance.choice(_REFUSALS), CHALLENGE))
failing = _failing(lambda chance: chance.choice([*_ERRORS, _no_answer(chance), _no_answer(chance)]))
no_sitemap = _failing(lambda chance: ok(chance.choice(_NO_SITEMAPS)))
challenged = _failing(lambda _: ok(CHALLENGE))  # nobody knows what stands behind it
misdirected = _failing(lambda chance: redirect(chance.choice(_MISDIRECTIONS)))


def breaks_off(chance: random.Random, document: Written) -> Effect:
    """Send a part, at every try; of several parts the longest counts."""
    data = document.data
    places = sorted(chance.randrange(1, len(data)) for _ in range(chance.choice([1, 1, 3])))
    longest = places[-1]
    chance.shuffle(places)
    how = chance.choice([cut, cut, lambda d, at: chunked(d[:at], last=b"", end="close")])
    replies = [how(data, at) for at in places]
    return Effect(replies if len(replies) > 1 else replies[0], longest, named=True)


def falls_silent(chance: random.Random, document: Written) -> Effect:
    place = chance.randrange(1, len(document.data))
    return Effect(stall(document.data, place), place, named=True)


def goes_on(chance: random.Random, document: Written) -> Effect:
    """Never end."""
    kept = document.body_end
    return Effect(endless(document.data[:kept], b" " * 16384), kept, named=True)


def cut_short(chance: random.Random, document: Written) -> Effect:
    """Serve a file that is not whole, as if it were."""
    kept = chance.randrange(document.body_end // 2, document.body_end)
    return Effect(ok(document.data[:kept]), kept, named=True)


def gzip_cut(chance: random.Random, document: Written) -> Effect:
    data = packed(document.data)
    data = data[: chance.randrange(len(data) // 2, len(data) - 8)]
    return Effect(ok(data), len(zlib.decompressobj(31).decompress(data)), named=True)


def bad_checksum(chance: random.Random, document: Written) -> Effect:
    data = bytearray(packed(document.data))
    data[-5 - chance.randrange(4)] ^= 1 << chance.randrange(8)
    return Effect(ok(bytes(data)), len(document.data), named=True)
