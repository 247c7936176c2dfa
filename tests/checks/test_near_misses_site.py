"""What looks like a mistake and is none: rules about websites, responses and documents say nothing."""

from __future__ import annotations

import gzip

from check_examples import HOME, Client, Reply, found_in, replies_of

import usp
from usp.checks import Severity
from usp.checks.rules import sm2_transport

ROBOTS = "--- /robots.txt\nUser-agent: *\nAllow: /\nSitemap: https://example.org/sitemap.xml\n"
PAGE = "<url><loc>https://example.org/tea</loc></url>\n"
XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def index_of(*urls: str) -> str:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in urls)
    return f"<sitemapindex {XMLNS}>\n{entries}</sitemapindex>\n"


def codes(example: str) -> list[str]:
    return [finding.code for finding in found_in(example)]


DISCOVERY = {
    "a redirect of robots.txt": (
        "--- /robots.txt -> /files/robots.txt\n--- /files/robots.txt\n"
        f"Sitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
    ),
    "a known path that redirects to a declared sitemap": (
        f"--- /robots.txt\nSitemap: {HOME}/map.xml\n--- /map.xml\n{PAGE}--- /sitemap.xml -> /map.xml\n"
    ),
    "a known path that an index lists": (
        f"--- /robots.txt\nSitemap: {HOME}/index.xml\n"
        f"--- /index.xml\n{index_of(f'{HOME}/sitemap.xml')}--- /sitemap.xml\n{PAGE}"
    ),
    "a sitemap that is declared without www": (
        f"--- /robots.txt\nSitemap: https://www.example.org/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
        "--- https://www.example.org/sitemap.xml\n<url><loc>https://www.example.org/tea</loc></url>\n"
    ),
    "a path that is disallowed for one robot": (
        "--- /robots.txt\nUser-agent: bad\nDisallow: /\n\nUser-agent: *\nDisallow: /cart\n"
        f"Sitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
    ),
    "a shorter rule that disallows, and a longer one that allows": (
        "--- /robots.txt\nUser-agent: *\nDisallow: /*.xml$\nAllow: /sitemap.xml\n"
        f"Sitemap: {HOME}/sitemap.xml\n--- /sitemap.xml\n{PAGE}"
    ),
    "a sitemap on another host, which robots.txt declares": (
        f"--- /robots.txt\nDisallow: /x\nSitemap: https://cdn.example.net/x.xml\n"
        f"--- https://cdn.example.net/x.xml\n{PAGE}"
    ),
    "an index on another host, which robots.txt declares, with a sitemap of the website": (
        f"--- /robots.txt\nSitemap: https://cdn.example.net/index.xml\n"
        f"--- https://cdn.example.net/index.xml\n{index_of(f'{HOME}/a.xml')}--- /a.xml\n{PAGE}"
    ),
    "two sitemaps whose URLs differ in case": (
        f"--- /robots.txt\nSitemap: {HOME}/a.xml\nSitemap: {HOME}/A.xml\n"
        f"--- /a.xml\n{PAGE}--- /A.xml\n<url><loc>https://example.org/cup</loc></url>\n"
    ),
    "a host in capitals": (
        f"--- /robots.txt\nSitemap: https://EXAMPLE.org/sitemap.xml\n"
        f"--- https://EXAMPLE.org/sitemap.xml\n{PAGE}"
    ),
    "a robots.txt that is empty but for the sitemap": f"{ROBOTS}--- /sitemap.xml\n{PAGE}",
}


def test_a_sitemap_is_found_as_it_should_be():
    assert {name: told for name, example in DISCOVERY.items() if (told := codes(example))} == {}


