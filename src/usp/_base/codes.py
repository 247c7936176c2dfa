"""What a code is: a stable word for programs, with what people need to know about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """A stable name, equal to its text, such as ``bare-ampersand``.

    ``message`` says it in a few words, ``meaning`` in a sentence or two, ``example`` shows it, and
    ``remedy`` says what to do. The pages of ``docs/problems.md`` are made of them.
    """

    message: str
    meaning: str
    example: str
    remedy: str

    def __new__(cls, value: str, message: str, meaning: str, example: str, remedy: str) -> Self:
        """Make a member; its value is its text alone."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.message = message
        member.meaning = meaning
        member.example = example
        member.remedy = remedy
        return member
