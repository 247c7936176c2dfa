"""Random websites from a seed, with random faults, and what must be found on each."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import fault_effects as effects
from fault_documents import PAGE_FORMATS, Written, write
from fault_effects import Effect
from fault_replies import redirect, status

KNOWN = ("sitemap.xml", "sitemap_index.xml", "sitemap.txt", "sitemap1.xml", "news-sitemap.xml")

_FAULTS: dict[Callable[[random.Random, Written], Effect], int] = {
    effects.refused: 3,
    effects.failing: 4,
    effects.no_sitemap: 2,
    effects.challenged: 1,
    effects.misdirected: 2,
    effects.breaks_off: 4,
    effects.goes_on: 1,
    effects.cut_short: 3,
    effects.gzip_cut: 2,
    effects.bad_checksum: 1,
}
_RARE = 0.01  # how often a document falls silent: waiting for it takes seconds


@dataclass
class Expected:
    """What a crawl must find: every page of ``sure``, perhaps those of ``possible``, no others.

    ``failures`` are the sitemaps that must be named, and no others.
    """

    sure: set[str] = field(default_factory=set)
    possible: set[str] = field(default_factory=set)
    failures: set[str] = field(default_factory=set)

    def differences(self, pages: list[str], failures: dict[str, str] | None) -> list[str]:
        """Say what a crawl has got wrong."""
        found = set(pages)
        wrong = [f"lost page {url}" for url in sorted(self.sure - found)]
        wrong += [f"invented page {url}" for url in sorted(found - self.sure - self.possible)]
        if failures is not None:
            wrong += [f"unnamed failure {url}" for url in sorted(self.failures - failures.keys())]
            wrong += [
                f"wrong failure {url}: {failures[url]}"
                for url in sorted(failures.keys() - self.failures)
            ]
        return wrong


class GeneratedWebsite:
    """The website of a seed: its answers, whether to look at known paths, and what must be found.

    It is at the address ``base``; ``nobody`` is an address that refuses connections.
    """

    def __init__(self, seed: int, base: str, nobody: str) -> None:
        self._chance = chance = random.Random(seed)
        self._base, self._nobody = base, nobody
        self.answers: dict[str, Any] = {}
        self.expected = Expected()
        self._count = self._pages = 0
        self._damage = chance.choice([0.0, 0.2, 0.4, 0.8])
        self.use_known_paths = chance.random() < 0.25
        tops = [self._plan(1) for _ in range(chance.randint(1, 4))]
        known = chance.sample(KNOWN, chance.randint(0, 2)) if self.use_known_paths else []
        declared = [name for name in known if chance.random() < 0.4]
        urls = [self._url(path) for path, _ in tops] + [self._url(f"/{name}") for name in declared]
        effect = self._robots(write("robots", urls))
        read = write("robots", urls).sure(effect.kept or 0)
        for path, make in tops:
            make(self._url(path) in read)
        for name in known:
            is_declared = self._url(f"/{name}") in read
            self._pages_at(f"/{name}", reached=True, probe=not is_declared)

    # The parts of a website -------------------------------------------------------------------------

    def _robots(self, document: Written) -> Effect:
        chance = self._chance
        if chance.random() >= self._damage / 2:
            effect = effects.whole(document, effects.ok(document.data))
        else:
            effect = chance.choice(
                [
                    effects.at_last(chance, document, probe=False),
                    Effect(status("404 Not Found"), None, named=False),
                    effects.nothing(status("403 Forbidden")),
                    effects.nothing(status("500 Internal Server Error")),
                    Effect(effects.ok(effects.PAGE), None, named=False),
                    effects.challenged(chance, document),
                    self._cut_at_an_entry(document),
                ]
            )
        self._settle("/robots.txt", effect, reached=True)
        return effect

    def _plan(self, level: int) -> tuple[str, Callable[[bool], None]]:
        """Choose a sitemap; what is behind it is made when it is known whether it can be reached."""
        self._count += 1
        chance = self._chance
        if level < 4 and chance.random() < 0.4 / level:
            path = f"/i{self._count}.xml"
            return path, lambda reached: self._index_at(path, level, reached=reached)
        path = f"/s{self._count}.xml"
        return path, lambda reached: self._pages_at(path, reached=reached)

    def _index_at(self, path: str, level: int, *, reached: bool) -> None:
        chance = self._chance
        children = [self._plan(level + 1) for _ in range(chance.randint(0, 4))]
        urls = [self._url(child) for child, _ in children]
        itself = self._url(path)
        if chance.random() < 0.05:
            urls.insert(chance.randint(0, len(urls)), itself)
        if chance.random() < 0.05:
            urls.append(f"{self._nobody}/{path[1:]}")
        document = write("index", urls)
        effect = self._effect(document, probe=False, index=True)
        self._settle(path, effect, reached=reached)
        read = document.sure(effect.kept or 0) if reached else []
        # An index that lists itself misses nothing; one that lists what nobody serves does.
        unreachable = {url for url in read if url.startswith(self._nobody + "/")}
        self.expected.failures |= unreachable
        for child, make in children:
            make(self._url(child) in read)

    def _pages_at(self, path: str, *, reached: bool, probe: bool = False) -> None:
        chance = self._chance
        count = 1500 if chance.random() < 0.01 else chance.randint(1, 12)
        urls = [self._url(f"/p{self._pages + number}") for number in range(count)]
        self._pages += count
        format_ = chance.choice(PAGE_FORMATS)
        document = write(format_, urls)
        effect = self._effect(document, probe=probe, index=False, text=format_ == "text")
        self._settle(path, effect, reached=reached)
        if reached and effect.kept is not None:
            self.expected.sure.update(document.sure(effect.kept))
            self.expected.possible.update(document.possible(effect.kept))

    # What happens to them ---------------------------------------------------------------------------

    def _effect(self, document: Written, *, probe: bool, index: bool, text: bool = False) -> Effect:
        chance = self._chance
        if chance.random() >= self._damage:
            return effects.fine(chance, document)
        if chance.random() < 0.3:
            return effects.at_last(chance, document, probe=probe)
        if probe:
            return self._probe(document)
        if index:
            makers = [effects.refused, effects.failing, effects.no_sitemap, effects.misdirected]
            choices = [lambda: chance.choice(makers)(chance, document)] * 2
            return chance.choice([*choices, lambda: self._cut_at_an_entry(document)])()
        if chance.random() < _RARE:
            return effects.falls_silent(chance, document)
        (make,) = chance.choices(list(_FAULTS), list(_FAULTS.values()))
        if text and make is effects.cut_short:
            make = effects.breaks_off  # nobody can tell that a list of lines is not whole
        return make(chance, document)

    def _probe(self, document: Written) -> Effect:
        """Let a known path fail: whether that must be named depends on the answer."""
        chance = self._chance
        quiet = (effects.refused, effects.no_sitemap)
        make = chance.choice([*quiet, effects.failing, effects.challenged])
        return Effect(make(chance, document).answer, None, named=make not in quiet)

    def _cut_at_an_entry(self, document: Written) -> Effect:
        kept = self._chance.choice(document.entry_ends or (document.body_end,))
        return Effect(effects.cut(document.data + b" ", kept), kept, named=True)

    def _settle(self, path: str, effect: Effect, *, reached: bool) -> None:
        chance = self._chance
        failing = effect.kept is None
        named = path
        if not failing and path.startswith(("/s", "/i")) and chance.random() < 0.05:
            named = f"/moved{path}"
            self.answers[path] = redirect(named, chance.choice(["301 Moved", "308 Permanent"]))
        self.answers[named] = effect.answer
        if effect.named and reached:
            self.expected.failures.add(self._url(named))

    def _url(self, path: str) -> str:
        return self._base + path
