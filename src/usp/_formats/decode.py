"""From bytes to text: compression off, then the character encoding.

Encodings are trusted in this order: byte order mark, HTTP header, XML declaration, UTF-8. Bytes that
are valid UTF-8 beat a label of an older encoding, because such labels are often left over from a
template while no text of that kind happens to be valid UTF-8. Without any label, bytes that are not
UTF-8 are read as windows-1252 if they look like that: single letters among ASCII.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from usp._base.urls import cached
from usp._formats.unpack import Unpacker
from usp.limits import DEFAULT, Limits
from usp.objects.problem import ProblemCode, Problems

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKED = frozenset(b"\xef\xff\xfe\0")  # how these begin
_HEAD = 256  # bytes that are looked at before the encoding is decided
_DECLARED = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*+=\s*+["']\s*+([A-Za-z0-9._:-]{1,40})""")
_IN_HTML = re.compile(
    rb"""\s*+<(?:!doctype\s++html|html|head|meta)\b
    .*?<meta\s[^<>]{0,100}?\bcharset\s*+=\s*+["']?+\s*+([A-Za-z0-9._:-]{1,40})""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_CHARSET = re.compile(r"""charset\s*+=\s*+["']?+\s*+([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_PROOF = 4  # so many characters that are valid UTF-8 are no coincidence in another encoding
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_SAMPLE = 4096  # bytes from the first that are not UTF-8, by which an encoding is guessed
_CHARACTER = re.compile(  # in UTF-8, beyond ASCII
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_CUT_CHARACTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{0,2}\Z")
_RUN = re.compile(rb"[\x80-\xff]+")
_RARE = frozenset(
    b"\x81\x82\x83\x86\x87\x88\x8b\x8d\x8f\x90\x98\x9b\x9d\xa4\xa5\xa6\xac\xaf\xb1\xb6\xb8"
)
_IN_WORD = re.compile(  # a few letters in a word that has others, as in Western Europe; or a quote
    rb"(?:(?:\A|(?<=[A-Za-z]))\x92?[\xc0-\xff]{1,3}|[\xc0-\xde]?[\xdf-\xff]{1,2}(?=[A-Za-z]))(?![\x80-\xff])"
)
_MOST_UNLIKELY = 4  # one of so many runs may be longer, or rare in windows-1252
_ZEROS = {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}
_ASCII = frozenset(b"\0\t\r\n") | frozenset(range(0x20, 0x7F))
_WIDE = ("utf-16", "utf-32")
_NO_CHARSETS = frozenset(  # what Python can decode and no document is written in
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined"}
    | {"unicode-escape", "utf-7"}
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
    ``problems``. Text is decoded as UTF-8 as long as that is possible, and in another encoding from
    then on, if there is one.
    """

    encoding: str | None = None
    """The encoding the document turned out to have, once it is known."""

    size = 0  # bytes without compression, so far
    _first = b""  # what the encoding is decided by
    _fallback: str | None = None  # the encoding of bytes that are not UTF-8,
    _guesses = False  # or whether they may be windows-1252: that is decided once
    _errors = "strict"
    _rest = b""  # that is not decoded yet
    _proof = 0  # characters that are UTF-8, beyond ASCII
    _damaged = False
    _other: codecs.IncrementalDecoder | None = None

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
        self._charset = _charset_in(content_type) if content_type else None

    @property
    def layers(self) -> int:
        """How many compressions around each other were removed."""
        return self._unpacker.layers

    @property
    def labels(self) -> Labels:
        """What the document says about its encoding."""
        _, mark = _byte_order(self._first)
        wide = mark or (b"\0" in self._first[:4] and _shape(self._first))
        first = self._first.replace(b"\0", b"") if wide else self._first
        return Labels(mark, self._charset, _declared(first))

    @property
    def is_mislabelled(self) -> bool:
        """Whether the text is UTF-8, beyond ASCII, and labelled as something else."""
        return self._other is None and self._fallback is not None and self._proof > 0

    def feed(self, data: bytes) -> str:
        """Return the text that is complete so far."""
        return "".join(self.texts(data))

    def texts(self, data: bytes | None) -> Iterator[str]:
        """Yield the same text in bounded pieces, each decoded when the one before it was read.

        None is the end of the data.
        """
        for piece in self._unpacker.close() if data is None else self._unpacker.feed(data):
            self.size += len(piece)
            if self.encoding is not None:
                yield self._decode(piece)
                continue
            self._rest += piece
            if len(self._rest) >= _HEAD:
                yield self._start()

    def close(self) -> str:
        """Return the rest of the text."""
        if self._unpacker.is_plain and self.encoding == "utf-8" and not self._rest:
            return ""
        text = "".join(self.texts(None))
        if self.encoding is None:
            text += self._start()
        return text + self._decode(b"", final=True)

    def _start(self) -> str:
        """Decide the encoding by the first bytes, and return their text."""
        head, self._rest = self._rest, b""
        first = self._first = head[:_HEAD]
        encoding, label = None, None
        # Looking for a number in bytes is several times faster than for other bytes.
        if first and (first[0] in _MARKED or 0 in first[:4]):
            bom, encoding = _byte_order(first)
            head = head[len(bom) :]
            encoding = encoding or _shape(first)
        if encoding is None:
            if first.find(b"<?xml") >= 0:  # the documents of a website begin alike
                label = _declared(first[: first.find(b">") + 1]) or _declared(first)
            elif in_html := _IN_HTML.match(first):
                label = in_html[1].decode("ascii")
            encoding, self._fallback, self._guesses = _labelled(self._charset, label)
        self.encoding = encoding
        if encoding != "utf-8":
            self._turn(encoding)
        return self._decode(head)

    def _turn(self, encoding: str) -> None:
        self.encoding = encoding
        self._other = codecs.getincrementaldecoder(encoding)(_MARK)

    def _decode(self, data: bytes, *, final: bool = False) -> str:
        if self._other is not None:
            return self._note(self._other.decode(data, final))
        data = self._rest + data
        try:
            text, used = codecs.utf_8_decode(data, self._errors, final)
        except UnicodeDecodeError as error:
            return self._disproved(data, error.start, final=final)
        self._rest = data[used:]
        if (self._fallback or self._guesses) and self._proof < _PROOF and not text.isascii():
            self._proof += len(_BEYOND_ASCII.findall(text))
        return text

    def _disproved(self, data: bytes, at: int, *, final: bool) -> str:
        """Go on after the first bytes that are not UTF-8."""
        self._rest = b""
        text = codecs.utf_8_decode(data[:at])[0]
        self._proof += len(_BEYOND_ASCII.findall(text))
        if self._fallback and self._proof < _PROOF:
            self._turn(self._fallback)
        elif self._guesses and self._proof < _PROOF:
            if len(data) - at < _SAMPLE and not final:
                self._rest = data[at:]  # wherever the bytes are cut, as many are looked at
                return text
            self._guess(data[at : at + _SAMPLE])
        else:
            self._errors = "replace"
            self.problems.add(ProblemCode.BAD_BYTES, excerpt="utf-8")
        return text + self._decode(data[at:], final=final)

    def _guess(self, sample: bytes) -> None:
        """Decide what bytes are that are not UTF-8, by those that follow."""
        self._guesses = False
        others = _CHARACTER.sub(b"", _CUT_CHARACTER.sub(b"", sample))
        runs = _RUN.findall(others)
        odd = _RUN.findall(_IN_WORD.sub(b"", others))
        unlikely = [run for run in odd if len(run) > 1 or run[0] in _RARE]
        in_utf_8 = self._proof + (len(sample) - len(others)) // 2
        if not runs or len(unlikely) * _MOST_UNLIKELY > len(runs) or in_utf_8 > len(runs):
            return
        self.encoding, self._errors = "cp1252", _AS_1252
        self.problems.add(ProblemCode.GUESSED_ENCODING)

    def _note(self, text: str) -> str:
        if _STAND_IN not in text:
            return text
        if not self._damaged:
            self._damaged = True
            self.problems.add(ProblemCode.BAD_BYTES, excerpt=self.encoding)
        return text.replace(_STAND_IN, "\ufffd")


def _byte_order(first: bytes) -> tuple[bytes, str | None]:
    """Return the byte order mark at the beginning, and its encoding."""
    return next((one for one in _BOMS if first.startswith(one[0])), (b"", None))


@cached(256)
def _charset_in(content_type: str) -> str | None:
    found = _CHARSET.search(content_type)
    return found[1] if found else None


@lru_cache(maxsize=64)
def _declared(head: bytes) -> str | None:
    found = _DECLARED.search(head)
    return found[1].decode("ascii") if found else None


class _Labelled(NamedTuple):
    """The encoding according to the labels, and the fallback if that is wrong, or whether to guess."""

    encoding: str
    fallback: str | None = None
    guesses: bool = False


@lru_cache(maxsize=256)
def _labelled(header: str | None, declared: str | None) -> _Labelled:
    labels = [known_encoding(header), known_encoding(declared)]
    # No zero byte stands where UTF-16 and UTF-32 would have one: such a label is mistaken.
    trusted = [label for label in labels if label and not label.startswith(_WIDE)]
    others = [label for label in trusted if label != "utf-8"]
    if not others:
        return _Labelled("utf-8", guesses=not trusted)
    if trusted[0].startswith(_SEVEN_BIT):
        return _Labelled(trusted[0])
    return _Labelled("utf-8", others[0])


def _shape(head: bytes) -> str | None:
    """Return which UTF-16 or UTF-32 it is, by the zeros around the first characters."""
    if not _ASCII.issuperset(head[:4]):
        return None
    zeros = "".join("0" if byte == 0 else "x" for byte in head[:4])
    return _ZEROS.get(zeros)


def known_encoding(label: str | None) -> str | None:
    """Return Python's name of a text encoding; None if Python does not know it."""
    if label is None:
        return None
    try:
        info = codecs.lookup(_LABELS.get(label.lower(), label))
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name in _NO_CHARSETS:
        return None
    return _ALIASES.get(info.name, info.name)


_MARK = "usp.mark"
_STAND_IN = "\udfff"  # half a pair: no decoder gives it


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that cannot be decoded by a character that no decoder returns."""
    assert isinstance(error, UnicodeDecodeError)
    return _STAND_IN, error.end


codecs.register_error(_MARK, _mark)

_AS_1252 = "usp.as-1252"


def _as_1252(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that are not UTF-8 by what they are in windows-1252: texts of both may be mixed."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_AS_1252, _as_1252)
