"""A document that is not a sitemap is refused for what is wrong with it, and for nothing else."""

from __future__ import annotations

import gzip
import re

from together import together
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_from_bytes

CUT = gzip.compress(b"<urlset>" * 99)
NO_ROOT = (b"<", b"<!", b"<!DOCTYPE", b"<!doctype ht")  # not yet an HTML page
REASONS = {
    **dict.fromkeys([b"", b" \n", b"\xef\xbb\xbf", gzip.compress(b"")], "it is empty"),
    b"\x1f\x8b\x08garbage": "nothing in it can be read: the compressed data is broken.*",
    gzip.compress(CUT[:11]): "nothing in it can be read: the compressed data breaks off.*",
    **dict.fromkeys([*NO_ROOT, *map(gzip.compress, NO_ROOT)], "it has no root element"),
    **dict.fromkeys([b"<!doctype html", b"<!DOCTYPE html><p>"], ".*HTML page.*"),
}


@together("data, reason", REASONS.items())
def test_a_document_is_refused_for_what_is_wrong_with_it(data, reason):
    node = sitemap_from_bytes(data)
    assert isinstance(node, InvalidSitemap)
    assert re.fullmatch(reason, node.reason.partition("/: ")[2])
