"""The scanner: a tolerant tokenizer over decoded text.

It cuts text into start tags, end tags, text and CDATA and calls a handler for each, as a strict
parser would; where a strict parser gives up, it notes a problem and goes on at the next tag. It
expands no entities and opens nothing. For well-formed documents it gives exactly what expat gives.

Three rules make it tolerant, and every one of them is impossible in well-formed XML:

- a ``<`` that no tag begins with, or whose tag does not end before the next ``<``, is text;
- a quote that does not end before the next ``<`` is no quote: the tag ends at its first ``>``;
- a comment or CDATA section that never ends has not begun: what stands behind its opening is read as
  if the opening were not there; a processing instruction that never ends, ends at its first ``>``.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from usp.objects.problem import Problems

MAX_TAG = 1024 * 1024
"""A longer tag is no tag, but text that begins with ``<``."""

MAX_HELD = 4 * 1024 * 1024
"""How much of an unfinished section is kept, to be read again if it never ends."""

# More than XML allows beyond ASCII: what is no name there is damage anyway.
_NAME = r"[A-Za-z_:\x80-\U0010ffff][A-Za-z0-9_.:\x80-\U0010ffff-]*+"
_TAG = re.compile(rf"""<(/?)({_NAME})([^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*+)>""")
_TOKEN = re.compile(_TAG.pattern + r"([^<]*+)(?:(</\2>)([^<]*+))?+")
_SIMPLE_TOKEN = re.compile(rf"<(/?)({_NAME})([^<>]*+)>([^<]*+)(?:(</\2>)([^<]*+))?+")
_CLOSING = itemgetter(4)
_UNUSUAL = re.compile(r"<[!?]")
_LOOSE_TAG = re.compile(rf"<(/?)({_NAME})([^<>]*+)>")
_MAYBE_TAG = re.compile(rf"</?{_NAME}")
_DECLARATION = re.compile(r"<!(DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)


class _Section(NamedTuple):
    opening: str
    end: str
    name: str


_COMMENT = _Section("<!--", "-->", "comment")
_CDATA = _Section("<![CDATA[", "]]>", "CDATA section")
_INSTRUCTION = _Section("<?", "?>", "processing instruction")
_SECTIONS = (_COMMENT, _CDATA, _INSTRUCTION)
_LONGEST_OPENING = 10  # of <!DOCTYPE, which is longer than the openings of sections


Token: TypeAlias = tuple[str, str, str, str, str, str]
"""A tag and what follows: slash, name, attributes, text; the element's end, if that is next; text."""


def proper_tags(text: str, at: int, end: int) -> list[Token] | None:
    """Cut a stretch without comments, sections and instructions; None if a tag in it is not proper.

    If there are as many ``<`` as tags, then every ``<`` begins one. If there are as many ``>``, then
    none stands in a quote, and a simpler pattern does.
    """
    opening = text.count("<", at, end)
    simple = opening == text.count(">", at, end)
    tokens: list[Token] = (_SIMPLE_TOKEN if simple else _TOKEN).findall(text, at, end)
    if not tokens or len(tokens) + sum(map(bool, map(_CLOSING, tokens))) != opening:
        return None
    return tokens


class Handler(Protocol):
    """What the scanner tells about a document, in its order."""

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Begin an element; ``attributes`` is what stands in the tag behind the name."""
        ...

    def end(self, name: str) -> None:
        """End an element, or what claims to be one."""
        ...

    def text(self, raw: str) -> None:
        """Add text, references not decoded; long runs come in pieces."""
        ...

    def cdata(self, text: str) -> None:
        """Add the text of a CDATA section."""
        ...

    def take(self, tokens: list[Token]) -> None:
        """Take many proper tags at once."""
        ...

    def declaration(self, kind: str, subset: bool) -> None:
        """Tell of a DOCTYPE or of another declaration of a DTD, in capitals.

        ``subset`` if it may have declarations of its own inside.
        """
        ...


class Scanner:
    """Cuts text into tokens: ``feed`` pieces of text, then ``close``."""

    def __init__(self, handler: Handler, problems: Problems) -> None:
        self.handler = handler
        self.problems = problems
        self._buffer = ""
        self._at = 0  # how far the buffer is read
        self._before = 0  # how many characters stood before it
        self._waiting: list[str] = []  # text that is looked at when there is enough of it
        self._missing = 0  # how much that is
        self._line = 1  # the number of the line up to which line ends are counted,
        self._counted = 0  # and where that is in the buffer
        self._section: _Section | None = None  # a section that is longer than what is kept
        self.hurry = False  # whether lines matter less than speed
        self._calm = 0  # up to where tags are read one by one, because one of them is not proper
        self._unusual = -1  # where the next comment, section or instruction is, if not before
        self._absent: set[str] = set()  # what was searched for and is not in the rest of the buffer
        self._searched = 0  # how far the end of an unfinished section was searched for

    @property
    def line(self) -> int:
        """The line where the scanner stands, counted from 1."""
        self._line += self._buffer.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    @property
    def offset(self) -> int:
        """How many characters are read."""
        return self._before + self._at

    def feed(self, text: str) -> None:
        """Read on; an unfinished token waits for the rest."""
        self._waiting.append(text)
        self._missing -= len(text)
        if self._missing > 0:
            return
        self._advance()
        self._scan(final=False)
        # A token that grows piece by piece is looked at again when it has doubled: linear time.
        self._missing = len(self._buffer) - self._at

    def close(self) -> None:
        """Read what is left, unfinished tokens included."""
        self._advance()
        self._scan(final=True)

    def rest(self) -> str:
        """Give what is not read yet, and forget it."""
        self._advance()
        rest, self._buffer = self._buffer, ""
        self._missing = 0
        return rest

    @property
    def idle(self) -> bool:
        """Whether everything that was fed is read."""
        return self._at == len(self._buffer) and not self._waiting and self._section is None

    def skip(self, text: str) -> None:
        """Count the lines of text that somebody else has read."""
        self._line = self.line + text.count("\n")

    def _advance(self) -> None:
        self._line = self.line
        self._before += self._at
        self._buffer = self._buffer[self._at :] + "".join(self._waiting)
        self._at = self._counted = 0
        self._unusual = -1
        self._calm = 0
        self._absent.clear()
        self._waiting.clear()

    def _hurry(self) -> None:
        """Read a stretch of proper tags at once, without counting lines.

        It ends before the next comment, CDATA section or instruction, and before a tag that is not
        complete.
        """
        buffer, handler, at = self._buffer, self.handler, self._at
        if self._unusual < at:
            found = _UNUSUAL.search(buffer, at)
            self._unusual = found.start() if found else len(buffer)
        end = self._unusual
        last = buffer.rfind("<", at, end)
        if last > buffer.rfind(">", at, end):
            end = last
        if not 0 < end - at <= MAX_TAG:
            return
        tokens = proper_tags(buffer, at, end)
        if tokens is None:
            self._calm = end
            return
        opening = buffer.find("<", at)
        if opening > at:
            handler.text(buffer[at:opening])
        handler.take(tokens)
        self._at = end

    def _scan(self, *, final: bool) -> None:  # noqa: C901 - the loop that speed depends on
        buffer, handler = self._buffer, self.handler
        find, tag = buffer.find, _TAG.match
        length = len(buffer)
        if self._section and not self._finish_long_section(final=final):
            return
        while self._at < length:
            if self.hurry and self._at >= self._calm:
                self._hurry()
                if self._at == length:
                    return
            at = self._at
            opening = find("<", at)
            if opening < 0:
                handler.text(buffer[at:])
                self._at = length
                return
            if opening > at:
                handler.text(buffer[at:opening])
                self._at = at = opening
            match = tag(buffer, at)
            if match is not None and match.end() - at <= MAX_TAG:
                slash, name, attributes = match.groups()
                # The handler may ask for the line: it is the one where the tag begins.
                if slash:
                    handler.end(name)
                elif attributes[-1:] == "/":
                    handler.start(name, attributes[:-1], True)
                else:
                    handler.start(name, attributes, False)
                self._at = match.end()
                if self.handler is not handler:
                    return  # the root is found: its parser takes the rest
            elif not self._other(at, final=final) or self.handler is not handler:
                return

    def _other(self, at: int, *, final: bool) -> bool:
        """Read what is not an ordinary tag; False if more text is needed to tell."""
        buffer = self._buffer
        for section in _SECTIONS:
            if buffer.startswith(section.opening, at):
                return self._read_section(section, at, final=final)
        if not final and len(buffer) - at < _LONGEST_OPENING:
            return False
        declaration = _DECLARATION.match(buffer, at)
        if declaration:
            return self._read_declaration(declaration[1].upper(), at, final=final)
        return self._read_damage(at, final=final)

    # Sections: comment, CDATA, processing instruction ---------------------------------------------

    def _read_section(self, section: _Section, at: int, *, final: bool) -> bool:
        buffer = self._buffer
        inside = at + len(section.opening)
        end = self._find(section.end, max(inside, at + self._searched))
        if end >= 0:
            self._searched = 0
            if section is _CDATA:
                self.handler.cdata(buffer[inside:end])
            self._at = end + len(section.end)
            return True
        if section is _INSTRUCTION and (final or len(buffer) - at > MAX_TAG):
            return self._broken_instruction(at)
        if final:
            self.problems.add(f"a {section.name} is not closed", self.line)
            self._searched = 0
            self._at = inside
            return True
        self._searched = max(0, len(buffer) - at - len(section.end) + 1)
        if len(buffer) - at > MAX_HELD:
            self._section, self._searched = section, 0
            if section is _CDATA:
                self._at = inside
            return self._finish_long_section(final=False)
        return False

    def _finish_long_section(self, *, final: bool) -> bool:
        """Pass over, or on, a section that is too long to be kept."""
        section, buffer = self._section, self._buffer
        assert section is not None
        end = buffer.find(section.end, self._at)
        keep = 0 if final else len(section.end) - 1
        stop = end if end >= 0 else max(self._at, len(buffer) - keep)
        if section is _CDATA:
            self.handler.cdata(buffer[self._at : stop])
        if end < 0:
            if final:
                self.problems.add(f"a {section.name} is not closed", self.line)
            self._at = stop
            return False
        self._section = None
        self._at = end + len(section.end)
        return True

    def _find(self, text: str, at: int) -> int:
        """Find text behind a place; what is not there is not searched for again."""
        if text in self._absent:
            return -1
        found = self._buffer.find(text, at)
        if found < 0:
            self._absent.add(text)
        return found

    def _broken_instruction(self, at: int) -> bool:
        """End an instruction that has lost its ``?>`` at its first ``>``."""
        self._searched = 0
        self.problems.add("a processing instruction is not closed", self.line)
        end = self._find(">", at)
        self._at = end + 1 if end >= 0 else at + len(_INSTRUCTION.opening)
        return True

    def _read_declaration(self, kind: str, at: int, *, final: bool) -> bool:
        """Tell of a declaration and step behind it; what stands inside is never read."""
        depth, position = 0, at
        for position in range(at + 2, min(len(self._buffer), at + MAX_TAG)):
            character = self._buffer[position]
            depth += (character in "[<") - (character in "]>")
            if depth < 0:
                break
        else:
            if not final and len(self._buffer) - at < MAX_TAG:
                return False
        self.handler.declaration(kind, "[" in self._buffer[at:position])
        self._at = position + 1
        return True

    # Damage ---------------------------------------------------------------------------------------

    def _read_damage(self, at: int, *, final: bool) -> bool:
        """Read a ``<`` that begins no proper tag."""
        buffer = self._buffer
        following = buffer.find("<", at + 1)
        if following < 0:
            following = len(buffer)
            if not final and following - at <= MAX_TAG and _MAYBE_TAG.match(buffer, at):
                return False
        loose = _LOOSE_TAG.match(buffer, at)
        if loose and loose.end() <= following and loose.end() - at <= MAX_TAG:
            self.problems.add("a quote in a tag is not closed", self.line, loose[0])
            slash, name, attributes = loose.groups()
            if slash:
                self.handler.end(name)
            else:
                empty = attributes.endswith("/")
                self.handler.start(name, attributes.removesuffix("/"), empty)
            self._at = loose.end()
            return True
        self.problems.add("a '<' begins no tag", self.line)
        self.handler.text("&lt;")
        self._at = at + 1
        return True
