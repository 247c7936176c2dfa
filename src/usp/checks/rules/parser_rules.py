"""The codes of problems and failures as rules: what reading or fetching a document finds anyway.

Their numbers begin at 50 in each group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from usp.checks.finding import Severity
from usp.checks.registry import Rule, RuleScope, add
from usp.objects.problem import AnyCode, FailureCode, ProblemCode

_NUMBERS = {
    Severity.ERROR: """
        150 not-found  151 bad-url  155 sitemap-line-without-url
        250 blocked  251 unauthorized  252 rate-limited  253 server-error  254 http-error
        255 bad-redirect  256 no-such-host  257 connection-refused  258 unreachable
        259 connect-timeout  260 read-timeout  261 connection-closed  262 untrusted-certificate
        263 tls-error  264 not-http  265 bad-headers  266 body-cut-off  267 body-timeout
        268 bad-chunk  269 bad-content-encoding  270 gzip-cut-off  271 gzip-broken
        273 limit-redirects  274 bot-challenge
        350 html-page  351 forbidden-doctype  352 empty-document  353 not-a-sitemap  354 truncated
        355 too-damaged  356 bare-ampersand  357 bad-entity  358 bad-reference
        359 control-character  360 bad-bytes  361 nul-bytes  362 stray-less-than  363 unclosed-quote
        364 unclosed-comment  365 unclosed-cdata  366 unclosed-instruction  367 unclosed-element
        368 unclosed-entry  369 stray-end-tag  370 bad-end-tag  371 inner-declaration
        374 text-before-document  376 no-root  377 more-after-end  378 sitemaps-in-urlset
        379 pages-in-index  380 unknown-elements  385 cut-line  386 guessed-encoding
        450 no-loc  451 bad-loc  452 several-locs  453 loc-outside-entry  454 entry-in-loc
        455 misplaced-address  456 no-scheme  459 bad-line
        550 bad-lastmod  551 bad-changefreq  552 bad-priority
        650 bad-alternate
        851 missing-extension-field
    """,
    Severity.WARNING: """
        051 interrupted  052 address-refused  053 proxy-error  054 client-error  055 internal-error
        056 host-failing  057 not-in-snapshot  058 damaged-record  059 incomplete-snapshot
        060 other-failure  061 other-problem  062 limit-document-bytes  063 limit-unpacked-bytes
        064 limit-ratio  065 limit-depth  066 limit-sitemaps  068 limit-url-length
        069 limit-spool-bytes  070 limit-document-seconds  071 limit-lowest-rate  072 limit-seconds
        073 emptied
        152 recursion  153 redirect-recursion  154 bad-sitemap-link  156 sitemap-line-misnamed
        157 sitemap-line-indented  158 sitemap-line-wrapped  159 sitemap-line-unnamed
        160 sitemap-line-words  161 sitemap-line-several  162 sitemap-line-tail
        163 sitemap-line-repaired
        272 trailing-data
        372 text-in-entry  373 text-between-entries  375 doctype-ignored  381 long-field
        382 too-many-fields  383 long-base  384 long-line
        457 no-link  458 bad-link
        553 bad-feed-date  554 unknown-zone
        850 bad-extension-field  852 misplaced-extension-field
    """,
    Severity.INFO: """
        050 not-fetched  067 limit-pages
    """,
}
"""The number of every code, which stays; the first digit is the group of its rule."""

_F = FailureCode
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


def _rule(number: str, code: AnyCode, severity: Severity) -> Rule:
    return Rule(
        f"SM{number}",
        code.value,
        severity,
        RuleScope.PARSER,
        summary=f"{code.message[0].upper()}{code.message[1:]}.",
        why=code.meaning,
        sources=(PROTOCOL,),
        bad=code.example,
        hint=HINTS.get(code, code.remedy),
    )


_CODES = {code.value: code for code in (*FailureCode, *ProblemCode)}
_BY_CODE = {
    _CODES[name]: _rule(number, _CODES[name], severity)
    for severity, text in _NUMBERS.items()
    for number, name in re.findall(r"([0-9]+) (\S+)", text)
}
for _one in _BY_CODE.values():
    add(_one)


def rule_of(code: AnyCode) -> Rule:
    """Return the rule of a problem's or failure's code; a code without a number is one of the others."""
    is_problem = isinstance(code, ProblemCode)
    other = ProblemCode.OTHER_PROBLEM if is_problem else FailureCode.OTHER_FAILURE
    return _BY_CODE.get(code) or _BY_CODE[other]
