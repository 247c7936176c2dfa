"""Defects one by one, each with a clean twin: the defect gives its code and no other, the twin nothing.

A line of the table is a code, the name of a document with a hole, and what is put into it: the defect,
after ``|`` the twin, if it has one, and after ``//`` what it shows. ``SM307:2`` is found in line 2, and
``SM409*2`` twice. ``¶`` stands for the end of a line, ``␀`` for the character, ``-`` for nothing.
"""

import re
from pathlib import Path

import pytest
from check_examples import found_in

from usp.checks.registry import ENTRIES

PAGE = "<url><loc>https://example.org/tea</loc></url>"
VIDEO = ENTRIES["<video:"]
NEWS = ENTRIES["<news:"]
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
ENTRY = "<url><loc>https://example.org/{n}</loc>§</url> (x 25)"
DOCUMENTS = {
    "loc": "<url><loc>§</loc></url>",
    "path": "<url><loc>https://example.org/§</loc></url>",
    "paths": "<url><loc>https://example.org/first</loc></url>¶<url><loc>https://example.org/§</loc></url>",
    "pair": "<url><loc>https://example.org/tea/§</loc></url>",
    "entry": "<url><loc>https://example.org/tea</loc>§</url>",
    "entries": ENTRY,
    "site": "§",
    "urlset": f"{URLSET[:-1]} §¶</urlset>",
    "document": "--- /sitemap.xml (declared)¶§",
    "root": f"--- /sitemap.xml (declared)¶§{URLSET}<url><loc>https://example.org/tea</loc></url></urlset>",
    "video": VIDEO.replace("…", "§"),
    "file": VIDEO.replace("https://example.org/tea.mp4", "§").replace("…", ""),
    "thumbnail": VIDEO.replace("https://example.org/tea.jpg", "§").replace("…", ""),
    "news": NEWS.replace("…", "§"),
    "name": NEWS.replace("The Tea Times", "§").replace("…", ""),
    "newsdate": NEWS.replace("{now-5h}", "§").replace("…", ""),
    "story": NEWS.replace("</news:news>", "</news:news>§").replace("…", ""),
    "image": "<url><loc>https://example.org/tea</loc><image:image><image:loc>§</image:loc></image:image></url>",
    "link": '<url><loc>https://example.org/en</loc><xhtml:link rel="alternate" hreflang="en" '
    'href="https://example.org/en"/><xhtml:link rel="alternate" hreflang="x-default" '
    'href="https://example.org/en"/><xhtml:link rel="alternate" §/></url>',
    "robots": "--- /robots.txt¶User-agent: *¶Allow: /¶Sitemap: https://example.org/sitemap.xml¶§¶--- /sitemap.xml¶" + PAGE,
    "index": "--- /index.xml (declared)¶<sitemap><loc>§</loc></sitemap>¶--- /teas.xml¶"
    + PAGE
    + "¶--- /blog/teas.xml¶<url><loc>https://example.org/blog/tea</loc></url>",
}  # fmt: skip


def cases(text: str):
    for line in text.strip().splitlines():
        if line.strip() and not line.startswith("#"):
            code, name, rest = line.partition(" // ")[0].split(" ", 2)
            bad, _, good = rest.rpartition(" | ") if " | " in rest else (rest, "", None)
            yield code, name, bad.strip(" "), good and good.strip(" ")


def document(name: str, text: str) -> str:
    text = "" if text == "-" else text
    return DOCUMENTS[name].replace("§", text).replace("¶", "\n").replace("␀", "\0")


TABLE = (Path(__file__).parent / "defects.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("code", "name", "bad", "good"), [*cases(TABLE)])
def test_a_defect_is_found_and_its_clean_twin_is_silent(code, name, bad, good):
    wrong = found_in(document(name, bad))
    expected = re.findall(r"(SM\d+):?(\d*)\*?(\d*)", code)
    assert {one.code for one in wrong} == {one for one, _, _ in expected}
    for told, line, times in expected:
        lines = [str(one.line) for one in wrong if one.code == told]
        assert set(lines) == {line} or not line
        assert len(lines) == int(times or len(lines))
    if good is not None:
        assert [(one.code, one.message) for one in found_in(document(name, good))] == []
