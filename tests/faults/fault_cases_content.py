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


@case("gzip in gzip in gzip", found=ALL)
def _(base):
    return ok(packed(body(base), 3))


@case("gzip in gzip, one announced", found=ALL)
def _(base):
    return ok(packed(body(base), 2), content_encoding="gzip")


@case("gzip ten times", failure="")
def _(base):
    return ok(packed(body(base), 10))


@case("gzip with junk behind it", found=ALL, problem="data after the end")
def _(base):
    return ok(packed(body(base)) + b"<!-- served in 3 ms -->")


@case("gzip announced, but plain", found=ALL)
def _(base):
    return ok(body(base), content_encoding="gzip")


@case("brotli announced, but plain", found=None, failure=None)
def _(base):
    return ok(body(base), content_encoding="br")


@case("zstd announced, but plain", found=None, failure=None)
def _(base):
    return ok(body(base), content_encoding="zstd")


@case("brotli announced, and something", failure="")
def _(base):
    return ok(b"\x8b\x05\x80" + bytes(range(128, 200)), content_encoding="br")


@case("an encoding nobody knows", found=ALL)
def _(base):
    return ok(body(base), content_encoding="x-rot13")


@case(
    "a bomb of a thousand to one",
    found=ALL,
    failure="limit",
    seconds=20,
)
def _(base):
    return ok(bomb(body(base).removesuffix(b"</urlset>"), b" ", 300))


@case("a bomb in a bomb", failure="", found=None, seconds=20)
def _(base):
    inner = bomb(body(base).removesuffix(b"</urlset>"), b" ", 300)
    return ok(packed(inner))


@case("a small bomb", found=ALL, failure="unpacked_bytes", limits=Limits(unpacked_bytes=1 << 20))
def _(base):
    return ok(bomb(body(base).removesuffix(b"</urlset>"), b" ", 4))


# Encodings ----------------------------------------------------------------------------------------


@case("UTF-16 with a mark", found=ALL)
def _(base):
    return ok(body(base).decode().encode("utf-16"))


@case("UTF-16 without a mark", found=ALL)
def _(base):
    return ok(body(base).decode().encode("utf-16-be"))


@case("UTF-8 with a mark", found=ALL)
def _(base):
    return ok(body(base).decode().encode("utf-8-sig"))


@case("a wrong charset in the header", found=ALL)
def _(base):
    return ok(body(base), content_type="text/xml; charset=utf-16")


@case("a charset that nobody knows", found=ALL)
def _(base):
    return ok(body(base), content_type="text/xml; charset=klingon")


@case("a wrong charset in the declaration", found=ALL)
def _(base):
    text = body(base).replace(b'version="1.0"', b'version="1.0" encoding="UTF-16"')
    return ok(text)


@case("zero bytes between entries", found=ALL)
def _(base):
    return ok(body(base).replace(b"</url>", b"</url>\0\0"))


@case("bytes that are no UTF-8", found=ALL)
def _(base):
    return ok(body(base).replace(b"</url>", b"<x>\xff\xfe\x80</x></url>"))


# Markup -------------------------------------------------------------------------------------------

_LAUGHS = "".join(
    f'<!ENTITY l{n} "{"".join([f"&l{n - 1};"] * 10)}">' if n else '<!ENTITY l0 "lol">'
    for n in range(10)
)


@case("a bomb of entities", failure="")
def _(base):
    return ok(f"<!DOCTYPE urlset [{_LAUGHS}]>".encode() + body(base).replace(b"/b9", b"/&l9;"))


@case("an external entity", failure="")
def _(base):
    doctype = b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    return ok(doctype + body(base).replace(b"/b9", b"/&x;"))


@case("a DOCTYPE without declarations", found=ALL, problem="a DOCTYPE before the document")
def _(base):
    return ok(b"<!DOCTYPE urlset SYSTEM '/urlset.dtd'>" + body(base))


@case("a DOCTYPE with declarations", failure="")
def _(base):
    return ok(b"<!DOCTYPE urlset [<!ELEMENT urlset ANY>]>" + body(base))


