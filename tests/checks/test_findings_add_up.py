"""What is found in two entries together is what is found in each of them, however they are read.

Damage in one entry decides how those around it are read: as columns, as trees, or tag by tag.
"""

import re
from datetime import UTC, datetime
from itertools import combinations, product

import pytest
from check_examples import HOME, filled, found_in, found_in_file, locs

from usp._inputs import tree_of
from usp.checks import RULES, check
from usp.checks.checking import findings_of
from usp.checks.registry import RuleScope


def entry_of(example: str) -> str:
    """Return an example as an entry, with the tags that it leaves out."""
    if example.startswith("<url"):
        return example
    return f"<url>{'' if '<loc>' in example else f'<loc>{HOME}/p</loc>'}{example}</url>"


# The bad examples of all rules about entries, if they are no more than that and are not long.
BAD = {
    code: entry_of(filled(rule.bad, datetime.now(UTC)))
    for code, rule in RULES.items()
    if rule.scope in (RuleScope.BLOCK, RuleScope.PARSER)
    and re.match(r"<(?!urlset|sitemap|html|item|entry|link|pubDate|!|\?)", rule.bad)
    and not re.search(r"…|\(x |\n--- |<urlset|</urlset", rule.bad)
}
WAYS = {
    "website": lambda text, _: found_in(text),
    "file": lambda text, path: found_in_file(path, text),
    "minified": lambda text, _: found_in(re.sub(r">\s+<", "><", text)),
    "pretty": lambda text, path: found_in_file(path, text.replace("><", ">\n<")),
}


def told(way: str, path, *entries: str) -> list[tuple[str, str, str | None]]:
    """Return what is found in entries after a clean one; not that one repeats another."""
    found = WAYS[way]("\n".join([locs("/clean"), *entries]), path)
    return sorted(
        (one.code, one.message, one.page or "")
        for one in found
        if RULES[one.code].scope in (RuleScope.BLOCK, RuleScope.PARSER) and one.code != "SM409"
    )


def test_defects_are_found_together_as_each_of_them_alone(tmp_path):
    """Each of them in one document with every other, in each of the ways."""
    path, codes = tmp_path / "sitemap.xml", list(BAD)
    alone = {(code, way): told(way, path, bad) for code, bad in BAD.items() for way in WAYS}
    eights = [codes[at : at + 8] for at in range(0, len(codes), 8)]
    groups = [[*one, *other] for one, other in combinations(eights, 2)]
    wrong = [
        (group, way)
        for group, way in product(groups, WAYS)
        if told(way, path, *(BAD[code] for code in group))
        != sorted(found for code in group for found in alone[code, way])
    ]
    assert wrong == []
    # A file has no host: relative URLs stay as they are, no host is another one, and no scheme is its own.
    assert {code for code, way in alone if alone[code, way] != alone[code, "website"]} == {
        "SM401",
        "SM402",
        "SM456",
    }


@pytest.mark.parametrize("end", ["", "\n", "\n\n  "])
@pytest.mark.parametrize("damage", ["", "<priority>high</priority>", "<lastmod>&x</lastmod>"])
def test_a_finding_about_a_page_is_at_the_element_of_its_entry(tmp_path, damage, end):
    """In one line or in many, read in blocks or tag by tag."""
    wrong = {3: "#a", 4000: "#b", 8999: "#c"}
    entries = [locs(f"/{n}{wrong.get(n, '')}") for n in range(9000)]
    entries[4500] = entries[4500].replace("</url>", f"{damage}</url>")
    path = tmp_path / "sitemap.xml"
    found = found_in_file(path, end.join(entries))
    lines = path.read_text().split("\n")
    fragments = [one for one in found if one.code == "SM407"]
    assert [one.page for one in fragments] == [f"{HOME}/{n}{wrong[n]}" for n in wrong]
    for one in found:
        if one.page is None:
            continue
        rest = lines[one.line - 1][one.column - 1 :]
        is_damage = one.code[2] == "5" or one.code == "SM356"
        assert rest.startswith(damage[:9] if is_damage else f"<loc>{one.page}</loc>")
    if damage:
        assert [one.page for one in found if one.code.startswith("SM55")] == [f"{HOME}/4500"]


