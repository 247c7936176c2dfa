"""Rules about robots.txt and about how sitemaps are sent: from both sides of each bound."""

import gzip

from check_examples import (
    HOME,
    Client,
    codes_in,
    found_at,
    found_in,
    index,
    locs,
    replies_of,
    tree_of,
    with_robots,
    wrapped,
)

import usp
from memory_web import Doc
from usp.checks.rules import sm2_transport
from website import rss

PAGE = f"{locs('/tea')}\n"
XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


NAMED = (
    "User-agent: *\nDisallow: /\n\nUser-agent: Googlebot\nUser-agent: bingbot\nDisallow: /cart\n"
)
STORY = """<url><loc>https://example.org/tea</loc><news:news><news:publication>
<news:name>Tea</news:name><news:language>en</news:language></news:publication>
<news:publication_date>{now-3h}</news:publication_date><news:title>Tea</news:title></news:news></url>"""
FOR_NEWS = "User-agent: Googlebot-News\nDisallow: /t\n"


def test_robots_txt_is_judged_for_search_engines():
    everyone = with_robots("User-agent: *\nDisallow: /", PAGE)
    assert sorted(codes_in(everyone)) == ["SM104", "SM411"]
    assert codes_in(with_robots(NAMED, PAGE)) == ["SM115"]
    assert codes_in(with_robots(NAMED, PAGE), agents=["Googlebot"]) == []
    assert sorted(codes_in(with_robots(NAMED, PAGE), agents="*")) == ["SM104", "SM411"]
    assert sorted(codes_in(with_robots(NAMED, PAGE), agents=["Applebot"])) == ["SM104", "SM411"]
    (found,) = found_in(with_robots(NAMED.replace("cart", "t"), PAGE), select=["SM4"])
    assert found.message == "robots.txt disallows the page for all robots"
    assert codes_in(with_robots(FOR_NEWS, PAGE)) == []
    (found,) = found_in(with_robots(FOR_NEWS, f"{PAGE}{STORY}".replace("/tea", "/teas", 1)))
    assert (found.code, found.page) == ("SM411", f"{HOME}/tea")
    assert found.message == "robots.txt disallows the page for Googlebot-News"


def test_a_verdict_is_as_bad_as_what_search_engines_may_not_fetch():
    colors = {
        rules: usp.checks.verdict(tree_of(with_robots(rules, PAGE))).color
        for rules in (NAMED, NAMED.replace("bingbot", "Slurp"), "User-agent: *\nDisallow: /")
    }
    assert [*colors.values()] == ["green", "red", "red"]


def test_a_robots_txt_of_exactly_500_kib_is_read_to_its_end():
    lines, rest = divmod(500 * 1024 - len(f"\nSitemap: {HOME}/sitemap.xml\n"), 100)
    body = ("#" * 99 + "\n") * lines + "#" * rest
    for more, expected in {"": [], "#": ["SM105"]}.items():
        assert codes_in(with_robots(more + body, PAGE)) == expected


def test_nothing_is_said_about_a_robots_txt_that_was_not_asked_for():
    client = Client(replies_of(f"--- /sitemap.xml\n{PAGE}"))
    assert list(usp.check(f"{HOME}/sitemap.xml", client)) == []


def test_hints_are_for_the_owner_of_a_website():
    (found,) = found_in("--- /sitemap.xml 401 (declared)\n")
    assert "auth=" not in found.hint
    assert "login" in found.hint


def test_rules_of_robots_txt_count_in_a_folder_too(tmp_path):
    (tmp_path / "a.xml").write_text(wrapped(PAGE))
    (tmp_path / "robots.txt").write_text(f"User-agent: *\nDisallow: /a\nSitemap: {HOME}/a.xml\n")
    (finding,) = usp.check(tmp_path / "robots.txt", select=["SM104"])
    assert finding.sitemap.endswith("/robots.txt")
    assert finding.line == 3
    assert f"{HOME}/a.xml" in finding.message


