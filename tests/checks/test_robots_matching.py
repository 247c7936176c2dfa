"""What robots.txt disallows is found among many URLs as Protego finds it one by one, and quickly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from usp.checks import robots_access
from usp.checks.robots_access import Robots, agents_of, disallowed_paths

HOST = "https://example.org"
PIECES = ["/", "a", "b", "ab", *"*$?=&.-", "%41", "%2F", "%3d", "é", "%C3%A9"]
URL_PIECES = [piece for piece in PIECES if piece != "*"]

paths = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
rules = st.tuples(st.sampled_from(["Allow", "Disallow", "Dissallow", "disallow "]), paths)
groups = st.tuples(
    st.lists(st.sampled_from(["*", "bot", "*bot*", ""]), min_size=1, max_size=2),
    st.lists(rules, max_size=4),
)
urls = st.lists(st.sampled_from(URL_PIECES), max_size=8).map(
    lambda parts: HOST + "/" + "".join(parts)
)


def written(groups) -> str:
    lines = []
    for agents, rules in groups:
        lines += [f"User-agent: {agent}" for agent in agents]
        lines += [f"{name}: {path}" for name, path in rules]
    return "\n".join(lines)


def found(text, urls):
    joined = "\n{}\n".format("\n".join(urls))
    return [urls[at] for at in Robots(text, agents=["*"]).disallowed(urls, joined)]


@given(st.lists(groups, max_size=3), st.lists(urls, max_size=6))
def test_the_same_urls_are_disallowed_as_protego_says(groups, urls):
    text = written(groups)
    protego = Protego.parse(text)
    assert found(text, urls) == [url for url in urls if not protego.can_fetch(url, "*")]


RULES = [
    ("Disallow: /fish", ["/Fish", "/catfish", "/"], ["/fish", "/fish.html", "/fishheads?id=1"]),
    ("Disallow: /fish/", ["/fish", "/fish.html"], ["/fish/", "/fish/salmon"]),
    ("Disallow: /*.php", ["/windows.PHP", "/"], ["/index.php", "/a/b.php?x", "/a.php/"]),
    ("Disallow: /*.php$", ["/a.php?x=1", "/a.php/", "/a.php5"], ["/a.php"]),
    ("Disallow: /\nAllow: /p", ["/page"], ["/x", "", "?q"]),
    ("Disallow: /folder\nAllow: /folder", ["/folder/page"], []),
    ("Disallow: /*.htm\nAllow: /page", [], ["/page.htm"]),
    ("Disallow: /café", ["/cafe"], ["/caf%C3%A9", "/caf%c3%a9/x", "/café"]),
    ("Disallow: /%7Eu\nDisallow: /%62k\nDisallow: /a%7Eb", ["/u"], ["/~user/x", "/bk", "/a~b"]),
    ("Disallow: /$", ["/page"], ["/", ""]),
    ("Disallow:", ["/", "/page"], []),
    ("Sitemap: https://example.org/s.xml\nDisallow: /x", ["/y"], ["/x"]),
]


def test_the_longest_rule_decides_and_allow_wins_ties():
    for text, allowed, denied in RULES:
        urls = [HOST + path for path in (*allowed, *denied)]
        assert found(f"User-agent: *\n{text}\n", urls) == [HOST + path for path in denied], text


def test_what_is_disallowed_for_one_robot_is_not_disallowed_for_all():
    text = "User-agent: bad\nDisallow: /\n\nUser-agent: *\nDisallow: /cart\n"
    assert list(disallowed_paths(text)) == [(5, "/cart")]
    for agents, count in (("a b", 0), ("* b", 1), ("a *", 1)):
        lines = "".join(f"User-agent: {agent}\n" for agent in agents.split())
        assert len(list(disallowed_paths(f"{lines}Disallow: /x\n"))) == count, agents
    swapped = "User-agent: *\nDisallow: /cart\nUser-agent: bad\nDisallow: /\n"
    assert list(disallowed_paths(swapped)) == [(2, "/cart")]
    assert found(text, [f"{HOST}/tea", f"{HOST}/cart"]) == [f"{HOST}/cart"]


def test_robots_txt_is_about_its_own_host():
    robots = Robots("User-agent: *\nDisallow: /", ["https://example.org"])
    assert not robots.allows("https://EXAMPLE.org/tea")
    assert robots.allows("https://shop.example.org/tea")
    assert robots.allows("http://example.org/tea")


class Counting:
    """Protego, with its questions counted."""

    def __init__(self, text):
        self._protego = Protego.parse(text)
        self.asked = 0

    def can_fetch(self, url, agent):
        self.asked += 1
        return self._protego.can_fetch(url, agent)


def test_thousands_of_rules_that_match_nothing_are_ruled_out_together():
    for path in ("/shop/{}/*cup", "/*item{}*cup", "/shop/tea/{}-old"):
        text = "User-agent: *\n" + "\n".join("Disallow: " + path.format(n) for n in range(3000))
        urls = [f"{HOST}/blog/{n}-name" for n in range(2000)]
        robots = Robots(text)
        counting = Counting(text)
        robots._rules["*"] = robots.rules_for("*")._replace(protego=counting)
        assert not list(robots.disallowed(urls, "\n{}\n".format("\n".join(urls))))
        assert counting.asked == 0, path


def test_a_hostile_robots_txt_is_asked_only_so_often(monkeypatch):
    monkeypatch.setattr(robots_access, "MAX_WORK", 100_000)
    text = "User-agent: *\n" + "".join(f"Disallow: /*a*b*{n}*c\n" for n in range(100))
    urls = [f"{HOST}/{'ab' * 40}{n}" for n in range(500)]
    hostile = Robots(text)
    counting = Counting(text)
    hostile._rules["*"] = hostile.rules_for("*")._replace(protego=counting)
    assert not list(hostile.disallowed(urls, "\n{}\n".format("\n".join(urls))))
    assert 0 < counting.asked < 50


# For each robot --------------------------------------------------------------------------------------

NAMES = ["Googlebot", "Googlebot-News", "googlebot-image", "Bingbot", "OtherBot", "*"]
named_groups = st.tuples(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=2), st.lists(rules, max_size=4)
)


@given(st.lists(named_groups, max_size=4), st.lists(urls, max_size=6), st.sampled_from(NAMES))
def test_a_robot_obeys_its_own_lines_or_those_of_the_robot_that_stands_for_it(groups, urls, name):
    text = written(groups)
    agents = (name,)
    protego = Protego.parse(text)  # to which Googlebot stands for Googlebot-News, too
    refused = Robots(text, agents=agents).disallowed(urls)
    assert [urls[at] for at in refused] == [url for url in urls if not protego.can_fetch(url, name)]
    assert all(Robots(text).allows(url, name) is protego.can_fetch(url, name) for url in urls)


OPEN = "User-agent: *\nDisallow:\n"
WHOM = {
    "User-agent: *\nDisallow: /x": "all robots",
    f"{OPEN}User-agent: Googlebot\nDisallow: /x": "Googlebot",
    f"{OPEN}user-agent: GOOGLEBOT/2.1 # of Google\nDisallow: /x": "Googlebot",
    f"{OPEN}User-agent: Googlebot\nUser-agent: Bingbot\nDisallow: /x": "Googlebot and Bingbot",
    "User-agent: *\nDisallow: /x\nUser-agent: Googlebot\nAllow: /": "* and Bingbot",
    # Robots that are named have lines of their own.
    "User-agent: *\nDisallow: /x\nUser-agent: googlebot\nUser-agent: bingbot\nAllow: /": None,
    # Others, and names that only begin alike, are nobody's.
    f"{OPEN}User-agent: GPTBot\nDisallow: /x": None,
    f"{OPEN}User-agent: Google\nUser-agent: bot\nUser-agent: Googlebot-News\nDisallow: /x": None,
    f"{OPEN}User-agent: Mozilla/5.0 (compatible; Googlebot/2.1)\nDisallow: /x": None,
    "Disallow: /x": None,
}


def test_it_is_said_for_whom_something_is_disallowed():
    for text, whom in WHOM.items():
        assert Robots(text).disallowed([f"{HOST}/x"]).get(0) == whom, text


KINDS = {
    ("Googlebot-News", "news"): "Googlebot-News",
    ("Googlebot", "news"): "Googlebot",
    ("Googlebot", "image"): "Googlebot",
    ("Googlebot-Image", "image"): "Googlebot-Image",
    ("Googlebot-Video", "video"): "Googlebot-Video",
    ("Googlebot-Image", "video"): None,
    ("Googlebot-Video", "image"): None,
    ("Googlebot-Image", ""): None,
    ("Bingbot", "image"): "Bingbot",
}


def test_news_images_and_videos_have_robots_of_their_own():
    for (name, kind), whom in KINDS.items():
        robots = Robots(f"{OPEN}User-agent: {name}\nDisallow: /x")
        assert robots.disallowed([f"{HOST}/x"], kind=kind).get(0) == whom, (name, kind)
    allowed = "User-agent: Googlebot\nDisallow: /x\nUser-agent: Googlebot-Image\nAllow: /x"
    assert not Robots(allowed).disallowed([f"{HOST}/x"], kind="image")
    assert Robots(allowed).disallowed([f"{HOST}/x"], kind="news") == {0: "Googlebot"}


def test_the_names_of_robots_are_written_as_they_write_them():
    assert agents_of(["googlebot, BINGBOT", " Applebot "]) == ("Googlebot", "Bingbot", "Applebot")
    assert agents_of("*,googlebot") == ("*", "Googlebot")
    assert agents_of([]) == ("*", "Googlebot", "Bingbot")
    for wrong in ("Mozilla/5.0", "a b", "**", "-x"):
        with pytest.raises(ValueError, match="not the name of a robot"):
            agents_of([wrong])
