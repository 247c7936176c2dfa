"""A whole column of dates at once: in Arrow where they are written as usual."""

from __future__ import annotations

from typing import Any

from usp._base.dates import PRECISIONS, in_utc, known_date, precision_of_text
from usp.export.schema import Kind, arrow_type, pyarrow

# What Arrow reads as our own parser does. Of other years one of them may know less than the other.
_USUAL = (
    r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"(?:[T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
    r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?$"
)
_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"
_DAY = len("2024-05-31")
_FEW = 200  # distinct texts, which our own parser has read before Arrow has begun


def read_dates(texts: Any) -> tuple[Any, Any]:
    """Give the moments of an array of texts, and how exactly they are written."""
    pa = pyarrow()
    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    read = _read_usual(distinct) if len(distinct) > _FEW else None
    moments, precisions = read or _read_one_by_one(distinct.to_pylist())
    numbers = precisions.take(encoded.indices)
    words = pa.array(PRECISIONS, pa.string())
    return moments.take(encoded.indices), pa.DictionaryArray.from_arrays(numbers, words)


def _read_one_by_one(texts: list[str]) -> tuple[Any, Any]:
    pa = pyarrow()
    dates = [known_date(text) for text in texts]
    moments = [None if date is None else in_utc(date) for date in dates]
    precisions = [precision_of_text(text) for text in texts]
    numbers = [None if word is None else PRECISIONS.index(word) for word in precisions]
    return pa.array(moments, arrow_type(Kind.TIME)), pa.array(numbers, pa.int32())


def _read_usual(texts: Any) -> tuple[Any, Any] | None:
    """Let Arrow read distinct texts; None if one of them is not written as usual."""
    pa, pc = pyarrow(), pyarrow(".compute")
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    if not pc.all(pc.match_substring_regex(texts, _USUAL)).as_py():
        return None
    days = pc.equal(pc.utf8_length(texts), _DAY)
    with_zone = pc.match_substring_regex(texts, _ZONE)
    ends = pc.if_else(days, "T00:00:00Z", pc.if_else(with_zone, "", "Z"))
    try:
        moments = pc.binary_join_element_wise(texts, ends, "").cast(arrow_type(Kind.TIME))
    except pa.ArrowInvalid:  # a thirtieth of February
        return None
    day, second, fraction = map(PRECISIONS.index, ("day", "second", "fraction"))
    finer = pc.if_else(pc.match_substring(texts, "."), fraction, second)
    return moments, pc.if_else(days, day, finer).cast(pa.int32())
