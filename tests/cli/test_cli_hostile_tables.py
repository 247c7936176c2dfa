"""Tables on a terminal: nothing that a website wrote steers it, and the format stays what it is."""

import csv
import io
import json
import sys
import xml.etree.ElementTree as ET

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pseudo-terminals")

if sys.platform == "linux":
    from terminals import run_on_terminal, run_plain

TITLE = "tea \u202egnp.exe\u2069 \x9b31m \x85 \U000e0041 \x7f café 茶"

DOCUMENT = f"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:n="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>https://example.org/tea</loc><n:news><n:title>{TITLE}</n:title>
<n:publication_date>2025-01-01</n:publication_date></n:news></url>
</urlset>"""


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "s.xml"
    path.write_text(DOCUMENT, encoding="utf-8")
    return str(path)


def test_nothing_steers_the_terminal(document, subtests):
    for form in ["csv", "json", "jsonl", "xml", "tabtree", "pages"]:
        with subtests.test(form=form):
            ran = run_on_terminal("ls", document, "-f", form, stdout="terminal")
            assert ran.status == 0
            text = ran.screen.decode().replace("\r\r\n", "\n").replace("\r\n", "\n")
            assert all(char.isprintable() or char in "\n\t" for char in text), ascii(text)


def test_the_formats_can_still_be_read(document):
    def on_terminal(form):
        screen = run_on_terminal("ls", document, "-f", form, stdout="terminal").screen
        return screen.decode().replace("\r\n", "\n").replace("\r", "")

    assert json.loads(on_terminal("jsonl"))["news"]["title"] == TITLE
    assert json.loads(on_terminal("json"))[0]["news"]["title"] == TITLE
    (row,) = csv.DictReader(io.StringIO(on_terminal("csv")))
    assert "%E2%80%AE" in row["news"]
    assert "café 茶" in row["news"]
    root = ET.fromstring(on_terminal("xml"))
    assert "\u202e" in "".join(root.itertext())


def test_a_file_or_a_pipe_has_what_the_website_wrote(document, subtests):
    for form in ["csv", "jsonl", "xml"]:
        with subtests.test(form=form):
            plain = run_plain("ls", document, "-f", form).stdout
            assert "\u202e".encode() in plain
            for stdout in ("file", "pipe"):
                assert run_on_terminal("ls", document, "-f", form, stdout=stdout).out == plain
