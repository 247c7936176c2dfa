"""Arrow arrays of values: of objects, and of texts as documents write them."""

from __future__ import annotations

from datetime import UTC
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from usp._base.dates import PRECISIONS, in_utc, known_date, precision_of_text
from usp.export.schema import TEXTS, Kind, ListKind, StructKind, arrow_type, pyarrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from usp.export.schema import AnyKind

_LARGEST = (1 << 63) - 1

# Dates that Arrow parses as our own parser does. Outside of these years they may differ.
_USUAL = (
    r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"(?:[T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
    r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?$"
)
_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"
_DAY = len("2024-05-31")
_FEW = 200  # distinct texts up to which our own parser is faster than Arrow


def array_of(values: Sequence[Any], kind: AnyKind) -> Any:
    """Return values of the objects as an Arrow array; an empty list is null."""
    pa = pyarrow()
    if isinstance(kind, ListKind):
        return _lists(values, kind) if any(values) else pa.nulls(len(values), arrow_type(kind))
    if isinstance(kind, StructKind):
        return _records(values, kind)
    if kind in TEXTS:
        return texts_array(values)
    single = _SINGLE.get(kind)
    if single is not None:
        values = [None if value is None else single(value) for value in values]
    return pa.array(values, arrow_type(kind))


def _lists(values: Sequence[Any], kind: ListKind) -> Any:
    pa = pyarrow()
    offsets = [0, *accumulate(len(value) if value else 0 for value in values)]
    # A null offset makes its list null; the last offset only ends the list before it.
    begins = [at if value else None for at, value in zip(offsets, values, strict=False)]
    inner = array_of(list(chain.from_iterable(filter(None, values))), kind.of)
    return pa.ListArray.from_arrays(pa.array([*begins, offsets[-1]], pa.int32()), inner)


def _records(values: Sequence[Any], kind: StructKind) -> Any:
    """Return structs; values that are missing cost nothing but their place."""
    pa = pyarrow()
    missing = [value is None for value in values]
    if all(missing):
        return pa.nulls(len(values), arrow_type(kind))
    given = [value for value in values if value is not None] if any(missing) else values
    columns = [array_of(list(map(get, given)), inner) for get, inner in kind.fields.values()]
    records = pa.StructArray.from_arrays(columns, fields=list(arrow_type(kind)))
    if given is values:
        return records
    places = accumulate((not one for one in missing), initial=0)
    return records.take(
        pa.array([None if gone else at for gone, at in zip(missing, places, strict=False)])
    )


def _moment(date: datetime) -> datetime:
    """Return a date as Arrow takes it: in UTC, or without an offset, which means the same to it."""
    return date if date.tzinfo is None or date.tzinfo is UTC else in_utc(date)


def _whole(number: int) -> int:
    return max(-_LARGEST, min(number, _LARGEST))


_SINGLE: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TIME: _moment,
    Kind.NUMBER: float,
    Kind.WHOLE: _whole,
}


def dictionary(indices: Any, words: Iterable[str]) -> Any:
    """Return words by their numbers, as a dictionary array."""
    pa = pyarrow()
    if isinstance(indices, list):
        indices = pa.array(indices, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, texts_array(list(words)))


def texts_array(texts: Sequence[str | None]) -> Any:
    """Return text as an Arrow array; a lone surrogate becomes ``?``."""
    pa = pyarrow()
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        whole = [t if t is None else t.encode("utf-8", "replace").decode("utf-8") for t in texts]
        return pa.array(whole, pa.string())


def by_distinct(texts: Any, read: Callable[[str], Any], kind: Any) -> Any:
    """Parse an array of text, each distinct value once."""
    encoded = texts.dictionary_encode()
    values = [read(text) for text in encoded.dictionary.to_pylist()]
    return pyarrow().array(values, kind).take(encoded.indices)


# Dates ----------------------------------------------------------------------------------------------


def read_dates(texts: Any) -> tuple[Any, Any]:
    """Return the timestamps of an array of text, and their precision."""
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
    """Return distinct texts as parsed by Arrow; None if one of them has an unusual form."""
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