LINKS = "".join(
    f'<xhtml:link rel="alternate" hreflang="{code}" href="{HOME}/{code}"/>'
    for code in ("en", "de", "x-default")
)
IMAGES = f"<image:image><image:loc>{HOME}/a.jpg</image:loc></image:image>"
VIDEO = (
    f"<video:video><video:thumbnail_loc>{HOME}/a.jpg</video:thumbnail_loc><video:title>Tea</video:title>"
    f"<video:description>Tea</video:description><video:content_loc>{HOME}/a.mp4</video:content_loc>"
)
STORY = (
    "<news:news><news:publication><news:name>Tea</news:name><news:language>en</news:language>"
    "</news:publication><news:publication_date>2024-05-06</news:publication_date>"
    "<news:title>Tea</news:title></news:news>"
)
# What is found at which element of an entry: the one after §.
PLACED = {
    "SM356": f"§<loc>{HOME}/tea?a=1&b=2</loc>",
    "SM401": "§<loc>/tea</loc>",
    "SM404": "§<loc>http://example.org/tea</loc>",
    "SM407": f"<image:image><image:loc>{HOME}/tea</image:loc></image:image>§<loc>{HOME}/tea#top</loc>",
    "SM415": f"<loc>{HOME}/tea</loc>{IMAGES}<image:image>§<image:loc>{HOME}/null/b.jpg</image:loc></image:image>",
    "SM450": f"§<loc></loc><lastmod>2024-05-06</lastmod>{IMAGES}",
    "SM451": f"<lastmod>2024-05-06</lastmod>§<loc>mailto:tea@example.org</loc>{IMAGES}",
    "SM452": f"<loc>{HOME}/tea</loc>§<loc>{HOME}/cup</loc>",
    "SM512": f"<loc>{HOME}/tea</loc><priority>0.5</priority>§<priority>0.6</priority>",
    "SM550": f"<loc>{HOME}/tea</loc>{IMAGES}§<lastmod>soon</lastmod>",
    "SM601": f'<loc>{HOME}/en</loc>{LINKS}§<xhtml:link rel="alternate" hreflang="en-UK" href="{HOME}/uk"/>',
    "SM602": f'<loc>{HOME}/en</loc>{LINKS}§<xhtml:link rel="alternate" hreflang="fr" href="{HOME}/fr?a=1&amp;b=2"/>'
    f"</url><url><loc>{HOME}/fr?a=1&amp;b=2</loc></url>"
    f"<url><loc>{HOME}/de</loc>{LINKS}</url><url><loc>{HOME}/x-default</loc>{LINKS}",
    "SM603": f"<loc>{HOME}/tea</loc><lastmod>2024-05-06</lastmod>§{LINKS}",
    "SM604": f'<loc>{HOME}/en</loc>{LINKS}§<xhtml:link rel="alternate" hreflang="de" href="{HOME}/at"/>',
    "SM606": f'<loc>{HOME}/en</loc>{LINKS}§<xhtml:link rel="alternate" hreflang="fr" href="/fr"/>',
    "SM607": f"<loc>{HOME}/en</loc>{LINKS}</url><url><loc>{HOME}/de</loc>"
    + LINKS.replace('"en"', '"en-GB"').replace("<xhtml", "§<xhtml", 1),
    "SM609": f'<loc>{HOME}/en</loc>{LINKS}§<xhtml:link hreflang="fr" href="{HOME}/fr"/>',
    "SM650": f'<loc>{HOME}/en</loc>{LINKS}§<xhtml:link rel="alternate" href="{HOME}/fr"/>',
    "SM709": f"<loc>{HOME}/tea</loc>{STORY}§{STORY}",
    "SM802": f"<loc>{HOME}/tea</loc>{IMAGES}<image:image>§<image:loc>/b.jpg</image:loc></image:image>",
    "SM820": f"<loc>{HOME}/tea</loc>{VIDEO}</video:video>§"
    f"{VIDEO.replace('<video:title>Tea</video:title>', '')}</video:video>",
    "SM822": f"<loc>{HOME}/tea</loc>{VIDEO.replace('/a.mp4', '/tea').replace('<video:con', '§<video:con')}</video:video>",
    "SM826": f"<loc>{HOME}/tea</loc>{VIDEO}§<video:duration>0</video:duration></video:video>",
    "SM827": f"<loc>{HOME}/tea</loc>{VIDEO}<video:rating>5</video:rating></video:video>"
    f"{VIDEO}§<video:rating>6</video:rating></video:video>",
    "SM832": f"<loc>{HOME}/tea</loc>{VIDEO}§<video:restriction>DE</video:restriction></video:video>",
    "SM850": f"<loc>{HOME}/tea</loc>{VIDEO}§<video:duration>3:45</video:duration></video:video>",
    "SM833": f"<loc>{HOME}/tea</loc>{VIDEO}§<video:tvshow><video:show_title>Tea</video:show_title></video:tvshow>"
    "</video:video>",
    "SM851": f"<loc>{HOME}/tea</loc>{IMAGES}§<image:image></image:image>",
}


