"""What is fixed has no such finding any more, the same pages, and nothing else is changed."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from check_examples import filled, locs, wrapped

import usp
from usp._inputs import tree_of
from usp.checks import RULES, fixing
from usp.checks.finding import path_of
from usp.checks.fixing import fixes, loose_url
from usp.checks.registry import RuleScope
from usp.objects.extensions import FIRST_PROTOCOL, PROTOCOL

CORPUS = Path(__file__).parents[1] / "corpus"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
ROOT = f'<urlset xmlns="{PROTOCOL}">'
IMAGE = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
TEA = "<url><loc>https://tea.example/tea</loc></url>"
CDATA = "<url><loc><![CDATA[https://tea.example/%s]]></loc></url>"
XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
LATIN_1 = '<?xml version="1.0" encoding="ISO-8859-1"?>\n'


def of(*entries: str, root: str = ROOT, head: str = HEAD) -> str:
    return f"{head}{root}\n{''.join(f'{entry}{chr(10)}' for entry in entries)}</urlset>\n"


def page(url: str, more: str = "") -> str:
    return f"<url><loc>https://tea.example/{url}</loc>{more}</url>"


IMAGES = "<image:image><image:loc>https://tea.example/a%s.png</image:loc></image:image>"
FIXED = {
    # code: what is wrong, and what it becomes
    "SM356": (of(page("?a=1&b=2")), of(page("?a=1&amp;b=2"))),
    "SM357": (of(page("tea&excl;")), of(page("tea!"))),
    "SM358": (of(page("a&#0;b")), of(page("ab"))),
    "SM359": (of(page("a\x0bb")), of(page("ab"))),
    "SM362": (of(page("a"), "< " + TEA), of(page("a"), "&lt; " + TEA)),
    "SM307": (f"\n  {of(TEA)}", of(TEA)),
    "SM375": (of(TEA, head=f"{HEAD}<!DOCTYPE urlset>\n"), of(TEA)),
    "SM408": (of(page("green tea"), page("100%")), of(page("green%20tea"), page("100%25"))),
    "SM408 image": (
        of(page("a", IMAGES % " 1"), root=f"{ROOT[:-1]} {IMAGE}>"),
        of(page("a", IMAGES % "%201"), root=f"{ROOT[:-1]} {IMAGE}>"),
    ),
    "SM409": (of(TEA, page("b"), TEA), of(TEA, page("b"))),
    "SM408 CDATA": (of(CDATA % "?a&b c"), of(CDATA % "?a&b%20c")),
    "SM510 CDATA": (
        of(page("a", "<lastmod> <![CDATA[31.01.2025]]>\n</lastmod>")),
        of(page("a", "<lastmod> <![CDATA[2025-01-31]]>\n</lastmod>")),
    ),
    "SM414": (of(page("grün")), of(page("gr%C3%BCn"))),
    "SM301": (of(TEA, root="<urlset>"), of(TEA)),
    "SM302": (of(TEA, root='<urlset xmlns="https://tea.example/">'), of(TEA)),
    "SM303": (
        of(page("a", IMAGES % ""), root=f'{ROOT[:-1]} xmlns:image="http://www.google.com/image">'),
        of(page("a", IMAGES % ""), root=f"{ROOT[:-1]} {IMAGE}>"),
    ),
    "SM303 inside": tuple(
        of(page("a", IMAGES.replace("image:image>", f"image:image {one}>", 1) % ""))
        for one in ('xmlns:image="http://www.google.com/schemas/sitemap-image/1.0"', IMAGE)
    ),
    "SM304 attribute": tuple(
        of(TEA, root=f'{start}{ROOT[7:-1]} xsi:schemaLocation="a b">')
        for start in ("<urlset", f"<urlset {XSI}")
    ),
    "SM304": (
        of(page("a", IMAGES % "")),
        of(page("a", IMAGES % ""), root=ROOT.replace("<urlset", f"<urlset {IMAGE}")),
    ),
    "SM305": (
        of(page("a", "<lastMod>2024-05-06</lastMod>")),
        of(page("a", "<lastmod>2024-05-06</lastmod>")),
    ),
    "SM510": (
        of(
            page("a", "<lastmod>31.01.2025</lastmod>"),
            page("b", "<lastmod>2025-01-31 09:30:00 UTC</lastmod>"),
        ),
        of(
            page("a", "<lastmod>2025-01-31</lastmod>"),
            page("b", "<lastmod>2025-01-31T09:30:00Z</lastmod>"),
        ),
    ),
    "SM511": (
        of(page("a", "<changefreq>Daily</changefreq>")),
        of(page("a", "<changefreq>daily</changefreq>")),
    ),
    "SM552": (of(page("a", "<priority>0,5</priority>")), of(page("a", "<priority>0.5</priority>"))),
    "SM208": (of(f"<!-- café -->{TEA}", head=LATIN_1).encode("latin-1"), of(f"<!-- café -->{TEA}")),
}


def codes(path: Path) -> set[str]:
    return {finding.code for finding in usp.check(path)}


def fix(folder: Path) -> None:
    for one in fixes(tree_of(folder, None, None)):
        file = path_of(one.url)
        for name, content in one.files:
            file.with_name(name).write_bytes(content)


@pytest.mark.parametrize("code", FIXED)
def test_what_is_mechanical_is_fixed_and_nothing_else(code, tmp_path):
    before, after = FIXED[code]
    code = code[:5]
    file = tmp_path / "sitemap.xml"
    file.write_bytes(before if isinstance(before, bytes) else before.encode())
    assert code in codes(file)
    (rules,) = (rules for rules in fixing.FIXES.values() if code in rules)
    assert list(fixes(tree_of(file, None, None), RULES.keys() - set(rules))) == []
    fix(tmp_path)
    assert file.read_text() == after
    assert code not in codes(file)
    assert list(fixes(tree_of(tmp_path, None, None))) == []


def rows(folder: Path) -> list[tuple[object, ...]]:
    tree = tree_of(folder, None, None)
    return [
        (loose_url(one.url), one.last_modified, len(one.images or ())) for one in tree.all_pages()
    ]


@pytest.mark.parametrize(
    "path", ["{{slug}}", "%postname%", "caf\ufffd", "caf\u00c3\u00a9", "te\u200ba"]
)
def test_a_url_is_not_escaped_where_it_is_not_certain_what_was_meant(path, tmp_path):
    file = tmp_path / "sitemap.xml"
    file.write_text(wrapped(locs(f"https://tea.example/{path}")), encoding="utf-8")
    assert codes(file) - {"SM414"}
    assert list(fixes(tree_of(tmp_path, None, None))) == []


def test_a_list_of_urls_is_fixed_line_by_line(tmp_path):
    file = tmp_path / "sitemap.txt"
    file.write_bytes("https://tea.example/a\r\nhttps://tea.example/grün\r\n".encode())
    assert "SM414" in codes(file)
    fix(tmp_path)
    assert file.read_bytes() == b"https://tea.example/a\r\nhttps://tea.example/gr%C3%BCn\r\n"
    assert list(fixes(tree_of(tmp_path, None, None))) == []


@pytest.mark.parametrize(
    "text",
    [
        of(TEA, root=ROOT.replace(PROTOCOL, FIRST_PROTOCOL)),
        of("<url><loc><![CDATA[https://tea.example/a b]]><![CDATA[c]]></loc></url>"),
        of("<url><loc>https://tea.example/<![CDATA[a b]]></loc></url>"),
    ],
)
def test_what_has_no_finding_or_no_certain_fix_is_left_as_it_is(text, tmp_path):
    (tmp_path / "sitemap.xml").write_text(text, encoding="utf-8")
    assert list(fixes(tree_of(tmp_path, None, None))) == []


def test_sound_documents_are_left_as_they_are(tmp_path):
    for rule in RULES.values():
        if rule.scope in (RuleScope.BLOCK, RuleScope.SITEMAP) and "---" not in rule.good:
            text = wrapped(filled(rule.good, datetime.now(UTC)))
            (tmp_path / "sitemap.xml").write_text(text, encoding="utf-8")
            assert list(fixes(tree_of(tmp_path, None, None))) == [], rule.code


@pytest.mark.parametrize(
    "folder", ["damage", "encodings", "extensions", "urlset", "namespaces", "index"]
)
def test_whatever_is_fixed_has_the_same_pages_and_nothing_left_to_fix(folder, tmp_path):
    count = 0
    for source in sorted((CORPUS / folder).iterdir()):
        if source.suffix not in (".xml", ".gz"):
            continue
        file = tmp_path / source.name
        file.write_bytes(source.read_bytes())
        before = rows(file)
        for one in fixes(tree_of(file, None, None)):
            assert "".join(one.diff("a")).startswith("--- a")
            file.write_bytes(one.files[0][1])
            count += 1
        after = rows(file)
        assert list(dict.fromkeys(after)) == list(dict.fromkeys(before)), source.name
        assert list(fixes(tree_of(file, None, None))) == [], source.name
    assert count


def test_a_sitemap_that_is_too_large_is_split_where_it_is_declared(tmp_path, monkeypatch):
    monkeypatch.setattr(fixing, "PROTOCOL_URLS", 50)
    urls = [f"https://tea.example/{number}" for number in range(120)]
    text = wrapped(locs(*urls))
    with gzip.open(tmp_path / "sitemap.xml.gz", "wt") as file:
        file.write(text)
    fix(tmp_path)
    names = ["sitemap-1.xml.gz", "sitemap-2.xml.gz", "sitemap-3.xml.gz", "sitemap.xml.gz"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    index = "<sitemap><loc>https://tea.example/all.xml</loc></sitemap>"
    assert [page.url for page in tree_of(tmp_path, None, None).all_pages()] == urls
    assert codes(tmp_path) == set()
    for name in names:
        (tmp_path / name).unlink()
    (tmp_path / "index.xml").write_text(wrapped(index))
    (tmp_path / "all.xml").write_text(text)
    fix(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        *("all-2.xml", "all-3.xml", "all.xml", "index.xml")
    ]
    assert [page.url for page in tree_of(tmp_path, None, None).all_pages()] == urls
    assert codes(tmp_path) == set()
