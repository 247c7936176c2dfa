"""What a robots.txt allows, and to which robots.

Protego decides, as RFC 9309 says. That takes a while for each URL, and much longer with thousands of
rules. So it is asked only about URLs that a pattern of all rules together matches: most do not match.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from protego import Protego

from usp._base.urls import origin_of
from usp.checks.page_urls import normal_all
from usp.objects.sitemap import IndexRobotsTxtSitemap, stored_of

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap

ALL_ROBOTS = "*"
AGENTS = (ALL_ROBOTS, "Googlebot", "Bingbot")
"""The robots for which a robots.txt is judged, unless others are named."""

MAX_BYTES = 512 * 1024  # how much of a robots.txt counts: RFC 9309 asks for at least 500 KiB
# Characters of URLs that are compared with wildcards until a hostile robots.txt is asked no more.
MAX_WORK = 4_000_000_000

_LINE = re.compile(r"([A-Za-z][A-Za-z-]*+(?: agent)?+)[ \t]*+[: \t][ \t]*+([^#]*+)")
_AGENT = re.compile(r"user[ -]?agent", re.IGNORECASE)
_AGENT_NAME = re.compile(r"\*|[A-Za-z0-9][\w.-]*", re.ASCII)
_DISALLOW = "di"  # how it begins; the rest is misspelt in many ways
_KNOWN = re.compile(
    r"user[ -]?agent|di.*|allow|clean-param|content-signal|crawl-delay|host|noindex|request-rate"
    r"|site-map|sitemaps?|visit-time",
    re.IGNORECASE,
)
_BETWEEN = frozenset({"sitemap", "sitemaps", "site-map", "host"})  # lines that end no group
_KEPT = re.compile(r"[A-Za-z0-9/_.?=&-]+")  # what is written in one way only, if not escaped
_ESCAPED = r"[^\n%]*+(?:%(?!2[6DEFdef]|3[0-9DFdf]|[4-7])[^\n%]*+)*+%"  # one of those, escaped
_TRIPLET = re.compile("%[0-9A-Fa-f]{2}")
_MAX_HEAD = 24  # characters of a rule that are looked at, which also bounds how deep a tree gets
_SHORT = 2  # characters; the beginning of a path says something from here on


class RobotRules(NamedTuple):
    """What decides for one robot, the URLs to ask about, and how many wildcards its rules have."""

    protego: Protego
    suspects: re.Pattern[str] | None
    wildcards: int

    def allows(self, url: str) -> bool:
        """Return whether the robot may fetch a URL."""
        return bool(self.protego.can_fetch(url, ALL_ROBOTS))


class Robots:
    """What robots may fetch; everything, if there is no robots.txt.

    ``origins`` are those it is about; if they are not known, it is about every URL. ``agents`` are the
    robots for which it is judged.
    """

    def __init__(
        self, text: str = "", origins: Iterable[str] = (), agents: Sequence[str] = AGENTS
    ) -> None:
        self.text = "\n".join(text.splitlines())
        self.agents = agents
        self._origins = frozenset(map(str.lower, origins))
        self._work = MAX_WORK
        self._rules: dict[str, RobotRules] = {}

    @cached_property
    def is_something_else(self) -> bool:
        """Whether no line of the text is one of a robots.txt, although there are lines."""
        lines = [line for line in map(str.strip, self.text.split("\n")) if line]
        found = (_LINE.match(line.removeprefix("\ufeff")) for line in lines)
        is_known = any(one and _KNOWN.fullmatch(one[1]) for one in found)
        return not is_known and any(line[0] != "#" for line in lines)

    def is_about(self, url: str) -> bool:
        """Return whether it is the robots.txt of a URL's website."""
        return not self._origins or origin_of(url).lower() in self._origins

    def allows(self, url: str, agent: str = ALL_ROBOTS) -> bool:
        """Return whether a robot may fetch a URL; those of other websites it may."""
        return not self.text or not self.is_about(url) or self.rules_for(agent).allows(url)

    def disallowed(
        self, urls: Sequence[str], joined: str = "", kind: str = ""
    ) -> Mapping[int, str]:
        """Return the numbers of the URLs that robots may not fetch, and which robots, as a text.

        ``joined`` has a line for each URL, and ``kind`` says what they are: ``news``, ``image`` or
        ``video``, which robots of their own fetch. What only ``*`` may not fetch is allowed to all
        robots that are named, and not among them.
        """
        if not self.text or not urls:
            return {}
        asked = self._asked(kind)
        by_rules: dict[RobotRules, list[str]] = defaultdict(list)
        for agent in asked:
            by_rules[self.rules_for(agent)].append(agent)
        lines = joined or "\n{}\n".format("\n".join(urls))
        refused: dict[str, list[str]] = defaultdict(list)
        for rules, agents in by_rules.items():
            for url in self._refused(rules, lines):
                refused[url] += agents
        whom = {url: names_of(agents, asked) for url, agents in refused.items()}
        found = ((at, whom.get(url, "")) for at, url in enumerate(urls)) if whom else ()
        return {at: names for at, names in found if names}

    def _refused(self, rules: RobotRules, joined: str) -> set[str]:
        refused = set()
        for url in rules.suspects.findall(joined) if rules.suspects is not None else ():
            self._work -= rules.wildcards * len(url)
            if self._work > 0 and self.is_about(url) and not rules.allows(url):
                refused.add(url)
        return refused

    def has_special(self, kind: str) -> bool:
        """Return whether a robot that fetches only URLs of a kind has lines of its own, and counts."""
        return _SPECIAL.get(kind, "").lower() in self._tokens and "Googlebot" in self.agents

    def _asked(self, kind: str) -> list[str]:
        """Return the robots that fetch URLs of a kind; one without lines of its own obeys another's."""
        asked = list(self.agents)
        if not self.has_special(kind):
            return asked
        special = _SPECIAL[kind]
        if special in asked:
            asked.remove(special)
        if kind != "news":  # news are fetched by both
            asked.remove("Googlebot")
        return [*asked, special]

    @cached_property
    def sitemaps(self) -> frozenset[str]:
        """The URLs of the sitemaps that it declares, in their normal form."""
        return frozenset(normal_all(list(self.rules_for(ALL_ROBOTS).protego.sitemaps)))

    @property
    def delay(self) -> float:
        """The pause between requests that it asks for, in seconds."""
        delay = self.rules_for(ALL_ROBOTS).protego.crawl_delay(ALL_ROBOTS) if self.text else None
        return float(delay or 0.0)

    def rules_for(self, agent: str) -> RobotRules:
        """Return what counts for a robot: its own lines, or those of the robot that stands for it."""
        name = agent.lower()
        ways = (name, "googlebot") if name.startswith("googlebot-") else (name,)
        token = next((way for way in ways if way in self._tokens), ALL_ROBOTS)
        if token not in self._rules:
            text = self.text if token == ALL_ROBOTS else self._as_all(token)
            paths = [path for _, path in disallowed_paths(text)]
            wildcards = sum("*" in path for path in paths)
            self._rules[token] = RobotRules(Protego.parse(text), suspects(paths), wildcards)
        return self._rules[token]

    @cached_property
    def _tokens(self) -> frozenset[str]:
        """The names of the robots that have lines of their own."""
        return frozenset(filter(None, map(_token, self.text.split("\n"))))

    def _as_all(self, token: str) -> str:
        """Return the text as if all robots were the one of that name, and there were no others."""
        lines = ((line, _token(line)) for line in self.text.split("\n"))
        return "\n".join(
            line if not name else f"User-agent: {ALL_ROBOTS if name == token else '-'}"
            for line, name in lines
        )


