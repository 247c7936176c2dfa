"""Pages of guards, answered with 200 where a sitemap was expected: named as what they are."""

from formats_support import chunks, read, urlset

from together import together
from usp._formats.document import Role
from usp._formats.html import CHALLENGE as REASON
from usp._formats.html import HTML, html_refusal, is_challenge
from usp.tree import sitemap_from_bytes, sitemap_from_str, sitemap_tree_for_homepage
from website import robots

CHALLENGE = str(REASON)


def page(title: str = "", body: str = "", head: str = "") -> str:
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


GUARDS = {
    "cloudflare": page("Just a moment...", "<div id=challenge-form></div>"),
    "cloudflare block": page("Attention Required! | Cloudflare"),
    "cloudflare script": page("x", '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate">'),
    "turnstile": page("x", '<div class="cf-turnstile" data-sitekey="0x4"></div>'),
    "akamai": page("Access Denied", "You don't have permission"),
    "distil": page("Pardon Our Interruption"),
    "amazon": page("Robot Check"),
    "aws": page("", "<script>window.awsWafCookieDomainList = [];</script>"),
    "incapsula": page("", '<script src="/_Incapsula_Resource?SWJIYLWA=71"></script>'),
    "perimeterx": page("x", '<div id="px-captcha"></div>'),
    "datadome": page("x", '<script src="https://ct.captcha-delivery.com/c.js"></script>'),
    "recaptcha": page("x", '<div class="g-recaptcha"></div>'),
    "hcaptcha": page("x", '<div class="h-captcha"></div>'),
    "ddos-guard": page("DDoS-Guard"),
    "capitals": page("JUST A MOMENT..."),
    "with a doctype": "<!DOCTYPE html>" + page("Just a moment..."),
    "with a doctype and blanks": "\n\n <!doctype html>\n" + page("Access denied"),
    "with an attribute": '<html lang="en-US"><head><title>Just a moment...</title></head></html>',
    "as xhtml": '<?xml version="1.0"?>' + page("Access Denied"),
}
ORDINARY = {
    "not found": page("404 Not Found", "There is no such page."),
    "with a doctype": "<!DOCTYPE html>" + page("Page not found"),
    "login": page("Log in", "<form action=/login></form>"),
    "shop": page("Please waiters welcome", "").replace("Please waiters", "Our waiters"),
    "article": page("Moments", "Just a moment... said the robot. Access denied, it thought."),
    "maintenance": page("Maintenance", "We will be back soon."),
    "empty": "<html></html>",
}


@together("size", [1, 7, 100, 4000])
@together("role", [Role.SITEMAP, Role.ROBOTS])
def test_a_guard_is_named_as_one_and_an_ordinary_page_is_not_however_it_is_cut(role, size):
    for page in (*GUARDS.values(), *ORDINARY.values()):
        reading = read(chunks(page.encode(), size), role=role)
        assert reading.kind is None
        assert (reading.refusal == CHALLENGE) is (page in GUARDS.values()), page
        assert ("blocks bots" in reading.refusal) is (page in GUARDS.values()), page


def test_the_message_says_what_to_try():
    for advice in ("user_agent", "fewer requests", "pause"):
        assert advice in CHALLENGE
    assert html_refusal(GUARDS["cloudflare"]) is REASON
    assert html_refusal(ORDINARY["not found"]) is HTML
    assert not is_challenge("")


def test_only_the_beginning_is_looked_at():
    assert is_challenge(" " * 16_000 + "g-recaptcha")
    assert not is_challenge(" " * 20_000 + "g-recaptcha")


def test_a_sitemap_that_speaks_of_guards_is_a_sitemap():
    text = urlset("http://h/g-recaptcha", "http://h/challenge-platform")
    assert sitemap_from_str(text).page_count() == 2
    assert sitemap_from_str("http://h/cf-chl-1\nhttp://h/px-captcha\n").page_count() == 2


def test_the_reason_of_a_node_and_its_failure_name_the_guard():
    tree = sitemap_from_bytes(GUARDS["cloudflare"].encode(), "http://h/s.xml")
    assert CHALLENGE in tree.reason
    assert [CHALLENGE in failure.reason for failure in tree.failures()] == [True]


def test_a_guard_in_front_of_a_declared_sitemap_is_named_in_the_tree(serve):
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml")})
    site.answers |= {"/a.xml": GUARDS["with a doctype"], "/b.xml": ORDINARY["not found"]}
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert [CHALLENGE in failure.reason for failure in tree.failures()] == [True, False]
