"""What looks like a mistake and is none: for each rule about pages, what it must not find.

And what a rule must find beyond its own example.
"""

from itertools import product

from check_examples import (
    HOME,
    SPACES,
    dated,
    dated_index,
    found_in,
    found_in_file,
    index,
    linked,
    locs,
    website,
    with_robots,
)

from usp.checks.registry import ENTRIES


def robots(rule: str, *urls: str) -> str:
    """Return a website with pages and a rule in its robots.txt."""
    return with_robots(f"User-agent: *\n{rule}", locs(*urls))


def frequent(*values: str) -> str:
    """Return entries with frequencies."""
    return (
        locs(*(f"/{at}" for at in range(len(values))))
        .replace("</loc>", "</loc><changefreq>{}</changefreq>")
        .format(*values)
    )


TODAY = "<lastmod>{day}</lastmod>"
FREQUENT = (
    "<url><loc>https://example.org/{n}</loc><changefreq>daily</changefreq>"
    "<priority>0.5</priority></url>"
)
IMAGE = "<image:image><image:loc>https://example.org/i.jpg</image:loc></image:image>"
IMAGES = f"<url><loc>{HOME}/tea</loc>{IMAGE}</url>"
RSS = (
    '<?xml version="1.0"?>\n<rss version="2.0"><channel><title>Tea</title>'
    "<link>https://example.org/</link><description>Tea</description>\n"
    "<item><title>1</title><link>https://example.net/tea#top</link></item>\n"
    "<item><title>2</title><link>https://example.net/tea#top</link></item>\n"
    "<item><title>3</title><link>http://www.example.org/grün?utm_source=feed</link></item>\n"
    "</channel></rss>"
)
CDN = "https://cdn.example.net/s"
MUNICH = "https://xn--mnchen-3ya.example"
WWW = "https://www.example.org"
FORMS = (
    *("2024", "2024-05", "2024-05-06", "2024-05-06Z", "2024-05-06T07:08Z"),
    *("2024-05-06T07:08:09+05:30", "2024-05-06T07:08:09.123456-03:00"),
    *("2024-05-06T07:08:09", " 2024-05-06\n"),
)
DAY, TIME = "2024-05-06", "2024-05-06T07:08:09Z"

NEAR_MISSES = {
    ("default port", "SM402 SM404 SM405"): locs("https://example.org:443/tea"),
    ("upper-case host", "SM402 SM404 SM405"): locs("HTTPS://EXAMPLE.ORG/tea"),
    ("dot after the host", "SM402 SM405"): locs("https://example.org./tea"),
    ("no path", "SM402 SM403"): locs("https://example.org", "https://example.org?a=1"),
    ("feed with other hosts", "SM4"): RSS,
    ("declared elsewhere", "SM402 SM403"): (
        f"--- {CDN}/index.xml (declared)\n{index(f'{CDN}/1.xml')}\n--- {CDN}/1.xml\n{locs('/tea')}"
    ),
    ("folder of its own", "SM403"): (
        f"--- /sitemap.xml\n{index('/catalog/sitemap.xml')}\n--- /catalog/sitemap.xml\n"
        + locs("/catalog/tea", "/catalog", "/%63atalog/coffee")
    ),
    ("redirected from http", "SM404"): (
        "--- http://example.org/s.xml -> https://example.org/s.xml (declared)\n"
        f"--- /s.xml\n{locs('/tea', '/coffee')}"
    ),
    ("redirected to www", "SM402 SM405"): (
        f"--- /robots.txt -> {WWW}/robots.txt\n--- {WWW}/robots.txt\n"
        f"User-agent: *\nAllow: /\nSitemap: {WWW}/s.xml\n--- {WWW}/s.xml\n{locs(f'{WWW}/tea')}"
    ),
    ("no scheme", "SM401"): locs("www.example.org/tea"),
    ("2,047 characters", "SM406"): locs("/{a*2027}"),
    ("escaped", "SM408 SM414"): locs("/%E2%82%AC?a=%5Bb%5D&amp;c='d'"),
    ("international host", "SM402 SM408 SM414"): (
        f"--- {MUNICH}/s.xml (declared)\n{locs('https://münchen.example/tee')}"
    ),
    ("reserved characters", "SM408"): locs("/a;b=c,d/(e)/~f/@g/$h/!i*j+k:l[m]"),
    ("differing in case or slash", "SM409"): locs("/a", "/A", "/a/"),
    ("reserved character escaped", "SM409"): locs("/a/b", "/a%2Fb", "/a%2fc"),
    ("differing in the query", "SM409"): locs("/?a=1&amp;b=2", "/?b=2&amp;a=1"),
    ("images of a page", "SM410"): website(locs("/tea"), IMAGES),
    ("feed of new pages", "SM410"): website(
        locs("/tea"), RSS.replace("example.net", "example.org")
    ),
    ("sitemap that was guessed", "SM410"): (
        f"{website(locs('/tea'))}\n--- /sitemap.xml\n{locs('/tea')}"
    ),
    ("allowed by a longer rule", "SM411"): robots("Disallow: /shop\nAllow: /shop/tea", "/shop/tea"),
    ("disallowed on another host", "SM411"): robots(
        "Disallow: /shop", "https://blog.example.org/shop/tea"
    ),
    ("session of a conference", "SM412"): locs("/?session_id=12", "/professional-sessid"),
    ("words like parameters", "SM413"): locs("/utm_source=a", "/?xgclid=1&amp;utm_other=2"),
    ("tomorrow", "SM501 SM509 SM510"): dated("{day+1d}", "{now+23h}", "{day}", "1990-01-01"),
    ("days of one day", "SM502"): website(dated(*[DAY] * 30), dated("2024-05-07", path="/b")),
    ("news of one day", "SM502"): "\n".join(
        ENTRIES["<news:"]
        .replace("…", "")
        .replace("tea-", f"{n}-")
        .replace("</loc>", "</loc>" + TODAY)
        for n in range(30)
    ),
    ("no news", "SM309"): f"<urlset xmlns='{SPACES['']}' xmlns:news='{SPACES[':news']}'></urlset>",
    ("a page to choose a language", "SM602"): "\n".join(
        [linked("/en", "en /en", "x-default /"), locs("/")]
    ),
    ("a fifth of the pages changed later", "SM502"): dated(*[TIME] * 30, *[DAY] * 9),
    ("index with the day", "SM503 SM504 SM505"): dated_index(
        DAY, "2024-05-06T23:59:59-09:00", "2023-01-01"
    ),
    ("index with the month", "SM503 SM504 SM505"): dated_index("2024-05", "2024-05-30T23:59:59Z"),
    ("index at the end of all dates", "SM503"): dated_index("9999-12-31T23:59:59Z", DAY),
    ("page in the future", "SM503"): dated_index("{now-1h}", "{now+20d}"),
    ("every form of the protocol and its schema", "SM504 SM510 SM55"): dated(*FORMS),
    ("frequencies of most pages", "SM506"): f"{FREQUENT} (x 30)\n{locs('/x')}",
    ("frequencies between blanks", "SM511 SM55"): frequent("daily", " weekly\n"),
    ("dates of feeds", "SM5"): RSS.replace(
        "</item>", "<pubDate>6 May 1970 07:08 GMT</pubDate></item>"
    ),
}


