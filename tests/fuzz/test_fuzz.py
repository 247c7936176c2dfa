"""Every parser keeps its promises on inputs that nobody has thought of.

``USP_FUZZ_SECONDS`` is how long all targets are tried together (6 unless told), ``USP_FUZZ_SEED`` where
they begin. For longer runs: ``python -m tests.fuzz --minutes 30``.
"""

from __future__ import annotations

import os
import random
import time

import pytest
from fuzz_finds import Find, broken, kept
from fuzz_inputs import mutated, seeds
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiles import examples
from together import together

SECONDS = float(os.environ.get("USP_FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("USP_FUZZ_SEED", "1"))
LAW = settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
TOKENS = st.sampled_from(
    [
        *(b"<urlset>", b"<url>", b"<loc>https://e.org/1</loc>", b"</url>", b"</urlset>", b"<loc>"),
        *(b"<sitemapindex>", b"<sitemap>", b"</sitemap>", b"<rss>", b"<item>", b"<link>/a</link>"),
        *(b"<feed>", b"<entry>", b"<link href='/b'/>", b"</entry>", b"<title>t</title>", b"</rss>"),
        *(b"<!--", b"-->", b"<![CDATA[", b"]]>", b"&amp;", b"&", b"<", b">", b"\n", b"\r", b"\0"),
        *(b"Sitemap: /s.xml\n", b"https://e.org/2\n", b"2024-05-06", b"T07:08", b"+02:00", b"\xff"),
    ]
)
SOUP = st.lists(TOKENS | st.binary(max_size=8), max_size=30).map(b"".join)


@together("find", kept())
def test_what_was_found_before_does_not_come_back(find):
    find.check()


@pytest.mark.parametrize("target", TARGETS)
@LAW
@given(data=SOUP | st.binary(max_size=300), seed=st.integers(0, 1000), case=st.integers(0))
def test_a_parser_keeps_its_promises_on_anything(target, data, seed, case):
    options = seeds(target)[case % len(seeds(target))][1]
    Find(target, data, options, seed).check()


@pytest.mark.parametrize("target", TARGETS)
def test_a_parser_keeps_its_promises_on_changed_cases(target):
    end = time.monotonic() + SECONDS / len(TARGETS)
    seed = SEED
    while time.monotonic() < end:
        data, options = mutated(random.Random(seed), target)
        error = broken(Find(target, data, options, seed))
        assert error is None, f"seed {seed}: {error}\n{data[:500]!r}\n{options}"
        seed += 1