_SPECIAL = {"news": "Googlebot-News", "image": "Googlebot-Image", "video": "Googlebot-Video"}


def agents_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of robots, each once; raises ``ValueError`` for what is none.

    Several may be in one text, with commas between them.
    """
    texts = [names] if isinstance(names, str) else names
    given = [one.strip() for text in texts for one in text.split(",") if one.strip()]
    for name in given:
        if not _AGENT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a robot; use for example Googlebot or *")
    known = {name.lower(): name for name in reversed((*AGENTS, *_SPECIAL.values()))}
    found = {name.lower(): known.get(name.lower(), name) for name in given}
    return tuple(found.values()) or AGENTS


def _token(line: str) -> str:
    """Return the name of the robot in a line ``User-agent:``; empty if it is another line."""
    found = _LINE.match(line.strip())
    if not found or not _AGENT.fullmatch(found[1]):
        return ""
    name = found[2].partition("/")[0].split()[:1]  # Googlebot/2.1, Googlebot (all of them)
    return (name[0].rstrip("*") or ALL_ROBOTS).lower() if name else ""


def names_of(some: Sequence[str], asked: Sequence[str]) -> str:
    """Return some of the robots that were asked about as a text; empty if it is ``*`` alone."""
    if ALL_ROBOTS in some and len(some) == len(asked):
        return "all robots"
    names = [name for name in asked if name in some]
    if names == [ALL_ROBOTS]:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def robots_of(root: AbstractSitemap, agents: Sequence[str] = AGENTS) -> Robots:
    """Return what the robots.txt at the top of a tree allows; in a folder, it may come last."""
    nodes = sorted((root, *root.sub_sitemaps), key=lambda node: node.url.count("/"))
    for node in nodes:
        if isinstance(node, IndexRobotsTxtSitemap) and (stored := stored_of(node)) is not None:
            exchange = node.exchange
            urls = (node.url, exchange.url, exchange.final_url) if exchange else (node.url,)
            origins = [origin_of(url) for url in urls if url.startswith("http")]
            return Robots(stored.text(MAX_BYTES), origins, agents)
    return Robots(agents=agents)


def disallowed_paths(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paths that a robots.txt disallows for ``*``, with their lines."""
    applies = listing = False
    for number, line in enumerate(text.split("\n"), 1):
        found = _LINE.match(line.strip())
        if not found:
            continue
        name, value = found[1].lower(), found[2].strip()
        if _AGENT.fullmatch(name):
            applies = value == "*" or (listing and applies)
            listing = True
        elif name not in _BETWEEN:
            listing = False
            if applies and value and name.startswith(_DISALLOW):
                yield number, value