def test_a_near_miss_is_not_found():
    found = [
        (name, one.code, one.message, one.page)
        for (name, codes), example in NEAR_MISSES.items()
        for one in found_in(example)
        if one.code.startswith(tuple(codes.split()))
    ]
    assert found == []


BAD = [f"/a{c}b" for c in ("&lt;", "&gt;", '"', *"{}|\\^` ")]
FOUND = {
    ("all with http", "SM404", 1): website(locs("http://example.org/a", "http://example.org/b")),
    ("all with www", "SM405", 1): website(locs("https://www.example.org/a")),
    ("another port", "SM402", 1): locs("https://example.org:8443/tea"),
    ("a subdomain", "SM402", 1): locs("https://blog.example.org/tea"),
    ("default port, twice", "SM409", 2): locs(
        "/", "https://example.org:443", "https://Example.org/"
    ),
    ("escapes of the same", "SM409", 1): locs("/%7Ea%c3%bc", "/~a%C3%BC"),
    ("twice, and in another", "SM409", 1): website(locs("/tea"), IMAGES * 2),
    ("every bad character", "SM408", 10): locs(*BAD),
    ("blanks in images and videos", "SM408 SM802 SM825", 3): "\n".join(
        [
            IMAGES.replace("/i.jpg", "/green tea.jpg"),
            IMAGES.replace("/tea<", "/cup<").replace("/i.jpg", "/green\xa0tea.jpg"),
            ENTRIES["<video:"].replace("…", "").replace("tea.mp4", "green tea.mp4"),
        ]
    ),
    ("text sitemap", "SM409", 1): f"{HOME}/a\n{HOME}/b\n{HOME}/a\n",
    ("wildcard in robots.txt", "SM411", 1): robots("Disallow: /*?sort=", "/a?sort=1", "/a"),
    ("dates of pages with images", "SM501", 1): (
        f"<url><loc>https://example.org/</loc><lastmod>{{now+9d}}</lastmod>{IMAGE}</url>"
    ),
    ("forms that are not of the protocol", "SM510", 5): dated(
        "6 May 2024", "2024/05/06", "2024-05-06T07:08:09+0200", "20240506", "2024-5-6"
    ),
    ("odd dates, long ago and to come", "SM501 SM509", 3): dated(
        "31/12/2097", "1 Jan 1970", "2024-01-01", "2098-01-01"
    ),
    ("frequencies in capitals", "SM511", 2): frequent("Daily", "NEVER"),
    ("no frequency", "SM511 SM551", 1): frequent("x"),
    ("priorities of pages with images", "SM506", 1): (
        f"<url><loc>https://example.org/{{n}}</loc><priority>0.50</priority>{IMAGE}</url> (x 20)"
    ),
    ("the same time in one of two sitemaps", "SM502", 1): website(
        dated(*[TIME] * 30), dated("2024-05-07", path="/b")
    ),
    ("a page without a date", "SM502", 1): dated(*[TIME] * 30) + locs("/x"),
    ("newer than its index says, after a redirect", "SM503", 1): (
        dated_index(DAY).replace("teas.xml\n", "teas.xml -> /new.xml\n")
        + f"--- /new.xml\n{dated('2024-06-01')}"
    ),
    ("an index that says nothing", "SM504", 1): dated_index("yesterday", "2024"),
}


def test_a_rule_finds_more_than_its_example():
    for (name, codes, count), example in FOUND.items():
        assert len(found_in(example, select=codes.split())) == count, name


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
