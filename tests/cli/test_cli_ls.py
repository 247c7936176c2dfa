from unittest.mock import MagicMock

from usp.cli.commands.cmd_ls import tabtree_lines
from usp.objects.page import SitemapPage
from usp.objects.sitemap import IndexWebsiteSitemap, PagesXMLSitemap
from usp.selection import Selection
from website import robots, urlset


def test_tabtree_has_a_line_for_every_node_the_root_first(run, site):
    ended = run("ls", site).ends(0)
    assert ended.out == (
        f"{site}/\n"
        f"\t{site}/robots.txt\n"
        f"\t\t{site}/main.xml\n"
        f"\t\t\t{site}/a.xml\n"
        f"\t\t\t\t{site}/one\n"
        "\t\t\t\thttp://other.example/two\n"
        f"\t\t\t\t{site}/a b?x=1&y=2\n"
        f"\t\t\t{site}/missing.xml\n"
        f"\t{site}/sitemap.xml\n"
        f"\t\t{site}/known\n"
        f"\t\t{site}\n"
        f"\t\t{site}/\n"
    )
    assert run("ls", "-f", "tabtree", site).out == ended.out


def test_strip_url_leaves_the_root_and_other_hosts_whole(run, site):
    whole = run("ls", site).lines
    assert run("ls", site, "-u").lines == [
        whole[0], *(line.replace(f"{site}/", "/") for line in whole[1:])
    ]  # fmt: skip
    pages = run("ls", site, "--strip-url", "-f", "pages").lines
    assert pages == ["/one", "http://other.example/two", "/a b?x=1&y=2", "/known", site, "/"]
    for path in ["/main.xml", "/robots.txt"]:
        ended = run("ls", site + path, "-u")
        assert ended.lines[0] == site + path
        assert "/one" in [line.strip() for line in ended.lines]
        assert not [line for line in ended.lines if "known" in line]


def test_no_robots_and_no_known_leave_out_what_they_say(run, site):
    assert run("ls", site, "-r", "-f", "pages", "-u").lines == ["/known", site, "/"]
    assert run("ls", site, "--no-known", "-u").lines[1:3] == ["\t/robots.txt", "\t\t/main.xml"]
    assert not [line for line in run("ls", site, "-k").lines if "sitemap.xml" in line]
    nothing = run("ls", site, "-rk").ends(0, out=f"{site}/\n")
    assert nothing.err.startswith(
        f"usp: no sitemaps with pages were found at {site}/ (--html-links "
    )


def test_a_page_that_is_called_a_sitemap_is_an_error(run, serve):
    html = serve({"/sitemap.php": "<html><body>nothing</body></html>"})
    ended = run("ls", f"{html}/sitemap.php", "-f", "pages").ends(1, out="")
    assert ended.err == f"usp: {html}/sitemap.php: it is an HTML page\n"


def test_html_sitemaps_neighbours_and_words_are_listed_if_asked_for(run, serve):
    german = (
        '<url><loc>{base}/tea</loc><link xmlns="http://www.w3.org/1999/xhtml" rel="alternate" '
        'hreflang="de" href="{alt}/tee"/></url>'
    )
    page = "<!doctype html><title>Sitemap</title><h2>Teas</h2><a href='{base}/green'>Green</a>"
    site = serve(
        {"/sitemap.xml": f"<urlset>{german}</urlset>", "alt:/sitemap.xml": urlset("{alt}/tee")}
        | {"/site-map": page}
    )
    assert run("ls", site, "-f", "pages", "-u").lines == ["/tea"]
    more = run("ls", site, "-f", "pages", "-u", "--html-sitemaps", "--neighbours").ends(0).lines
    assert [line.removeprefix(site.web.alt) for line in more] == ["/tea", "/green", "/tee"]
    best = run("ls", site, "-u", "--html-sitemaps", "--match", "teas").ends(0).lines
    assert best == ["/green", "/tea"]  # a word counts more than its singular
    tree = run("tree", site, "--neighbours").ends(0).out
    assert f"{site.web.alt}/  1 sitemap" in tree


def test_nothing_a_terminal_would_obey_is_printed(run, serve):
    site = serve(
        {
            "/robots.txt": robots("/list.txt", "/\x1b[2Jgone\x07\u202e.xml"),
            "/list.txt": "{site}/\x1b[31mred\n{site}/bell\x07\n{site}/caf\u00e9\n",
            "/sitemap.xml": urlset("/c1\u009b31m", "/\u202egnp.exe"),
        }
    )
    ended = run("ls", site, "-u")
    lines = [line.strip("\t") for line in ended.lines]
    shown = {"/%1B[31mred", "/bell%07", "/café", "/c1%C2%9B31m", "/%E2%80%AEgnp.exe"}
    assert shown <= set(lines)
    assert all(line.isprintable() for line in (*lines, *ended.err.splitlines()))
    assert "%1B[2Jgone" in ended.err


def test_pages_are_listed_while_they_are_read():
    read = []

    def pages():
        for number in range(10):
            read.append(number)
            yield SitemapPage(f"http://x/{number}")

    source = MagicMock(**{"__iter__.side_effect": pages})
    tree = IndexWebsiteSitemap("http://x/", [PagesXMLSitemap("http://x/s.xml", source)])
    lines = tabtree_lines(tree, str, Selection())
    assert [next(lines) for _ in range(3)] == ["http://x/", "\thttp://x/s.xml", "\t\thttp://x/0"]
    assert read == [0]


def test_match_lists_the_pages_that_fit_best(run, serve):
    site = serve(
        {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/tea/list", "/list/tea", "/milk")}
    )
    found = run("ls", site, "--match", "Tea", "-k", "-u").ends(0)
    assert found.lines == ["/list/tea", "/tea/list"]
    assert run("ls", site, "--match", "tea", "-k", "-u", "--limit", "1").lines == ["/list/tea"]
    table = run("ls", site, "--match", "tea", "-k", "-f", "csv", "--columns", "path").ends(0)
    assert table.lines == ["path", "/list/tea", "/tea/list"]
    assert "no page matches" in run("ls", site, "--match", "wine", "-k").ends(0, out="").err
    for wrong in (["!"], ["tea", "-f", "tabtree"], ["tea", "--unordered"], ["tea", "--sitemaps"]):
        assert "--match" in run("ls", site, "--match", *wrong).ends(2, out="").err
