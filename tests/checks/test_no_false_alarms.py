"""Valid sitemaps of every format and extension give no finding."""

import json
from pathlib import Path

import pytest
from check_examples import HOME, Client, linked, replies_of

import usp
from memory_web import Doc
from usp._demo import demo_site
from website import atom, rss

CORPUS = Path(__file__).parents[1] / "corpus"
DAMAGED = ("shop.xml", "moved-away.xml", "robots.txt")  # of the demo site, on purpose
PLAIN = """
<url><loc>https://example.org/</loc></url>
<url><loc>https://example.org/tea?a=1&amp;b=2</loc><lastmod>2024-05-06</lastmod></url>
<url><loc>https://example.org/caf%C3%A9</loc><lastmod>2024-05-06T07:08:09+02:00</lastmod>
  <changefreq>weekly</changefreq><priority>0.8</priority></url>
<url><loc>https://example.org/a,b;c=(d)!'*~$@:</loc><lastmod>2024-05</lastmod><priority>1</priority></url>
"""
LANGUAGES = ("en /en", "de-CH /de", "zh-Hant /zh", "x-default /en")
RICH = (
    "\n".join(linked(path, *LANGUAGES) for path in ("/en", "/de", "/zh"))
    + """
<url><loc>https://example.org/news</loc>
  <news:news><news:publication><news:name>The Tea Times</news:name><news:language>fil</news:language>
  </news:publication><news:publication_date>{now-47h}</news:publication_date>
  <news:title>Tea &amp; more</news:title></news:news>
</url>
<url><loc>https://example.org/today</loc>
  <news:news><news:publication><news:name>The Tea Times</news:name><news:language>zh-CN</news:language>
  </news:publication><news:publication_date>{day-2d}</news:publication_date>
  <news:title>Tea</news:title></news:news>
</url>
<url><loc>https://example.org/media</loc>
  <image:image><image:loc>https://cdn.example.net/a.png?x=1&amp;y=2</image:loc></image:image>
  <image:image><image:loc>https://cdn.example.net/b.png</image:loc></image:image>
  <video:video>
    <video:thumbnail_loc>https://cdn.example.net/v.jpg</video:thumbnail_loc>
    <video:title>Tea</video:title><video:description>How to.</video:description>
    <video:player_loc>https://example.org/player?v=1</video:player_loc>
    <video:duration>28800</video:duration><video:rating>5.0</video:rating>
    <video:expiration_date>{now+1d}</video:expiration_date>
    <video:view_count>0</video:view_count><video:live>no</video:live>
    <video:restriction relationship="deny">DE</video:restriction>
    <video:platform relationship="allow">web tv</video:platform>
    <video:requires_subscription>yes</video:requires_subscription>
    <video:uploader info="https://example.org/u">Me</video:uploader>
  </video:video>
</url>
"""
)
INDEX = """<sitemap><loc>https://example.org/a.xml</loc><lastmod>{now-1h}</lastmod></sitemap>
<sitemap><loc>https://example.org/b.xml.gz</loc></sitemap>
"""
JSON_FEED = (
    '{"version": "https://jsonfeed.org/version/1.1", "title": "Tea", "items": [{"id": "1",'
    f' "url": "{HOME}/1", "content_text": "", "date_published": "2024-05-06T07:08:09Z"}}]}}'
)
NEXT = JSON_FEED.replace(f"{HOME}/1", f"{HOME}/{{0}}").replace(
    '"items"', '"next_url": "/{0}.json", "items"'
)
FEEDS = "".join(
    f"--- /{name}.json{how}\nContent-Type: application/feed+json\n\n{text}\n"
    for name, how, text in (
        ("feed", " (declared)", NEXT.replace("{0}", "2")),
        ("2", "", NEXT.replace("{0}", "3")),
        ("3", "", JSON_FEED),
    )
)
OPML = f'<?xml version="1.0"?>\n<opml version="2.0"><body><outline xmlUrl="{HOME}/a.rss"/></body></opml>'
CHANGES = f"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="{HOME}/capabilities.xml"/><rs:md capability="changelist" from="2024-05-06T00:00:00Z"/>
<url><loc>{HOME}/1</loc><rs:md change="created" datetime="2024-05-06T07:08:09Z" length="10"/></url>
<url><loc>{HOME}/2</loc><rs:md change="deleted" datetime="2024-05-06T07:08:09Z"/></url>
</urlset>"""
_RS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"'
_LISTED = (
    ("source.xml", " (declared)", "description", "capabilities.xml"),
    ("capabilities.xml", "", "capabilitylist", "dump.xml list.xml"),
    ("dump.xml", "", "resourcedump", "resources.zip"),
    ("list.xml", "", "resourcelist", "1"),
)
CAPABILITIES = "\n".join(
    f'--- /{name}{how}\n<urlset {_RS}><rs:md capability="{capability}" at="2024-05-06T00:00:00Z"/>\n'
    f"{''.join(f'<url><loc>{HOME}/{to}</loc></url>' for to in listed.split())}</urlset>"
    for name, how, capability, listed in _LISTED
)
BASKET = f"--- /robots.txt\nUser-agent: *\nDisallow: /basket\n\nSitemap: {HOME}/sitemap.xml\n"
SITES = {
    "plain": f"--- /sitemap.xml\n{PLAIN}\n{BASKET}",
    "rich": f"--- /sitemap.xml (declared)\n{RICH}",
    "gzip": f"--- /sitemap.xml.gz (declared)\n{PLAIN}",
    "index": f"--- /sitemap.xml (declared)\n{INDEX}\n--- /a.xml\n{PLAIN}\n--- /b.xml.gz\n{RICH}",
    "rss": f"--- /feed.rss (declared)\n{rss(f'{HOME}/1')}",
    "atom": f"--- /feed.atom (declared)\n{atom(f'{HOME}/1')}",
    "JSON Feed": f"--- /feed.json (declared)\nContent-Type: application/feed+json\n\n{JSON_FEED}",
    "JSON Feed with others": FEEDS,
    "llms.txt": f"--- /llms.txt (declared)\nContent-Type: text/plain\n\n# Tea\n## Docs\n- [A]({HOME}/a)\n",
    "OPML": f"--- /feeds.opml (declared)\nContent-Type: text/x-opml\n\n{OPML}\n--- /a.rss\n{rss(HOME)}",
    "ResourceSync": f"--- /changes.xml (declared)\n{CHANGES}",
    "lists of ResourceSync": CAPABILITIES,
    "text": f"--- /urls.txt (declared)\n{HOME}/a\n{HOME}/b\n",
}


def test_a_valid_website_sitemap_or_file_gives_no_finding(tmp_path):
    for name, example in SITES.items():
        replies = replies_of(example)
        url = next(url for url in replies if not url.endswith("/robots.txt"))
        website = usp.sitemap_tree_for_homepage(f"{HOME}/", Client(replies))
        assert website.page_count() > 0
        assert list(usp.check(website)) == [], name
        assert list(usp.check(usp.sitemap_tree_for_sitemap(url, Client(replies)))) == [], name
        folder = tmp_path / name
        folder.mkdir()
        for one, reply in replies.items():
            (folder / one.rpartition("/")[2]).write_bytes(reply.body)
        found = usp.check(folder / url.rpartition("/")[2])
        assert [one for one in found if one.name != "not-fetched"] == [], name


def test_the_healthy_part_of_the_demo_site_gives_no_finding():
    with demo_site() as url:
        found = list(usp.check(url))
    healthy = [one for one in found if not one.sitemap.endswith(DAMAGED)]
    # An index in an index is there to show a deeper tree; the news are found by their known path.
    assert {one.name for one in healthy} <= {
        "index-in-index",
        "no-x-default",
        "sitemap-not-declared",
    }


CASES = {
    path.with_suffix("").relative_to(CORPUS).as_posix(): json.loads(path.read_text("utf-8"))
    for path in sorted(CORPUS.rglob("*.json"))
}
GOOD = {n: case for n, case in CASES.items() if case.get("pages") and not case.get("problems")}


@pytest.mark.parametrize("folder", sorted({name.partition("/")[0] for name in GOOD}))
def test_a_good_document_of_the_corpus_gives_no_other_findings(folder):
    names = [name for name in GOOD if name.startswith(f"{folder}/")]
    assert {name: other for name in names if (other := other_findings(name))} == {}


def other_findings(name):
    """Return what is found in a document, beside what is known to be wrong with it."""
    case = GOOD[name]
    usual = "https://www.example.org/sitemap.xml"
    url = case.get("url", f"{usual}.gz" if name.endswith(".gz") else usual)
    labels = {"Content-Type": "content_type", "Content-Encoding": "content_encoding"}
    headers = {header: case[key] for header, key in labels.items() if case.get(key)}
    client = Client({url: Doc((CORPUS / name).read_bytes(), headers=headers)})
    is_page = case.get("role") == "HTML sitemap"
    tree = usp.sitemap_tree_for_sitemap(url, client, use_html_sitemaps=is_page)
    return {one.name for one in usp.check(tree)} - set(case.get("findings", ()))
