"""Values of the objects as Arrow arrays."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from usp._base.dates import in_utc
from usp.export.schema import TEXTS, Kind, Many, Record, arrow_type, pyarrow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from usp.export.schema import AnyKind

_LARGEST = (1 << 63) - 1


def array_of(values: Sequence[Any], kind: AnyKind) -> Any:
    """Give values of the objects as an Arrow array."""
    pa = pyarrow()
    if isinstance(kind, Many):
        ends = accumulate(len(value) if value else 0 for value in values)
        offsets = [0, *ends]
        # An offset that is not known makes its list unknown; the last one only ends the others.
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
    """Give texts as an Arrow array; half a character, which UTF-8 has not, becomes ``?``."""
    pa = pyarrow()
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        whole = [t if t is None else t.encode("utf-8", "replace").decode("utf-8") for t in texts]
        return pa.array(whole, pa.string())


def by_distinct(texts: Any, read: Callable[[str], Any], kind: Any) -> Any:
    """Read an array of texts, each distinct one once."""
    encoded = texts.dictionary_encode()
    values = [read(text) for text in encoded.dictionary.to_pylist()]
    return pyarrow().array(values, kind).take(encoded.indices)
