"""A folder that was built, a list of pages and an earlier state show what sitemaps alone do not."""

import os

import pytest
from check_examples import wrapped

import usp
from website import rss

SITE = "https://tea.example"
PAGE = "<!DOCTYPE html><html><head><title>Tea</title>{}</head><body>Tea</body></html>"
CANONICAL = f'<link rel="canonical" href="{SITE}/black">'
REFRESH = '<meta http-equiv="refresh" content="0; url=/tea/">'
NOINDEX = '<meta name="robots" content="noindex">'


@pytest.fixture
def found(tmp_path):
    """Check a folder with files; return code, file and page of what is found, without the site."""

    def check(files: dict[str, str], listed: str, start: str = SITE, **options):
        (tmp_path / "public").mkdir(exist_ok=True)
        for name, text in files.items():
            file = tmp_path / "public" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text if name.endswith(".txt") else PAGE.format(text))
        entries = "".join(f"<url><loc>{start}{path}</loc></url>" for path in listed.split())
        (tmp_path / "public" / "sitemap.xml").write_text(wrapped(entries))
        findings = usp.check(tmp_path / "public", **options)
        return {f"{one.code} {(one.page or '').removeprefix(start)}" for one in findings}

    return check


LAYOUTS = {
    "Hugo": ("index.html tea/index.html tea/green/index.html", "/ /tea/ /tea/green/"),
    "Jekyll": ("index.html about.html 2024/05/06/tea.html", "/ /about.html /2024/05/06/tea.html"),
    "without suffixes": ("index.html about.html tea/green.html", "/ /about /tea/green"),
    "Next.js, with slashes": ("index.html about.html 404.html", "/ /about/"),
    "without slashes": ("index.html tea/index.html", "/ /tea"),
    "escaped": ("index.html grün/index.html", "/ /gr%C3%BCn/"),
    "a document": ("index.html prices.pdf", "/ /prices.pdf"),
    "a project": ("index.html tea/index.html", "/project/ /project/tea/"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_generators_build_is_found_where_servers_look_for_it(layout, found):
    names, listed = LAYOUTS[layout]
    assert found(dict.fromkeys(names.split(), ""), listed) == set()


def test_pages_that_nobody_should_find_need_not_be_listed(found):
    files = {
        **dict.fromkeys(["index.html", "404.html", "page/2/index.html", "_drafts/a.html"], ""),
        "old.html": REFRESH,
        "thanks.html": NOINDEX,
        "black-tea.html": CANONICAL,
        **dict.fromkeys(["google0123456789abcdef.html"], ""),
    }
    assert found(files, "/") == set()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_cannot_be_read_in_the_folder_does_no_harm(found, tmp_path):
    (tmp_path / "public").mkdir()
    os.mkfifo(tmp_path / "public" / "pipe.html")
    (tmp_path / "public" / "gone.html").symlink_to("nowhere")
    assert found({"index.html": "", "a.html": "x" * 1_000_000}, "/ /a") == set()


def test_a_built_folder_shows_what_is_wrong_before_it_is_deployed(found):
    files = {"index.html": "", "tea.html": NOINDEX, "green.html": CANONICAL, "forgotten.html": ""}
    wrong = {"SM904 /tea", "SM905 /green", "SM930 /gone", "SM931 /forgotten.html"}
    assert found(files, "/ /tea /green /gone", url=SITE) == wrong
    listed = {one for one in wrong if "SM931" not in one} | {f"SM931 {SITE}/forgotten.html"}
    local = "http://localhost:4000"
    assert found(files, "/ /tea /green /gone", local) == (
        {"SM440 /", "SM905 /green"}
        | listed - {f"SM931 {SITE}/forgotten.html"}
        | {"SM931 /forgotten.html"}
    )
    files["robots.txt"] = f"User-agent: *\nAllow: /\nSitemap: {SITE}/sitemap.xml\n"
    others = {f"SM402 {path}" for path in ("/", "/tea", "/green", "/gone")}
    assert found(files, "/ /tea /green /gone", local) == listed | others
    http = SITE.replace("https", "http")
    assert found(files, "/ /tea /green /gone", http) == listed | {"SM404 /"}


def test_a_list_of_pages_may_be_a_table_and_have_files_and_pages_elsewhere(found, tmp_path):
    table = tmp_path / "crawl.csv"
    urls = [f"{SITE}/tea", f"{SITE}/new", f"{SITE}/logo.png", "https://elsewhere.example/"]
    rows = [f"{url},200,Indexable\n" for url in urls]
    rows += [f"{SITE}/moved,301,Non-Indexable\n", f"{SITE}/hidden,200,Non-Indexable\n"]
    table.write_text("Address,Status Code,Indexability\n" + "".join(rows))
    listed = "/tea /draft /moved"
    assert found({}, listed, against=table) == {"SM931 /new", "SM932 /draft", "SM932 /moved"}


def test_a_feed_may_list_pages_that_were_not_built(found, tmp_path):
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "feed.xml").write_text(rss(f"{SITE}/elsewhere"))
    assert found({"index.html": "", "tea.html": ""}, "/ /tea") == set()


def test_what_pages_show_needs_a_file_and_what_follows_from_a_wrong_host_is_told_once(
    found, tmp_path
):
    image = "<image:image><image:loc>{}</image:loc></image:image>"
    shown = [f"{SITE}/cup.png", f"{SITE}/img?url=cup.png", "https://cdn.example/a.png"]
    path = f"/tea</loc>{''.join(map(image.format, shown))}<loc>{SITE}/tea"
    assert found({"tea.html": ""}, path) == {"SM930 /tea"}
    (tmp_path / "public" / "cup.png").touch()
    assert found({"tea.html": ""}, path) == set()
    own = {"tea.html": f'<link rel="canonical" href="{SITE}/tea">'}
    assert found(own, "/tea", "http://localhost:4000") == {"SM440 /tea"}
    assert found(own, "/tea", "https://other.example", url=SITE) == {"SM402 /tea"}
    own["robots.txt"] = "User-agent: *\nDisallow: /private\n"
    assert found(own, "/tea") == {"SM107 "}