def test_redirects_of_sitemaps_that_are_not_declared_are_not_reported():
    client = Client(replies_of(f"--- /a.xml -> /b.xml\n--- /b.xml\n{PAGE}"))
    assert list(usp.check(f"{HOME}/a.xml", client)) == []


# How sitemaps are sent ------------------------------------------------------------------------------

URLSET = f"<urlset {XMLNS}>{PAGE}</urlset>".encode()
RSS = rss(f"{HOME}/tea", title="Tea").encode()


def sent(body: bytes, name: str = "sitemap.xml", **headers: str) -> list[str]:
    """Return the codes of what is found in a sitemap that was sent with some headers."""
    named = {header.replace("_", "-"): value for header, value in headers.items()}
    return [one.code for one in found_at(name, Doc(body, headers=named))]


TYPES = {
    "sitemap.xml": (
        URLSET,
        ["application/xml", "text/xml", "TEXT/XML ; charset=UTF-8", 'text/xml; charset="utf-8"'],
        ["text/plain", "application/octet-stream", "application/gzip"],
    ),
    "sitemap.php": (URLSET, ["application/x-xml"], []),
    "sitemap.rss": (RSS, ["application/rss+xml", "application/xml"], ["text/html"]),
    "sitemap.xml.gz": (
        gzip.compress(URLSET),
        ["application/gzip", "application/x-gzip", "application/octet-stream", "application/xml"],
        ["text/html"],
    ),
    "sitemap.txt": (
        b"https://example.org/tea\n",
        ["text/plain", "text/plain; charset=us-ascii"],
        ["application/xml"],
    ),
}


def test_a_type_is_right_or_wrong():
    for name, (body, right, wrong) in TYPES.items():
        told = {kind: sent(body, name, Content_Type=kind) for kind in (*right, *wrong)}
        assert told == {key: [] for key in right} | {key: ["SM201"] for key in wrong}, name
    assert sent(URLSET) == [], "a document without a type may be anything"


def test_a_damaged_file_is_told_once():
    pages = "".join(f"<url><loc>{HOME}/{n * n}</loc></url>" for n in range(2000))
    body = gzip.compress(f"<urlset {XMLNS}>{pages}</urlset>".encode())
    for at in range(500, len(body) - 8, 500):
        damaged = body[:at] + bytes([body[at] ^ 255]) + body[at + 1 :]
        assert sent(damaged, "sitemap.xml.gz") == ["SM271"], at


def test_fifty_thousand_urls_are_allowed():
    pages = "".join(f"<url><loc>{HOME}/{n}</loc></url>" for n in range(50_000))
    for more, expected in {"": [], PAGE: ["SM203"]}.items():
        body = gzip.compress(f"<urlset {XMLNS}>{pages}{more}</urlset>".encode(), 1)
        assert sent(body, "sitemap.xml.gz") == expected


def test_an_index_has_the_same_limit(monkeypatch):
    monkeypatch.setattr(sm2_transport, "PROTOCOL_URLS", 3)
    for count in (3, 4):
        found = codes_in(index(*(f"/{n}.xml" for n in range(count))))
        assert ("SM203" in found) is (count == 4)


def test_a_sitemap_of_exactly_50_mib_is_allowed(monkeypatch):
    monkeypatch.setattr(sm2_transport, "PROTOCOL_BYTES", len(URLSET))
    assert sent(gzip.compress(URLSET), "sitemap.xml.gz") == []
    assert sent(gzip.compress(URLSET + b"\n"), "sitemap.xml.gz") == ["SM202"]
    assert sent(URLSET + b"\n") == ["SM202"]


def test_compression_is_asked_of_large_documents_that_are_sent(monkeypatch, tmp_path):
    monkeypatch.setattr(sm2_transport, "LARGE", len(URLSET))
    assert sent(URLSET[:-1] + b" >") == ["SM204"]
    assert sent(URLSET.replace(b"tea", b"t")) == []
    assert sent(gzip.compress(URLSET), Content_Encoding="gzip") == []
    assert sent(URLSET, Content_Encoding="identity") == ["SM204"]
    file = tmp_path / "sitemap.xml"
    file.write_bytes(URLSET)
    assert list(usp.check(file)) == []


