"""An address that does not tell what it is: its content does."""

import pytest
from cli_documents import index, urlset

RSS = '<rss version="2.0"><channel><item><title>t</title><link>{site}/story</link></item></channel></rss>'
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>t</title>'
    '<link href="{site}/story"/></entry></feed>'
)


@pytest.fixture
def site(serve):
    return serve(
        {
            "/robots.txt": "Sitemap: {site}/main.xml",
            "/main.xml": urlset("{site}/page"),
            "/feed/": RSS,
            "/?feed=atom": ATOM,
            "/all": index("{site}/main.xml"),
            "/shop/": "<!doctype html><html><body>a shop</body></html>",
            "/notes": "some words\n{site}/not-listed\n",
            "/empty": "",
        }
    )


@pytest.mark.parametrize("path", ["/feed/", "/?feed=atom"])
def test_a_feed_is_listed_alone(run, site, path):
    assert run("ls", site + path, "-f", "pages").lines == [f"{site}/story"]
    assert run("ls", site + path).lines[0] == site + path
    assert "1 page" in run("tree", site + path).out


def test_an_index_is_followed(run, site):
    assert run("ls", f"{site}/all").lines == [
        f"{site}/all",
        f"\t{site}/main.xml",
        f"\t\t{site}/page",
    ]


@pytest.mark.parametrize("path", ["/shop/", "/notes", "/empty", "/missing", "/shop/index.html"])
@pytest.mark.parametrize("options", [["-f", "pages"], []])
def test_anything_else_stands_for_its_website(run, site, path, options):
    ended = run("ls", site + path, *options)
    assert ended.status == 0
    assert ended.lines == run("ls", site, *options).lines
    assert ended.lines[-1].strip() == f"{site}/page"


def test_what_is_recognised_is_asked_for_once(run, serve, seen_headers):
    site = serve({"/feed/": RSS})
    run("ls", f"{site}/feed/", "-f", "pages")
    run("ls", f"{site}/feed/")
    assert len(seen_headers) == 2
