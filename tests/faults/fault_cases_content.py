"""Faults of what is sent: compression, encodings, markup, indexes."""

from __future__ import annotations

from fault_cases import ALL, BAD, at_page, body, case, listing
from fault_replies import bomb, cut, ok, packed

from usp.limits import Limits
from website import SITEMAP_NS

# Compression --------------------------------------------------------------------------------------


@case("gzip that breaks off", found=None, failure="breaks off")
def _(base):
    data = packed(body(base))
    return ok(data[: len(data) * 3 // 4])


@case("gzip with a wrong checksum", found=ALL, failure="compressed data")
def _(base):
    data = bytearray(packed(body(base)))
    data[-6] ^= 0xFF
    return ok(bytes(data))


@case("gzip that is corrupted in the middle", and_perhaps=True, failure="")
def _(base):
    data = bytearray(packed(body(base)))
    data[len(data) // 2 : len(data) // 2 + 8] = b"\xff" * 8
    return ok(bytes(data))


case("gzip in gzip in gzip", lambda base: ok(packed(body(base), 3)), found=ALL)
case(
    "gzip in gzip, one announced",
    lambda base: ok(packed(body(base), 2), content_encoding="gzip"),
    found=ALL,
)
case("gzip ten times", lambda base: ok(packed(body(base), 10)), failure="")
case(
    "gzip with junk behind it",
    lambda base: ok(packed(body(base)) + b"<!-- served in 3 ms -->"),
    found=ALL,
    problem="data after the end",
)
case("gzip announced, but plain", lambda base: ok(body(base), content_encoding="gzip"), found=ALL)
case(
    "brotli announced, but plain",
    lambda base: ok(body(base), content_encoding="br"),
    found=None,
    failure=None,
)
case(
    "zstd announced, but plain",
    lambda base: ok(body(base), content_encoding="zstd"),
    found=None,
    failure=None,
)
case(
    "brotli announced, and something",
    lambda _: ok(b"\x8b\x05\x80" + bytes(range(128, 200)), content_encoding="br"),
    failure="",
)
case("an encoding nobody knows", lambda base: ok(body(base), content_encoding="x-rot13"), found=ALL)
case(
    "a bomb of a thousand to one",
    lambda base: ok(bomb(body(base).removesuffix(b"</urlset>"), b" ", 300)),
    found=ALL,
    failure="limit",
    seconds=20,
)


@case("a bomb in a bomb", failure="", found=None, seconds=20)
def _(base):
    inner = bomb(body(base).removesuffix(b"</urlset>"), b" ", 300)
    return ok(packed(inner))


case(
    "a small bomb",
    lambda base: ok(bomb(body(base).removesuffix(b"</urlset>"), b" ", 4)),
    found=ALL,
    failure="unpacked_bytes",
    limits=Limits(unpacked_bytes=1 << 20),
)


# Encodings ----------------------------------------------------------------------------------------

case("UTF-16 with a mark", lambda base: ok(body(base).decode().encode("utf-16")), found=ALL)
case("UTF-16 without a mark", lambda base: ok(body(base).decode().encode("utf-16-be")), found=ALL)
case("UTF-8 with a mark", lambda base: ok(body(base).decode().encode("utf-8-sig")), found=ALL)
case(
    "a wrong charset in the header",
    lambda base: ok(body(base), content_type="text/xml; charset=utf-16"),
    found=ALL,
)
case(
    "a charset that nobody knows",
    lambda base: ok(body(base), content_type="text/xml; charset=klingon"),
    found=ALL,
)


@case("a wrong charset in the declaration", found=ALL)
def _(base):
    text = body(base).replace(b'version="1.0"', b'version="1.0" encoding="UTF-16"')
    return ok(text)


case(
    "zero bytes between entries",
    lambda base: ok(body(base).replace(b"</url>", b"</url>\0\0")),
    found=ALL,
)
case(
    "bytes that are no UTF-8",
    lambda base: ok(body(base).replace(b"</url>", b"<x>\xff\xfe\x80</x></url>")),
    found=ALL,
)


# Markup -------------------------------------------------------------------------------------------

_LAUGHS = "".join(
    f'<!ENTITY l{n} "{"".join([f"&l{n - 1};"] * 10)}">' if n else '<!ENTITY l0 "lol">'
    for n in range(10)
)

case(
    "a bomb of entities",
    lambda base: ok(
        f"<!DOCTYPE urlset [{_LAUGHS}]>".encode() + body(base).replace(b"/b9", b"/&l9;")
    ),
    failure="",
)


@case("an external entity", failure="")
def _(base):
    doctype = b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    return ok(doctype + body(base).replace(b"/b9", b"/&x;"))


case(
    "a DOCTYPE without declarations",
    lambda base: ok(b"<!DOCTYPE urlset SYSTEM '/urlset.dtd'>" + body(base)),
    found=ALL,
    problem="a DOCTYPE before the document",
)
case(
    "a DOCTYPE with declarations",
    lambda base: ok(b"<!DOCTYPE urlset [<!ELEMENT urlset ANY>]>" + body(base)),
    failure="",
)
case(
    "elements nested a hundred thousand deep",
    lambda base: ok(
        body(base).replace(b"</urlset>", b"<a>" * 100_000 + b"</a>" * 100_000 + b"</urlset>")
    ),
    found=ALL,
)
case(
    "a hundred thousand elements that never end",
    lambda base: ok(body(base).removesuffix(b"</urlset>") + b"<a>" * 100_000),
    found=ALL,
    problem="breaks off",
)


@case("a tag with a million attributes", found=ALL, problem="")
def _(base):
    tag = b"<url " + b"".join(b'a%d="" ' % n for n in range(1_000_000)) + b"></url>"
    return ok(body(base).replace(b"</urlset>", tag + b"</urlset>"))


@case("a gigantic text", found=ALL, problem="")
def _(base):
    entry = b"<url><loc>" + b"x" * (8 << 20) + b"</loc></url>"
    return ok(body(base).replace(b"</urlset>", entry + b"</urlset>"))


case(
    "a gigantic comment",
    lambda base: ok(
        body(base).replace(b"</urlset>", b"<!--" + b"-x" * (4 << 20) + b"--></urlset>")
    ),
    found=ALL,
)
case(
    "no closing tags at all",
    lambda base: ok(body(base).replace(b"</loc></url>", b"").replace(b"</urlset>", b"")),
    found=9,
    failure="breaks off",
)
case(
    "a document that ends in the middle",
    lambda base: ok(body(base)[: at_page(base, 4)]),
    found=4,
    failure="breaks off",
    problem="breaks off",
)
case(
    "HTML instead of XML",
    lambda _: ok(b"<!DOCTYPE html><html><body><a href='/b0'>a page</a></body></html>"),
    failure="",
)
case(
    "a list of URLs and a flood of empty lines",
    lambda base: ok("".join(f"{base}{path}\n" for path in BAD).encode() + b"\n" * (48 << 10)),
    found=ALL,
    seconds=2,
)
case("a flood of empty lines", lambda _: ok(b"x" + b"\n" * (48 << 10)), failure="", seconds=2)


@case("a list of URLs that breaks off in a line", found=4, failure="")
def _(base):
    text = "".join(f"{base}{path}\n" for path in BAD).encode()
    return cut(text, 4 * (len(base) + 4) + 12)


case(
    "a document that breaks off before its root, then fine",
    lambda base: [cut(body(base), 10), ok(body(base))],
    found=ALL,
)
case(
    "a document that breaks off earlier the second time",
    lambda base: [cut(body(base), at_page(base, 4)), cut(body(base), 10)],
    found=4,
    failure="",
)
case(
    "JSON instead of XML",
    lambda _: ok(b'{"error": "no such sitemap"}', content_type="application/json"),
    failure="",
)
case("zero bytes only", lambda _: ok(b"\0" * 5000), failure="")
case("an image", lambda _: ok(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20), failure="")


# Indexes ------------------------------------------------------------------------------------------

case(
    "indexes that list each other",
    lambda base: {
        "/bad.xml": ok(listing(f"{base}/i1.xml", f"{base}/p.xml")),
        "/i1.xml": ok(listing(f"{base}/i2.xml")),
        "/i2.xml": ok(listing(f"{base}/bad.xml")),
        "/p.xml": ok(body(base)),
    },
    found=ALL,
    at="/bad.xml",
)
case(
    "an index that lists itself",
    lambda base: {
        "/bad.xml": ok(listing(f"{base}/bad.xml", f"{base}/p.xml")),
        "/p.xml": ok(body(base)),
    },
    found=ALL,
)
case(
    "an index that lists what is no HTTP",
    lambda base: {
        "/bad.xml": ok(
            listing("file:///etc/passwd", "gopher://x/", "javascript:1", f"{base}/p.xml")
        ),
        "/p.xml": ok(body(base)),
    },
    found=ALL,
    problem="",
)
case(
    "an index with one child twelve times",
    lambda base: {"/bad.xml": ok(listing(*[f"{base}/p.xml"] * 12)), "/p.xml": ok(body(base))},
    found=ALL,
)
case(
    "a namespace that is none",
    lambda base: ok(body(base).replace(SITEMAP_NS.encode(), b"http://example.org/none")),
    found=ALL,
)
