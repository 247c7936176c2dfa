"""Reasons as ``usp`` tells them: whole addresses in advice, each reason before a repeated one."""

from __future__ import annotations

from cli_documents import index, urlset

from usp.report.markup import without_origin


def test_only_addresses_with_a_path_lose_their_scheme_and_host():
    start = "http://h:81/"
    assert without_origin("h:81 does not speak TLS; try http://h:81/", start).endswith(start)
    assert without_origin("see http://h:81/, and http://h:81/a.xml", start) == (
        "see http://h:81/, and /a.xml"
    )
    assert without_origin("'http://h:81/a'", start) == "'/a'"
    assert without_origin("from http://x/?u=http://h:81/a", "http://h:8/").endswith("http://h:81/a")


def test_a_document_from_the_standard_input_leaves_hyphens_in_reasons_alone():
    assert without_origin("Un-fetched child sitemap", "-") == "Un-fetched child sitemap"


def test_an_index_that_lists_itself_is_told_in_plain_words(run, tmp_path):
    (tmp_path / "i.xml").write_text(index("http://h/i.xml", "http://h/a.xml"))
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    text = run("tree", str(tmp_path)).out
    assert "not followed: it is one of the sitemaps above it" in text
    assert "Recursion" not in text


def test_each_reason_is_told_before_a_second_address_with_the_same_one(run, tmp_path):
    gone = [f"http://h/gone{n}.xml" for n in range(3)]
    (tmp_path / "i.xml").write_text(
        index(
            *gone, "http://h/html.xml", "http://h/empty.xml", "http://h/junk.xml", "http://h/a.xml"
        )
    )
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    (tmp_path / "html.xml").write_text("<!doctype html><html><body>Hello</body></html>")
    (tmp_path / "empty.xml").write_text("")
    (tmp_path / "junk.xml").write_text("<other>1</other>")
    lines = run("ls", str(tmp_path / "i.xml"), "-f", "pages").err.splitlines()
    assert sum("gone" in line for line in lines) == 1
    assert not any("more" in line for line in lines)
