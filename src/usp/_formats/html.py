"""HTML where a sitemap was expected: most often an error page, sometimes a guard."""

from __future__ import annotations

import re

from usp._base.advice import Topic
from usp._base.reason import Reason, advised
from usp.objects.failure_codes import FailureCode

_LOOK = 16 * 1024  # characters
_CHALLENGE = re.compile(
    r"""<title>\s*(?:just\ a\ moment|attention\ required|access\ denied|pardon\ our\ interruption
        |robot\ check|ddos-guard|security\ check|are\ you\ a\ robot|please\ wait)
    |cf-chl-|challenge-platform|_incapsula_resource|px-captcha|captcha-delivery\.com|awswafcookie
    |g-recaptcha|h-captcha|cf-turnstile""",
    re.IGNORECASE | re.VERBOSE,
)


HTML = Reason(FailureCode.HTML_PAGE, "it is an HTML page")

CHALLENGE = advised(
    FailureCode.BOT_CHALLENGE, "it is an HTML page that turns robots away", Topic.BE_GENTLE
)


def is_challenge(start: str) -> bool:
    """Tell whether a page asks its reader to prove to be human."""
    return _CHALLENGE.search(start[:_LOOK]) is not None


def html_refusal(start: str) -> Reason:
    """Return why a document that begins as HTML is not a sitemap."""
    return CHALLENGE if is_challenge(start) else HTML