ONCE = gzip.compress(URLSET)
TWICE = gzip.compress(ONCE)
COMPRESSED = [
    ([], ONCE, "sitemap.xml.gz", {}),
    ([], ONCE, "sitemap.xml.gz", {"Content_Encoding": "gzip"}),
    ([], TWICE, "sitemap.xml.gz", {"Content_Encoding": "gzip"}),
    (["SM206"], TWICE, "sitemap.xml.gz", {}),
    ([], ONCE, "map?file=sitemap.xml.gz", {}),
    ([], ONCE, "sitemap", {"Content_Disposition": 'attachment; filename="sitemap.xml.gz"'}),
    ([], ONCE, "sitemap", {"Content_Type": "application/x-gzip"}),
    (["SM207"], ONCE, "sitemap", {}),
    ([], URLSET, "about.gz.html", {}),
    (["SM205"], URLSET, "sitemap.xml.gz", {"Content_Type": "application/gzip"}),
    (["SM270"], gzip.compress(URLSET * 9)[:-20], "sitemap.xml.gz", {}),
]


def test_a_compressed_sitemap_is_compressed_once_and_a_name_or_a_header_says_so():
    """By the server or as a file; and one cause is reported once."""
    for expected, body, name, headers in COMPRESSED:
        assert sent(body, name, **headers) == expected, (name, headers)


def test_a_pipe_has_no_name_that_could_announce_gzip(tmp_path):
    for name, expected in {"63": [], "a.xml.gz": [], "a.xml": ["SM207"]}.items():
        file = tmp_path / name
        file.write_bytes(gzip.compress(URLSET))
        assert [finding.code for finding in usp.check(file)] == expected


def test_utf_8_and_its_first_half_are_utf_8():
    for label in ("UTF-8", "utf-8", "utf8", "US-ASCII"):
        body = f'<?xml version="1.0" encoding="{label}"?>\n'.encode() + URLSET
        assert sent(body) == []
        assert sent(body, Content_Type=f"text/xml; charset={label.lower()}") == []
    marked = b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>' + URLSET
    assert sent(marked, Content_Type="application/xml; charset=utf-8") == []


def test_feeds_may_have_any_encoding():
    cafe = RSS.replace(b"<title>Tea", b"<title>Caf\xe9")
    body = b'<?xml version="1.0" encoding="ISO-8859-1"?>' + cafe
    assert sent(body, "feed.rss") == []
    assert sent(body, "feed.rss", Content_Type="application/rss+xml; charset=iso-8859-1") == []
    assert sent(body, "feed.rss", Content_Type="text/xml; charset=utf-8") == ["SM209"]


ENCODINGS = {
    ("utf-8", "ISO-8859-1", None): ["SM209"],  # its bytes are UTF-8
    ("latin-1", "ISO-8859-1", None): ["SM208"],
    ("ascii", "ISO-8859-1", None): ["SM208"],
    ("ascii", None, "iso-8859-1"): ["SM208"],
    ("ascii", "UTF-8", "iso-8859-1"): ["SM209"],
    ("utf-16", "UTF-16", "utf-16"): ["SM208"],
    ("utf-16", "UTF-8", None): ["SM208", "SM209"],
    ("ascii", "nonsense", None): ["SM209"],
}


def labelled(encoding, declared, header):
    """Return what is found in a document with an encoding, and what it says about it."""
    words = "<!-- tea -->" if encoding == "ascii" else "<!-- café, thé -->"
    said = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    body = f"{said}\n<urlset {XMLNS}>{words}{PAGE}</urlset>".encode(encoding)
    return sent(body, **({"Content_Type": f"text/xml; charset={header}"} if header else {}))


def test_encodings_are_told_from_their_labels():
    assert {labels: labelled(*labels) for labels in ENCODINGS} == ENCODINGS
