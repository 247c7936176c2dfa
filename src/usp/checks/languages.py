"""Codes of languages in hreflang, as Google reads them."""

from __future__ import annotations

import re
from functools import lru_cache

from usp.checks.iso_codes import LANGUAGES, REGIONS, SCRIPTS

DEFAULT = "x-default"
_CODE = re.compile(r"([a-z]{2})(?:-([a-z]{4}))?(?:-([a-z]{2}))?", re.IGNORECASE)
_USED = frozenset({"XK"})  # not of ISO, but what everyone writes for Kosovo
_MEANT_LANGUAGES = {
    "jp": "ja", "cn": "zh", "kr": "ko", "gr": "el", "cz": "cs", "dk": "da", "ua": "uk", "iw": "he",
    "in": "id", "ji": "yi", "gb": "en", "us": "en", "br": "pt-BR", "at": "de-AT", "mx": "es-MX",
}  # fmt: skip
_MEANT_REGIONS = {"UK": "GB", "EL": "GR", "SP": "ES", "EN": "GB", "JA": "JP"}


@lru_cache(maxsize=4096)
def wrong_with(code: str) -> str | None:
    """Return what is wrong with a code, or None: then it is one.

    It is a language of ISO 639-1 with two letters, and after it a script of ISO 15924 or a country of
    ISO 3166-1, or both in this order; or ``x-default``. The case of letters does not matter.
    """
    code = code.strip()
    found = _CODE.fullmatch(code)
    if found is None:
        return None if code.lower() == DEFAULT else f"{code!r} is not a valid code{_instead(code)}"
    language, script, region = found.groups()
    if language.lower() not in LANGUAGES:
        meant = _MEANT_LANGUAGES.get(language.lower())
        return f"{_part(language, code)} is not a language code{_did_you_mean(meant)}"
    if script and script.title() not in SCRIPTS:
        return f"{script!r} in {code!r} is not a script code"
    if region and region.upper() not in REGIONS | _USED:
        meant = _MEANT_REGIONS.get(region.upper())
        return f"{region!r} in {code!r} is not a country code{_did_you_mean(meant)}"
    return None


def _part(part: str, code: str) -> str:
    return f"{part!r}" if part == code else f"{part!r} in {code!r}"


def _instead(code: str) -> str:
    """Return what is meant by a code that is written with underscores."""
    language, *more = code.replace("_", "-").split("-")
    language = _MEANT_LANGUAGES.get(language.lower(), language)
    other = "-".join([language, *(_MEANT_REGIONS.get(part.upper(), part) for part in more)])
    return _did_you_mean(other if "_" in code and wrong_with(other) is None else None)


def _did_you_mean(other: str | None) -> str:
    return "" if other is None else f"; did you mean {other!r}?"