@pytest.mark.parametrize("damage", ["", "<priority>high</priority>", "<lastmod>&x</lastmod>"])
@pytest.mark.parametrize("end", ["", "\n  "])
def test_a_finding_is_at_its_element_however_the_document_is_read(tmp_path, end, damage):
    path, wrong = tmp_path / "sitemap.xml", {}
    other = f"<url><loc>{HOME}/other</loc>{damage}</url>"
    for code, inner in PLACED.items():
        entry = f"<url>{inner}</url>".replace("><", f">{end}<").replace(">§", f">{end}§")
        found = found_in_file(
            path, f"{locs('/clean')}\n{other}\n{entry.replace('§', '')}", select=[code]
        )
        lines = path.read_text().split("\n")
        for one in (
            found[-1:] if code in ("SM356", "SM550") else found
        ):  # the damage gives another one
            rest = "\n".join([lines[one.line - 1][(one.column or 0) - 1 :], *lines[one.line :]])
            if not rest.startswith(entry.partition("§")[2]):
                wrong[code] = one.line, one.column, one.message
        if not found and code != "SM401":
            wrong[code] = None
    assert wrong == {}


@pytest.mark.parametrize(
    ("right", "wrong", "codes"),
    [
        ("loc>", "Loc>", {"SM305": 1, "SM450": 250}),
        ("url>", "URL>", {"SM305": 1, "SM453": 250}),
        ("url>", "page>", {"SM306": 1, "SM453": 250}),
        ("/tea", "/caf\udce9", {"SM360": 1}),
        ("urlset", "sitemap", {"SM376": 1}),
    ],
)
def test_what_has_one_cause_is_told_once_by_a_check_and_without_rules(
    tmp_path, right, wrong, codes
):
    path = tmp_path / "sitemap.xml"
    found_in_file(path, locs(*(f"/tea{n}" for n in range(250))))
    text = path.read_text().replace(right, wrong)
    path.write_bytes(text.encode(errors="surrogateescape"))
    found = {one.code: one.times for one in check(path, ignore=["SM208"])}
    assert (found, len(found)) == (codes, len([*check(path)]))
    known = {code: times for code, times in codes.items() if RULES[code].scope is RuleScope.PARSER}
    assert {one.code: one.times for one in findings_of(tree_of(str(path), None, None))} == known


def test_two_links_with_the_same_fault_are_at_two_places():
    link = '<xhtml:link rel="alternate" hreflang="{}" href="/fr"/>'
    text = locs("/en").replace("</url>", f"{link.format('fr')}{link.format('fr-CH')}</url>")
    columns = [one.column for one in found_in(text, select=["SM606"])]
    assert len({*columns}) == 2


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("SM354", "<urlset><url><loc>https://example.org/tea</loc></url>§"),
        (
            "SM360",
            '<?xml version="1.0" encoding="UTF-8"?>\n<urlset><url><loc>https://example.org/caf§\udce9</loc></url></urlset>',
        ),
        ("SM374", '\n  §Warning: <?xml version="1.0"?><urlset></urlset>'),
        ("SM374", " §<div><urlset></urlset></div>"),
        ("SM375", "\n §<!DOCTYPE urlset><urlset></urlset>"),
    ],
)
def test_a_finding_about_a_document_has_a_line_and_a_column(tmp_path, code, text):
    path = tmp_path / "sitemap.xml"
    before, _, after = text.partition("§")
    path.write_bytes(f"{before}{after}".encode(errors="surrogateescape"))
    (found,) = check(path, select=[code])
    assert (found.line, found.column) == (
        before.count("\n") + 1,
        len(before.rpartition("\n")[2]) + 1,
    )


def test_a_finding_about_a_sitemap_is_at_the_loc_or_the_date_that_declares_it():
    children = [
        "<sitemap><loc>https://example.org/a.xml</loc></sitemap>",
        "<sitemap><loc>https://example.org/a.xml</loc><lastmod>soon</lastmod></sitemap>",
        "<sitemap><loc>/b.xml</loc></sitemap>",
    ]
    index = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(children)}</sitemapindex>'
    pages = "<url><loc>https://example.org/tea</loc></url>"
    text = f"--- /index.xml (declared)\n{index}\n--- /a.xml\n{pages}\n--- /b.xml\n{pages.replace('tea', 'cup')}"
    found = {
        one.code: (one.line, one.column)
        for one in found_in(text, select=["SM108", "SM109", "SM504"])
    }
    second = index.rindex("<loc>https") + 1
    assert found == {
        "SM108": (1, index.index("<loc>/b") + 1),
        "SM109": (1, second),
        "SM504": (1, index.index("<lastmod>") + 1),
    }
