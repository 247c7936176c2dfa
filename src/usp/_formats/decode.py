"""From bytes to text: compression off, then the character encoding.

Encodings are trusted in this order: byte order mark, HTTP header, XML declaration, UTF-8. Bytes that
are valid UTF-8 beat a label of an older encoding, because such labels are often left over from a
template while no text of that kind happens to be valid UTF-8.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from usp._formats.unpack import Unpacker
from usp.limits import DEFAULT
from usp.objects.problem import ProblemCode, Problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.limits import Limits

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD = 256  # bytes that are looked at before the encoding is decided
_DECLARED = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*+=\s*+["']\s*+([A-Za-z0-9._:-]{1,40})""")
_CHARSET = re.compile(r"""charset\s*+=\s*+["']?+\s*+([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_PROOF = 4  # so many characters that are valid UTF-8 are no coincidence in another encoding
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_ZEROS = {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}
_ASCII = frozenset(b"\0\t\r\n") | frozenset(range(0x20, 0x7F))
_WIDE = ("utf-16", "utf-32")
_NO_CHARSETS = frozenset(  # what Python can decode and no document is written in
    {
        "idna",
        "mbcs",
        "oem",
        "punycode",
        "raw-unicode-escape",
        "undefined",
        "unicode-escape",
        "utf-7",
    }
)
_SEVEN_BIT = ("iso2022", "hz")  # their bytes are always valid UTF-8, and say nothing
_ALIASES = {  # what labels mean on the web: the larger sets that the names are used for
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
_LABELS = {  # labels that Python does not know
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gb18030",
    "windows-874": "cp874",
}


class Labels(NamedTuple):
    """What a document says about its encoding; None where it says nothing.

    ``mark`` is the byte order mark, ``header`` the charset of the HTTP header, ``declared`` that of the
    XML declaration, both as written.
    """

    mark: str | None
    header: str | None
    declared: str | None


class Decoder:
    """Turns the bytes of a document into text: ``feed`` chunks, then ``close``.

    However the bytes are split, the text is the same. Bytes that could not be decoded are in
    ``problems``.
    """

    def __init__(
        self,
        *,
        content_type: str | None = None,
        content_encoding: str | None = None,
        limits: Limits = DEFAULT,
        problems: Problems | None = None,
    ) -> None:
        self.problems = problems if problems is not None else Problems()
        self._unpacker = Unpacker(self.problems, content_encoding=content_encoding, limits=limits)
        self._content_type = content_type
        self._head = b""
        self._text: _Text | None = None
        self._first = b""  # what the encoding was decided by
        self.size = 0  # bytes without compression, so far

    @property
    def layers(self) -> int:
        """How many compressions around each other were removed."""
        return self._unpacker.layers

    @property
    def labels(self) -> Labels:
        """What the document says about its encoding."""
        mark = next((name for bom, name in _BOMS if self._first.startswith(bom)), None)
        first = self._first.replace(b"\0", b"") if mark or _shape(self._first) else self._first
        declared = _DECLARED.search(first)
        header = _CHARSET.search(self._content_type or "")
        return Labels(
            mark, header[1] if header else None, declared[1].decode("ascii") if declared else None
        )

    @property
    def is_mislabelled(self) -> bool:
        """Whether the text is UTF-8, beyond ASCII, and labelled as something else."""
        return self._text is not None and self._text.is_mislabelled

    @property
    def encoding(self) -> str | None:
        """The encoding the document turned out to have, once it is known."""
        return self._text.encoding if self._text else None

    def feed(self, data: bytes) -> str:
        """Return the text that is complete so far."""
        return "".join(self.texts(data))

    def texts(self, data: bytes) -> Iterator[str]:
        """Yield the same text in bounded pieces, each decoded when the one before it was read."""
        return self._decode(self._unpacker.feed(data))

    def close(self) -> str:
        """Return the rest of the text."""
        text = "".join(self._decode(self._unpacker.close()))
        if self._text is None:
            text += self._start()
        assert self._text is not None
        return text + self._text.decode(b"", final=True)

    def _decode(self, pieces: Iterable[bytes]) -> Iterator[str]:
        for piece in pieces:
            self.size += len(piece)
            if self._text is not None:
                yield self._text.decode(piece)
                continue
            self._head += piece
            if len(self._head) >= _HEAD:
                yield self._start()

    def _start(self) -> str:
        head, self._head = self._head, b""
        self._first = head[:_HEAD]
        self._text, skip = _choose(head[:_HEAD], self._content_type, self.problems)
        return self._text.decode(head[skip:])


def _choose(head: bytes, content_type: str | None, problems: Problems) -> tuple[_Text, int]:
    """Decide the encoding by the first bytes; also give the length of the byte order mark."""
    if not head.startswith(b"<?xml"):
        for bom, name in _BOMS:
            if head.startswith(bom):
                return _Text(name, None, problems), len(bom)
        shape = _shape(head)
        if shape:
            return _Text(shape, None, problems), 0
    # The documents of a website begin alike.
    label = _declared(head[: head.find(b">") + 1]) or _declared(head)
    # Servers send few content types; one that is long or new each time need not be kept.
    short = content_type is None or len(content_type) <= _LONGEST_TYPE
    encoding, fallback = (_known_labelled if short else _labelled)(content_type, label)
    return _Text(encoding, fallback, problems), 0


@lru_cache(maxsize=64)
def _declared(head: bytes) -> str | None:
    """Return the encoding of the XML declaration, as it is written."""
    found = _DECLARED.search(head)
    return found[1].decode("ascii") if found else None


def _labelled(content_type: str | None, declared: str | None) -> tuple[str, str | None]:
    """Return the encoding according to the labels, and the fallback if that is wrong."""
    from_header = _CHARSET.search(content_type or "")
    labels = [known_encoding(from_header[1] if from_header else None), known_encoding(declared)]
    # No zero byte stands where UTF-16 and UTF-32 would have one: such a label is mistaken.
    trusted = [label for label in labels if label and not label.startswith(_WIDE)]
    others = [label for label in trusted if label != "utf-8"]
    if not others:
        return "utf-8", None
    if trusted[0].startswith(_SEVEN_BIT):
        return trusted[0], None
    return "utf-8", others[0]


_LONGEST_TYPE = 100  # characters
_known_labelled = lru_cache(maxsize=256)(_labelled)


def _shape(head: bytes) -> str | None:
    """Return which UTF-16 or UTF-32 it is, by the zeros around the first characters."""
    if b"\0" not in head[:4] or not _ASCII.issuperset(head[:4]):
        return None
    zeros = "".join("0" if byte == 0 else "x" for byte in head[:4])
    return _ZEROS.get(zeros)


def known_encoding(label: str | None) -> str | None:
    """Return Python's name of a text encoding; None if Python does not know it."""
    if label is None:
        return None
    try:
        info = codecs.lookup(_LABELS.get(label.lower(), label))
    except LookupError:
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name in _NO_CHARSETS:
        return None
    return _ALIASES.get(info.name, info.name)


class _Text:
    """Decodes, as UTF-8 as long as that is possible, and as ``fallback`` from then on."""

    def __init__(self, encoding: str, fallback: str | None, problems: Problems) -> None:
        self.encoding = encoding
        self._fallback = fallback
        self._problems = problems
        self._rest = b""
        self._proof = 0
        self._damaged = False
        self._other: codecs.IncrementalDecoder | None = None
        if encoding != "utf-8":
            self._turn(encoding)

    @property
    def is_mislabelled(self) -> bool:
        return self._other is None and self._fallback is not None and self._proof > 0

    def _turn(self, encoding: str) -> None:
        self.encoding = encoding
        self._other = codecs.getincrementaldecoder(encoding)(_MARK)

    def decode(self, data: bytes, *, final: bool = False) -> str:
        if self._other is not None:
            return self._note(self._other.decode(data, final))
        data = self._rest + data
        errors = "replace" if self._damaged else "strict"
        try:
            text, used = codecs.utf_8_decode(data, errors, final)
        except UnicodeDecodeError as error:
            return self._disproved(data, error.start, final=final)
        self._rest = data[used:]
        if self._fallback and self._proof < _PROOF and not text.isascii():
            self._proof += len(_BEYOND_ASCII.findall(text))
        return text

    def _disproved(self, data: bytes, at: int, *, final: bool) -> str:
        """Go on after the first bytes that are not UTF-8."""
        self._rest = b""
        text = codecs.utf_8_decode(data[:at])[0]
        self._proof += len(_BEYOND_ASCII.findall(text))
        if self._fallback and self._proof < _PROOF:
            self._turn(self._fallback)
        else:
            self._damaged = True
            self._problems.add(ProblemCode.BAD_BYTES, excerpt="utf-8")
        return text + self.decode(data[at:], final=final)

    def _note(self, text: str) -> str:
        if _STAND_IN not in text:
            return text
        if not self._damaged:
            self._damaged = True
            self._problems.add(ProblemCode.BAD_BYTES, excerpt=self.encoding)
        return text.replace(_STAND_IN, "\ufffd")


_MARK = "usp.mark"
_STAND_IN = "\udfff"  # half a pair: no decoder gives it


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that cannot be decoded by a character that no decoder returns."""
    assert isinstance(error, UnicodeDecodeError)
    return _STAND_IN, error.end


codecs.register_error(_MARK, _mark)