@case("elements nested a hundred thousand deep", found=ALL)
def _(base):
    return ok(body(base).replace(b"</urlset>", b"<a>" * 100_000 + b"</a>" * 100_000 + b"</urlset>"))


@case("a hundred thousand elements that never end", found=ALL, problem="breaks off")
def _(base):
    return ok(body(base).removesuffix(b"</urlset>") + b"<a>" * 100_000)


@case("a tag with a million attributes", found=ALL, problem="")
def _(base):
    tag = b"<url " + b"".join(b'a%d="" ' % n for n in range(1_000_000)) + b"></url>"
    return ok(body(base).replace(b"</urlset>", tag + b"</urlset>"))


@case("a gigantic text", found=ALL, problem="")
def _(base):
    entry = b"<url><loc>" + b"x" * (8 << 20) + b"</loc></url>"
    return ok(body(base).replace(b"</urlset>", entry + b"</urlset>"))


@case("a gigantic comment", found=ALL)
def _(base):
    return ok(body(base).replace(b"</urlset>", b"<!--" + b"-x" * (4 << 20) + b"--></urlset>"))


@case("no closing tags at all", found=9, failure="breaks off")
def _(base):
    return ok(body(base).replace(b"</loc></url>", b"").replace(b"</urlset>", b""))


@case("a document that ends in the middle", found=4, failure="breaks off", problem="breaks off")
def _(base):
    return ok(body(base)[: at_page(base, 4)])


@case("HTML instead of XML", failure="")
def _(base):
    return ok(b"<!DOCTYPE html><html><body><a href='/b0'>a page</a></body></html>")


@case("a list of URLs and a flood of empty lines", found=ALL, seconds=2)
def _(base):
    return ok("".join(f"{base}{path}\n" for path in BAD).encode() + b"\n" * (48 << 10))


@case("a flood of empty lines", failure="", seconds=2)
def _(base):
    return ok(b"x" + b"\n" * (48 << 10))


@case("a list of URLs that breaks off in a line", found=4, failure="")
def _(base):
    text = "".join(f"{base}{path}\n" for path in BAD).encode()
    return cut(text, 4 * (len(base) + 4) + 12)


@case("a document that breaks off before its root, then fine", found=ALL)
def _(base):
    return [cut(body(base), 10), ok(body(base))]


@case("a document that breaks off earlier the second time", found=4, failure="")
def _(base):
    return [cut(body(base), at_page(base, 4)), cut(body(base), 10)]


@case("JSON instead of XML", failure="")
def _(base):
    return ok(b'{"error": "no such sitemap"}', content_type="application/json")


@case("zero bytes only", failure="")
def _(base):
    return ok(b"\0" * 5000)


@case("an image", failure="")
def _(base):
    return ok(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)


# Indexes ------------------------------------------------------------------------------------------


@case("indexes that list each other", found=ALL, at="/bad.xml")
def _(base):
    return {
        "/bad.xml": ok(listing(f"{base}/i1.xml", f"{base}/p.xml")),
        "/i1.xml": ok(listing(f"{base}/i2.xml")),
        "/i2.xml": ok(listing(f"{base}/bad.xml")),
        "/p.xml": ok(body(base)),
    }


@case("an index that lists itself", found=ALL)
def _(base):
    return {
        "/bad.xml": ok(listing(f"{base}/bad.xml", f"{base}/p.xml")),
        "/p.xml": ok(body(base)),
    }


@case("an index that lists what is no HTTP", found=ALL, problem="")
def _(base):
    return {
        "/bad.xml": ok(
            listing("file:///etc/passwd", "gopher://x/", "javascript:1", f"{base}/p.xml")
        ),
        "/p.xml": ok(body(base)),
    }


@case("an index with one child twelve times", found=ALL)
def _(base):
    return {"/bad.xml": ok(listing(*[f"{base}/p.xml"] * 12)), "/p.xml": ok(body(base))}


@case("a namespace that is none", found=ALL)
def _(base):
    return ok(body(base).replace(SITEMAP_NS.encode(), b"http://example.org/none"))