def suspects(paths: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches every URL, on a line of its own, that paths may disallow, and others.

    A path is taken literally as far as that is certain. Every URL matches in which a character is
    escaped that need not be. None: nothing is disallowed.
    """
    heads, parts = set(), set()
    # Where characters are escaped, nothing is certain: %7E may be ~.
    for path in (_TRIPLET.sub("*", path) for path in paths):
        first = _KEPT.match(path)
        head = first[0] if first and path.startswith("/") else ""
        if len(head) >= _SHORT:
            heads.add(head[:_MAX_HEAD])
        elif not _KEPT.search(path, len(head)):
            heads.add("")  # everything may match; "/" is not even written in every URL
        else:
            parts.add(max(_KEPT.findall(path, len(head)), key=len)[:_MAX_HEAD])
    if not heads and not parts:
        return None
    after = [_either(heads)] if heads else []
    if parts:
        after.append(rf"[^\n]*?{_either(parts)}")
    after.append(_ESCAPED)
    return re.compile(rf"^(?i:https?)://[^/?#\n]*+(?:{'|'.join(after)}).*+$", re.MULTILINE)


def _either(texts: Collection[str]) -> str:
    """Return a pattern of texts that are looked for together, as a tree: the time is that of one."""
    if "" in texts:  # what is longer begins so, too
        return ""
    ways = [
        re.escape(first) + _either([text[1:] for text in same])
        for first, same in groupby(sorted(texts), key=itemgetter(0))
    ]
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"
