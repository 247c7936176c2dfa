"""The codes of problems and failures as rules: what reading or fetching a document finds anyway.

Their numbers begin at 50 in each group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks.registry import Rule, Scope, add
from usp.checks.values import Severity
from usp.objects.problem import FailureCode, ProblemCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.objects.problem import AnyCode

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_F, _P = FailureCode, ProblemCode

NUMBERS: Mapping[AnyCode, tuple[int, Severity]] = {
    # What could not be checked: the cause is here, or cannot be told
    _F.NOT_FETCHED: (50, _I),
    _F.INTERRUPTED: (51, _W),
    _F.ADDRESS_REFUSED: (52, _W),
    _F.PROXY_ERROR: (53, _W),
    _F.CLIENT_ERROR: (54, _W),
    _F.INTERNAL_ERROR: (55, _W),
    _F.HOST_FAILING: (56, _W),
    _F.NOT_IN_SNAPSHOT: (57, _W),
    _F.DAMAGED_RECORD: (58, _W),
    _F.INCOMPLETE_SNAPSHOT: (59, _W),
    _F.OTHER_FAILURE: (60, _W),
    _P.OTHER_PROBLEM: (61, _W),
    _F.LIMIT_DOCUMENT_BYTES: (62, _W),
    _F.LIMIT_UNPACKED_BYTES: (63, _W),
    _F.LIMIT_RATIO: (64, _W),
    _F.LIMIT_DEPTH: (65, _W),
    _F.LIMIT_SITEMAPS: (66, _W),
    _F.LIMIT_PAGES: (67, _I),
    _F.LIMIT_URL_LENGTH: (68, _W),
    _F.LIMIT_SPOOL_BYTES: (69, _W),
    _F.LIMIT_DOCUMENT_SECONDS: (70, _W),
    _F.LIMIT_LOWEST_RATE: (71, _W),
    _F.LIMIT_SECONDS: (72, _W),
    # Discovery
    _F.NOT_FOUND: (150, _E),
    _F.BAD_URL: (151, _E),
    _F.RECURSION: (152, _W),
    _F.REDIRECT_RECURSION: (153, _W),
    _P.BAD_SITEMAP_LINK: (154, _W),
    _P.SITEMAP_LINE_WITHOUT_URL: (155, _E),
    _P.SITEMAP_LINE_MISNAMED: (156, _W),
    _P.SITEMAP_LINE_INDENTED: (157, _W),
    _P.SITEMAP_LINE_WRAPPED: (158, _W),
    _P.SITEMAP_LINE_UNNAMED: (159, _W),
    _P.SITEMAP_LINE_WORDS: (160, _W),
    _P.SITEMAP_LINE_SEVERAL: (161, _W),
    _P.SITEMAP_LINE_TAIL: (162, _W),
    _P.SITEMAP_LINE_REPAIRED: (163, _W),
    # Transport
    _F.BLOCKED: (250, _E),
    _F.UNAUTHORIZED: (251, _E),
    _F.RATE_LIMITED: (252, _E),
    _F.SERVER_ERROR: (253, _E),
    _F.HTTP_ERROR: (254, _E),
    _F.BAD_REDIRECT: (255, _E),
    _F.NO_SUCH_HOST: (256, _E),
    _F.CONNECTION_REFUSED: (257, _E),
    _F.UNREACHABLE: (258, _E),
    _F.CONNECT_TIMEOUT: (259, _E),
    _F.READ_TIMEOUT: (260, _E),
    _F.CONNECTION_CLOSED: (261, _E),
    _F.UNTRUSTED_CERTIFICATE: (262, _E),
    _F.TLS_ERROR: (263, _E),
    _F.NOT_HTTP: (264, _E),
    _F.BAD_HEADERS: (265, _E),
    _F.BODY_CUT_OFF: (266, _E),
    _F.BODY_TIMEOUT: (267, _E),
    _F.BAD_CHUNK: (268, _E),
    _F.BAD_CONTENT_ENCODING: (269, _E),
    _F.GZIP_CUT_OFF: (270, _E),
    _F.GZIP_BROKEN: (271, _E),
    _P.TRAILING_DATA: (272, _W),
    _F.LIMIT_REDIRECTS: (273, _E),
    _F.BOT_CHALLENGE: (274, _E),
    # Documents
    _F.HTML_PAGE: (350, _E),
    _F.FORBIDDEN_DOCTYPE: (351, _E),
    _F.EMPTY_DOCUMENT: (352, _E),
    _F.NOT_A_SITEMAP: (353, _E),
    _F.TRUNCATED: (354, _E),
    _F.TOO_DAMAGED: (355, _E),
    _P.BARE_AMPERSAND: (356, _E),
    _P.BAD_ENTITY: (357, _E),
    _P.BAD_REFERENCE: (358, _E),
    _P.CONTROL_CHARACTER: (359, _E),
    _P.BAD_BYTES: (360, _E),
    _P.NUL_BYTES: (361, _E),
    _P.STRAY_LESS_THAN: (362, _E),
    _P.UNCLOSED_QUOTE: (363, _E),
    _P.UNCLOSED_COMMENT: (364, _E),
    _P.UNCLOSED_CDATA: (365, _E),
    _P.UNCLOSED_INSTRUCTION: (366, _E),
    _P.UNCLOSED_ELEMENT: (367, _E),
    _P.UNCLOSED_ENTRY: (368, _E),
    _P.STRAY_END_TAG: (369, _E),
    _P.BAD_END_TAG: (370, _E),
    _P.INNER_DECLARATION: (371, _E),
    _P.TEXT_IN_ENTRY: (372, _W),
    _P.TEXT_BETWEEN_ENTRIES: (373, _W),
    _P.TEXT_BEFORE_DOCUMENT: (374, _E),
    _P.DOCTYPE_IGNORED: (375, _W),
    _P.NO_ROOT: (376, _E),
    _P.MORE_AFTER_END: (377, _E),
    _P.SITEMAPS_IN_URLSET: (378, _E),
    _P.PAGES_IN_INDEX: (379, _E),
    _P.UNKNOWN_ELEMENTS: (380, _E),
    _P.LONG_FIELD: (381, _W),
    _P.TOO_MANY_FIELDS: (382, _W),
    _P.LONG_BASE: (383, _W),
    _P.LONG_LINE: (384, _W),
    _P.CUT_LINE: (385, _E),
    # URLs
    _P.NO_LOC: (450, _E),
    _P.BAD_LOC: (451, _E),
    _P.SEVERAL_LOCS: (452, _E),
    _P.LOC_OUTSIDE_ENTRY: (453, _E),
    _P.ENTRY_IN_LOC: (454, _E),
    _P.MISPLACED_ADDRESS: (455, _E),
    _P.NO_SCHEME: (456, _E),
    _P.NO_LINK: (457, _W),
    _P.BAD_LINK: (458, _W),
    _P.BAD_LINE: (459, _E),
    # Values
    _P.BAD_LASTMOD: (550, _E),
    _P.BAD_CHANGEFREQ: (551, _E),
    _P.BAD_PRIORITY: (552, _E),
    _P.BAD_FEED_DATE: (553, _W),
    # Links to other languages, images and videos
    _P.BAD_ALTERNATE: (650, _E),
    _P.BAD_EXTENSION_FIELD: (850, _W),
    _P.MISSING_EXTENSION_FIELD: (851, _E),
    _P.MISPLACED_EXTENSION_FIELD: (852, _W),
}
"""The number and the severity of every code."""

PROTOCOL = "https://www.sitemaps.org/protocol.html"

_LOOK = "Look into the error log of the server, and of the proxy in front of it."
_WALL = "Let robots fetch the sitemap: leave it out of the bot rules of the firewall or CDN."
_SLOW = "Make the server respond faster: search engines do not wait either. --timeout waits longer."

HINTS: Mapping[AnyCode, str] = {
    _F.BLOCKED: _WALL,
    _F.BOT_CHALLENGE: _WALL,
    _F.UNAUTHORIZED: "Send the sitemap without a login. To check a protected website, write "
    "https://user:password@host/.",
    _F.RATE_LIMITED: "Allow robots more requests. To check more slowly, use --concurrency 1 or --wait.",
    _F.SERVER_ERROR: _LOOK,
    _F.CONNECTION_CLOSED: _LOOK,
    _F.BODY_CUT_OFF: _LOOK,
    _F.BAD_CHUNK: _LOOK,
    _F.NO_SUCH_HOST: "Correct the host name where the sitemap is declared, or the DNS of the host.",
    _F.CONNECTION_REFUSED: "Correct the scheme and the port where the sitemap is declared.",
    _F.CONNECT_TIMEOUT: _SLOW,
    _F.READ_TIMEOUT: _SLOW,
    _F.BODY_TIMEOUT: _SLOW,
    _F.UNTRUSTED_CERTIFICATE: "Renew or correct the certificate. --ca-bundle FILE trusts an authority "
    "of your own.",
    _F.LIMIT_REDIRECTS: "Declare the URL at the end of the redirects, and remove those in a circle.",
}
"""What the owner of a website does, where a remedy is for those who read it."""

_BY_CODE = {
    code: Rule(
        f"SM{number:03}",
        code.value,
        severity,
        Scope.PARSER,
        summary=f"{code.message[0].upper()}{code.message[1:]}.",
        why=code.meaning,
        sources=(PROTOCOL,),
        bad=code.example,
        hint=HINTS.get(code, code.remedy),
    )
    for code, (number, severity) in NUMBERS.items()
}
for _rule in _BY_CODE.values():
    add(_rule)


def rule_of(code: AnyCode) -> Rule:
    """Return the rule of a problem's or failure's code."""
    return _BY_CODE[code]
