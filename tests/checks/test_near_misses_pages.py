"""Rules about pages where these are many, on many hosts or on none, and wherever a field stands."""

from itertools import product

from check_examples import dated, found_in, found_in_file, locs, website

IMAGE = "<image:image><image:loc>https://example.org/i.jpg</image:loc></image:image>"


def test_duplicates_among_many_pages_are_found():
    numbers = [*range(400), 7, 399]
    bodies = (locs(*(f"/{n}" for n in some)) for some in (numbers, range(390, 410)))
    found = found_in(website(*bodies), select=["SM409", "SM410"])
    assert [one.code for one in found] == ["SM409"] * 2 + ["SM410"] * 10
    assert all("0.xml" in one.message for one in found[2:])


def test_a_field_is_found_wherever_it_is_in_its_entry_whatever_other_entries_have(tmp_path):
    orders = ("<loc>{}</loc>{}", "{1}<loc>{0}</loc>")
    for order, around, image in product(orders, (0, 1, 20), ("", IMAGE)):
        others = dated(*["2024-01-01"] * around).replace("</url>", f"{image}</url>")
        fields = "<priority>0.1</priority><lastmod>2999-01-01</lastmod>"
        odd = f"<url>{order.format('https://example.org/odd', fields)}</url>"
        text = "\n".join([*others.splitlines(), odd])
        (found,) = found_in_file(tmp_path / "sitemap.xml", text, select=["SM501"])
        assert "2999-01-01" in found.message
        assert found.line == 3 + around, (order, around, image)


def test_a_file_has_no_host(tmp_path):
    urls = ("/a", "https://example.net/b", "/c/d")
    for more, expected in {(): [], ("http://example.org/",): ["SM404"]}.items():
        found = found_in_file(tmp_path / "sitemap.xml", locs(*urls, *more))
        assert [one.code for one in found] == expected


def test_a_sitemap_of_many_hosts_is_checked():
    example = locs(*(f"https://{n}.example.net/" for n in range(300)), "https://0.example.net")
    codes = [one.code for one in found_in(example, select=["SM402", "SM409"])]
    assert (codes.count("SM402"), codes.count("SM409")) == (301, 1)


def test_other_hosts_cost_no_rule_its_life():
    """URLs whose hosts cannot be read are left to the parser."""
    odd = locs(
        "https://[::1/a", "https://exa mple.org/", "https://:80/", "https://a@b@c/", "http://%00/"
    )
    found_in(odd)