def test_a_robots_txt_of_exactly_500_kib_is_read_to_its_end():
    line = f"Sitemap: {HOME}/sitemap.xml\n"
    rest = 500 * 1024 - len(line)
    body = ("#" * 99 + "\n") * (rest // 100) + "#" * (rest % 100 - 1) + "\n" + line
    assert codes(f"--- /robots.txt\n{body}--- /sitemap.xml\n{PAGE}") == []
    assert codes(f"--- /robots.txt\n#{body}--- /sitemap.xml\n{PAGE}") == ["SM105"]


def test_nothing_is_said_about_a_robots_txt_that_was_not_asked_for():
    client = Client(replies_of(f"--- /sitemap.xml\n{PAGE}"))
    assert list(usp.check(f"{HOME}/sitemap.xml", client)) == []


def test_a_missing_sitemap_is_reported_with_where_it_is_declared():
    (finding,) = found_in(f"--- /robots.txt\nUser-agent: *\nAllow: /\nSitemap: {HOME}/gone.xml\n")
    assert (finding.code, finding.sitemap) == ("SM150", f"{HOME}/gone.xml")
    assert finding.message.endswith(f"(declared in {HOME}/robots.txt, line 3)")


def test_one_cause_is_reported_once():
    """A robots.txt that is missing cannot declare sitemaps; a soft 404 is not a sitemap that is HTML."""
    assert codes(f"--- /sitemap.xml\n{PAGE}") == ["SM101"]
    assert codes(f"{ROBOTS}--- /sitemap.xml\n<html><body>x</body></html>") == ["SM112"]
    assert codes("--- /robots.txt 500\n") == ["SM102"]


def test_a_mistake_in_a_declaration_is_reported_once():
    robots = f"--- /robots.txt\nSitemap: {HOME}/index.xml\n"
    index = index_of("example.org/a.xml")
    assert codes(f"{robots}--- /index.xml\n{index}--- /a.xml\n{PAGE}") == ["SM456"]
    assert codes(f"{robots}--- /index.xml\n{index_of(f'{HOME}/index.xml')}") == ["SM152"]
    mixed = f"<urlset {XMLNS}>{PAGE}<sitemap><loc>{HOME}/a.xml</loc></sitemap></urlset>\n"
    other = PAGE.replace("tea", "cup")
    assert codes(f"{robots}--- /index.xml\n{mixed}--- /a.xml\n{other}") == ["SM378"]


def test_a_sitemap_to_which_two_redirects_lead_is_checked_once():
    example = (
        f"--- /robots.txt\nSitemap: {HOME}/a.xml\nSitemap: {HOME}/b.xml\n"
        f"--- /a.xml -> /c.xml\n--- /b.xml -> /c.xml\n--- /c.xml\n{PAGE}"
    )
    assert codes(example) == ["SM111", "SM111"]


def test_rules_of_robots_txt_count_in_a_folder_too(tmp_path):
    (tmp_path / "a.xml").write_text(f"<urlset {XMLNS}>{PAGE}</urlset>")
    (tmp_path / "robots.txt").write_text(f"User-agent: *\nDisallow: /a\nSitemap: {HOME}/a.xml\n")
    found = list(usp.check(tmp_path / "robots.txt", select=["SM104"]))
    (finding,) = found
    assert finding.sitemap.endswith("/robots.txt")
    assert finding.line == 3
    assert f"{HOME}/a.xml" in finding.message


def test_only_redirects_of_declared_sitemaps_are_reported():
    example = f"--- /robots.txt\nSitemap: {HOME}/a.xml\n--- /a.xml -> /b.xml\n--- /b.xml\n{PAGE}"
    (finding,) = found_in(example)
    assert (finding.code, finding.severity) == ("SM111", Severity.WARNING)
    client = Client(replies_of(f"--- /a.xml -> /b.xml\n--- /b.xml\n{PAGE}"))
    assert list(usp.check(f"{HOME}/a.xml", client)) == []


# How sitemaps are sent ------------------------------------------------------------------------------

URLSET = f"<urlset {XMLNS}>{PAGE}</urlset>".encode()
RSS = b"""<rss version="2.0"><channel><title>Tea</title><link>https://example.org/</link>
<description>Tea</description><item><title>Tea</title><link>https://example.org/tea</link></item>
</channel></rss>"""


def sent(body: bytes, name: str = "sitemap.xml", **headers: str) -> list[str]:
    """Return the codes of what is found in a sitemap that was sent with some headers."""
    url = f"{HOME}/{name}"
    named = {header.replace("_", "-"): value for header, value in headers.items()}
    client = Client({url: Reply(body, headers=named)})
    return [one.code for one in usp.check(usp.sitemap_tree_for_sitemap(url, client))]


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


def test_a_document_without_a_type_may_be_anything():
    assert sent(URLSET) == []


def test_fifty_thousand_urls_are_allowed():
    pages = "".join(f"<url><loc>{HOME}/{n}</loc></url>" for n in range(50_000))
    whole = gzip.compress(f"<urlset {XMLNS}>{pages}</urlset>".encode())
    assert sent(whole, "sitemap.xml.gz") == []
    more = gzip.compress(f"<urlset {XMLNS}>{pages}{PAGE}</urlset>".encode())
    assert sent(more, "sitemap.xml.gz") == ["SM203"]


def test_an_index_has_the_same_limit(monkeypatch):
    monkeypatch.setattr(sm2_transport, "MAX_ENTRIES", 3)
    index = index_of(*(f"{HOME}/{n}.xml" for n in range(3)))
    assert "SM203" not in codes(f"{ROBOTS}--- /sitemap.xml\n{index}")
    index = index_of(*(f"{HOME}/{n}.xml" for n in range(4)))
    assert "SM203" in codes(f"{ROBOTS}--- /sitemap.xml\n{index}")


def test_a_sitemap_of_exactly_50_mib_is_allowed(monkeypatch):
    monkeypatch.setattr(sm2_transport, "MAX_UNPACKED", len(URLSET))
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


def test_a_gz_file_may_be_compressed_by_the_server_or_as_a_file():
    once = gzip.compress(URLSET)
    assert sent(once, "sitemap.xml.gz") == []
    assert sent(once, "sitemap.xml.gz", Content_Encoding="gzip") == []
    assert sent(gzip.compress(once), "sitemap.xml.gz", Content_Encoding="gzip") == []
    assert sent(gzip.compress(once), "sitemap.xml.gz") == ["SM206"]


def test_a_name_in_the_query_or_in_a_header_announces_gzip():
    once = gzip.compress(URLSET)
    assert sent(once, "map?file=sitemap.xml.gz") == []
    assert sent(once, "sitemap", Content_Disposition='attachment; filename="sitemap.xml.gz"') == []
    assert sent(once, "sitemap", Content_Type="application/x-gzip") == []
    assert sent(once, "sitemap") == ["SM207"]
    assert sent(URLSET, "about.gz.html") == []


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


def test_a_byte_order_mark_of_utf_8_is_allowed():
    body = b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>' + URLSET
    assert sent(body, Content_Type="application/xml; charset=utf-8") == []


def test_feeds_may_have_any_encoding():
    body = b'<?xml version="1.0" encoding="ISO-8859-1"?>' + RSS.replace(
        b"<title>Tea", b"<title>Caf\xe9"
    )
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


def test_one_cause_of_how_a_document_is_sent_is_reported_once():
    assert sent(URLSET, "sitemap.xml.gz", Content_Type="application/gzip") == ["SM205"]
    assert sent(gzip.compress(URLSET * 9)[:-20], "sitemap.xml.gz") == ["SM270"]
