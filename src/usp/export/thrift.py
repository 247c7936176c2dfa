"""Thrift's compact protocol, in which a Parquet file describes itself: values from bytes, and back.

A struct is a dictionary from the numbers of its fields to their kinds and values, a list is the kind of
its items and these. An item that is given as bytes is written as it is.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Struct: TypeAlias = dict[int, tuple[int, Any]]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST = range(1, 10)
I64: Final = _I64
LIST: Final = _LIST
STRUCT: Final = 12
_INTEGERS = frozenset({_I16, _I32, _I64})
_LONG = 15  # items of a list, or fields left out, from which on their number follows


class Reader:
    """Reads values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        """Return a struct."""
        fields: Struct = {}
        number = 0
        while head := self._byte():
            kind = head & _LONG
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = kind, self._value(kind) if kind > _FALSE else kind == _TRUE
        return fields

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._number())
        if kind == STRUCT:
            return self.struct()
        if kind == _LIST:
            head = self._byte()
            size = self._number() if head >> 4 == _LONG else head >> 4
            return head & _LONG, [self._value(head & _LONG) for _ in range(size)]
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"unknown type {kind} in the metadata of a Parquet file")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def _number(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
        return number | byte << shift

    def _integer(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)


def struct_bytes(fields: Struct) -> bytes:
    """Return a struct as bytes."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def _write_struct(out: bytearray, fields: Struct) -> None:
    before = 0
    for number, (kind, value) in sorted(fields.items()):
        if number - before <= _LONG:
            out.append((number - before) << 4 | kind)
        else:
            out.append(kind)
            _write_integer(out, number)
        before = number
        if kind > _FALSE:  # otherwise the kind is the value
            _write_value(out, kind, value)
    out.append(0)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _write_integer(out, value)
    elif kind == _BINARY:
        _write_number(out, len(value))
        out += value
    elif kind == _LIST:
        inner, items = value
        if len(items) < _LONG:
            out.append(len(items) << 4 | inner)
        else:
            out.append(_LONG << 4 | inner)
            _write_number(out, len(items))
        for item in items:
            _write_value(out, inner, item)
    elif isinstance(value, bytes):
        out += value
    elif kind == STRUCT:
        _write_struct(out, value)
    else:
        out.append(value)


def _write_number(out: bytearray, number: int) -> None:
    while rest := number >> 7:
        out.append(number & 0x7F | 0x80)
        number = rest
    out.append(number)


def _write_integer(out: bytearray, number: int) -> None:
    _write_number(out, number << 1 if number >= 0 else ~(number << 1))
