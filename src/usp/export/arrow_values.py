"""Values of objects, and columns of text, as Arrow arrays."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from usp._base.dates import PRECISIONS, in_utc, known_date, precision_of_text
from usp.export.schema import TEXTS, Kind, Many, Record, arrow_type, pyarrow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Return values of the objects as an Arrow array."""
    pa = pyarrow()
    if isinstance(kind, Many):
        ends = accumulate(len(value) if value else 0 for value in values)
        offsets = [0, *ends]
        # A null offset makes its list null; the last offset only ends the list before it.
        begins = [at if value else None for at, value in zip(offsets, values, strict=False)]
        inner = array_of([item for value in values if value for item in value], kind.of)
        return pa.ListArray.from_arrays(pa.array([*begins, offsets[-1]], pa.int32()), inner)
    if isinstance(kind, Record):
        columns = [
            array_of([None if value is None else get(value) for value in values], inner)
            for get, inner in kind.fields.values()
        ]
        unknown = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(kind)), mask=unknown)
    if kind in TEXTS:
        return texts_array(values)
    return pa.array([_single(value, kind) for value in values], arrow_type(kind))


def _single(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind is Kind.TIME:
        return in_utc(value)
    if kind is Kind.NUMBER:
        return float(value)
    if kind is Kind.WHOLE:
        return max(-_LARGEST, min(value, _LARGEST))
    return value


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
