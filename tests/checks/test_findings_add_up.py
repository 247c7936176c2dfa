"""What is found in two entries together is what is found in each of them, however they are read.

Damage in one entry decides how those around it are read: as columns, as trees, or tag by tag.
"""

import re
from datetime import UTC, datetime
from itertools import combinations, product

import pytest
from check_examples import HOME, filled, found_in, found_in_file, locs

from usp.checks import RULES
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
    fives = [codes[at : at + 5] for at in range(0, len(codes), 5)]
    groups = [[*one, *other] for one, other in combinations(fives, 2)]
    wrong = [
        (group, way)
        for group, way in product(groups, WAYS)
        if told(way, path, *(BAD[code] for code in group))
        != sorted(found for code in group for found in alone[code, way])
    ]
    assert wrong == []
    # A file has no host: relative URLs stay as they are, and no host is another one.
    assert {code for code, way in alone if alone[code, way] != alone[code, "website"]} == {
        "SM401",
        "SM402",
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
        assert rest.startswith(damage[:9] if one.code[2] == "5" else f"<loc>{one.page}</loc>")
    if damage:
        assert [one.page for one in found if one.code.startswith("SM55")] == [f"{HOME}/4500"]
