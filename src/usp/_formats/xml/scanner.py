"""The scanner: a tolerant tokenizer over decoded text.

It splits text into start tags, end tags, text and CDATA and calls a handler for each, as a strict
parser would; where a strict parser stops, it notes a problem and continues at the next tag. It expands
no entities and opens nothing. For well-formed documents its results are exactly those of expat.

Its rules are in ``docs/reading.md``. Work grows linearly with the length of the document, whatever the
damage: no character is searched twice for the same thing, and stretches that are tried at once are
bounded. A document that is nothing but damage is abandoned: see :data:`MAX_DAMAGE`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from usp._base.reason import Reason
from usp._formats.xml.references import MAX_REFERENCE
from usp.objects.problem import MAX_PROBLEMS, FailureCode, Problem, ProblemCode, Problems

MAX_TAG = 1024 * 1024
"""A longer tag is read as text that begins with ``<``."""

MAX_HELD = 4 * 1024 * 1024
"""How much of an unfinished section is kept, to be read again if it never ends."""

MAX_DAMAGE = 400_000
"""After this many repairs in a row without an entry that could be read, a document is abandoned.

More than the characters of a block: all ways to read entries give up at the same place.
"""

# More than XML allows beyond ASCII: anything else there is damage anyway.
NAME = r"[A-Za-z_:\x80-\U0010ffff][A-Za-z0-9_.:\x80-\U0010ffff-]*+"
TAG = re.compile(rf"""<(/?)({NAME})([^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*+)>""")
_RESERVED = re.compile(r"<\?xml", re.IGNORECASE)  # declaration, stylesheet: no "<" may stand inside
_RESERVED_LENGTH = 5
_ROOT_TAG = re.compile(r"<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|RDF)[\s>]", re.IGNORECASE)
_LOOSE_TAG = re.compile(rf"<(/?)({NAME})([^<>]*+)>")
_MAYBE_TAG = re.compile(rf"</?{NAME}")
_HOLE = re.compile("\0++")
_BRACKET = re.compile(r"[\[\]<>]")
_DECLARATION = re.compile(r"<!(DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)


class _MarkupSection(NamedTuple):
    opening: str
    end: str
    unclosed: ProblemCode


_COMMENT = _MarkupSection("<!--", "-->", ProblemCode.UNCLOSED_COMMENT)
_CDATA = _MarkupSection("<![CDATA[", "]]>", ProblemCode.UNCLOSED_CDATA)
_INSTRUCTION = _MarkupSection("<?", "?>", ProblemCode.UNCLOSED_INSTRUCTION)
_SECTIONS = (_COMMENT, _CDATA, _INSTRUCTION)
_OTHER_END = re.compile(r"\s{0,20}+\]\]>")
_LONGEST_OTHER_END = 23
_AFTER_NAME = tuple(" \t\r\n>")
_MAX_ALIKE = 8  # names that begin as another one does
_MAX_SEARCHED = 16  # different things that are searched for in one buffer
_LONGEST_OPENING = 10  # of <!DOCTYPE, which is longer than the openings of sections


def _without_end(text: str) -> str:
    """Return the text of a CDATA section without what may be left of its end."""
    end = text.rstrip()
    closing = end.removesuffix(">").rstrip()
    if closing.endswith("]]"):
        return closing[:-2]
    return end[:-2] if end.endswith("]>") else text


class TokenHandler:
    """Receives the tokens of a document from the scanner, in order; this one ignores them all."""

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Begin an element; ``attributes`` is the text in the tag after the name."""

    def end(self, name: str) -> None:
        """End an element, or what claims to be one."""

    def text(self, raw: str) -> None:
        """Add text, references not decoded; long runs come in pieces."""

    def cdata(self, text: str) -> None:
        """Add the text of a CDATA section."""

    def innermost(self) -> tuple[str, bool]:
        """Return the name of the innermost open element, and whether it never has markup inside."""
        return "", False

    def declaration(self, kind: str, written: str) -> None:
        """Take a DOCTYPE or another declaration of a DTD, in capitals, and how it is written."""


DEAF = TokenHandler()
"""The handler of a document that was abandoned, or is read to its end."""


class Scanner:
    """Cuts text into tokens: ``feed`` pieces of text, then ``close``; ``skipped`` was before it."""

    report_holes = True  # whether to note where there are NUL bytes
    before_root = False  # whether the root of the document is still looked for
    damage = 0  # repairs since the last entry
    given_up = False  # whether there was too much damage to go on
    _buffer = ""
    _at = 0  # how far the buffer is read
    _before = 0  # how many characters stood before it
    _missing = 0  # how much waiting text is enough to be looked at
    _counted = 0  # where in the buffer the line is up to which they are counted
    _section: _MarkupSection | None = None  # a section that is longer than what is kept
    _declared = False  # whether an XML declaration was just read
    _searched = 0  # how far the end of an unfinished section was searched for
    _hole = False  # whether the last text ended with NUL bytes
    _more_holes = 0  # how many are not kept

    def __init__(self, handler: TokenHandler, problems: Problems, skipped: str = "") -> None:
        self.handler = handler
        self.problems = problems
        self._waiting: list[str] = []  # text that is looked at when there is enough of it
        self._line = 1 + skipped.count("\n")  # the number of the line up to which they are counted
        # Where the line begins; what was skipped is not counted.
        self._line_start = skipped.rfind("\n") + 1 - len(skipped)
        self._next: dict[str | re.Pattern[str], int] = {}  # where things are that were searched for
        self._holes: list[int] = []  # the lines where there are NUL bytes

    @property
    def line(self) -> int:
        """The current line of the scanner, counted from 1."""
        if ends := self._buffer.count("\n", self._counted, self._at):
            self._line += ends
            self._line_start = self._before + self._buffer.rfind("\n", 0, self._at) + 1
        self._counted = self._at
        return self._line

    @property
    def place(self) -> tuple[int, int]:
        """The current line and column."""
        return self.line, self.offset - self._line_start + 1

    def place_after(self, before: str) -> tuple[int, int]:
        """Return the line and column after some text that begins at the current ones."""
        line, column = self.place
        ends = before.count("\n")
        return line + ends, len(before) + (-before.rfind("\n") if ends else column)

    @property
    def offset(self) -> int:
        """How many characters are read."""
        return self._before + self._at

    def feed(self, text: str) -> None:
        """Read on; an unfinished token waits for the rest."""
        if self.given_up:
            return
        if "\0" in text and self.report_holes and not self.before_root:
            self._note_holes(text)
        self._hole = text[-1:] == "\0"
        self._waiting.append(text)
        self._missing -= len(text)
        if self._missing > 0:
            return
        self._advance()
        self._scan(final=False)
        # A token that grows piece by piece is looked at again when it has doubled: linear time.
        self._missing = len(self._buffer) - self._at

    def _note_holes(self, text: str) -> None:
        """Note where there are NUL bytes instead of text: a part of the file was never written."""
        line = self.line + self._buffer.count("\n", self._at)
        line += sum(waiting.count("\n") for waiting in self._waiting)
        at = 0
        for hole in _HOLE.finditer(text):
            line += text.count("\n", at, hole.start())
            at = hole.end()
            # A hole may have begun in the text before.
            if hole.start() or not self._hole:
                if len(self._holes) < MAX_PROBLEMS:
                    self._holes.append(line)
                else:
                    self._more_holes += 1

    def close(self) -> None:
        """Read the rest, including unfinished tokens."""
        if not (self.given_up or self.idle):
            self._advance()
            self._scan(final=True)
        for line in self._holes:  # added last, so that their order does not depend on the pieces
            self.problems.add(ProblemCode.NUL_BYTES, line)
        self._holes.clear()
        if self._more_holes:
            code = ProblemCode.NUL_BYTES
            self.problems.add_all([Problem(code.message, times=self._more_holes, code=code)])
            self._more_holes = 0

    def rest(self) -> str:
        """Return what is not read yet, and forget it."""
        self._advance()
        rest, self._buffer = self._buffer, ""
        self._hole = False
        self._missing = 0
        return rest

    @property
    def idle(self) -> bool:
        """Whether everything that was fed is read."""
        is_read = self._at == len(self._buffer) and not self._waiting
        return is_read and self._section is None and not self.given_up

    def skip(self, text: str) -> None:
        """Skip text that was read elsewhere."""
        ends = text.count("\n")
        self._line = self.line + ends
        if ends:
            self._line_start = self.offset + text.rfind("\n") + 1
        self._line_start -= len(text)
        self._hole = False

    def take_declaration(self) -> bool:
        """Return whether there was an XML declaration since this was asked last."""
        declared, self._declared = self._declared, False
        return declared

    def repair(self, code: ProblemCode, excerpt: str | None = None) -> None:
        """Note damage that was repaired; give up where there is nothing else."""
        line, column = self.place
        self.problems.add(code, line, excerpt, column=column)
        self.count_damage()

    def count_damage(self) -> None:
        """Count damage that was noted; give up where there is nothing else."""
        self.damage += 1
        if self.damage > MAX_DAMAGE and not self.given_up:
            self.given_up = True
            self.handler = DEAF
            text = f"the rest was abandoned: {MAX_DAMAGE:,} repairs in a row without an entry"
            self.problems.end(Reason(FailureCode.TOO_DAMAGED, text), self.line)

    def _advance(self) -> None:
        self._line = self.line
        self._before += self._at
        self._buffer = self._buffer[self._at :] + "".join(self._waiting)
        self._at = self._counted = 0
        self._next.clear()
        self._waiting.clear()

    def _scan(self, *, final: bool) -> None:  # noqa: C901 - the loop that speed depends on
        buffer, handler = self._buffer, self.handler
        find, tag = buffer.find, TAG.match
        length = len(buffer)
        if self._section and not self._finish_long_section(final=final):
            return
        while self._at < length:
            at = self._at
            opening = find("<", at)
            if opening < 0:
                end = length if final else self._end_of_text(at)
                if end > at:
                    handler.text(buffer[at:end])
                    self._at = end
                return
            if opening > at:
                handler.text(buffer[at:opening])
                self._at = at = opening
            match = tag(buffer, at)
            if match is not None and match.end() - at <= MAX_TAG:
                slash, name, attributes = match.groups()
                # The handler may ask for the line: it is the one where the tag begins.
                if slash:
                    if attributes and not attributes.isspace():
                        line, column = self.place
                        self.problems.add(ProblemCode.BAD_END_TAG, line, match[0], column=column)
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

    def _end_of_text(self, at: int) -> int:
        """Return how far text can be read: a reference that is not complete waits for the rest."""
        buffer = self._buffer
        begin = buffer.rfind("&", max(at, len(buffer) - MAX_REFERENCE))
        return len(buffer) if begin < 0 or ";" in buffer[begin:] else begin

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

    def _read_section(self, section: _MarkupSection, at: int, *, final: bool) -> bool:
        if section is _INSTRUCTION:
            return self._read_instruction(at, final=final)
        buffer = self._buffer
        inside = at + len(section.opening)
        end = self._find(section.end, max(inside, at + self._searched))
        if section is _CDATA and self._cut_section(at, end, final=final):
            return True
        if end >= 0:
            is_read = section is not _CDATA or self._read_cdata(inside, end, final=final)
            if is_read:
                self._searched = 0
                self._at = max(self._at, end + len(section.end))
            return is_read
        if len(buffer) - at > MAX_HELD:
            self._section, self._searched = section, 0
            if section is _CDATA:
                self._at = inside
            return self._finish_long_section(final=final)
        if final:
            self._searched = 0
            self.repair(section.unclosed)
            self._at = inside
            return True
        self._searched = max(0, len(buffer) - at - len(section.end) + 1)
        return False

    def _cut_section(self, at: int, end: int, *, final: bool) -> bool:
        """End a CDATA section where its element ends, if it has lost its own end."""
        name, is_value = self.handler.innermost()
        inside = at + len(_CDATA.opening)
        stop = min(end if end >= 0 else len(self._buffer), at + MAX_HELD)
        tag = self._find_own_end(name, inside, stop) if name else -1
        if tag < 0:
            return False
        is_lost = is_value or (final and end < 0) or stop - at == MAX_HELD
        if not is_lost and self._buffer.find(_CDATA.opening, tag, stop) < 0:
            return False
        self._searched = 0
        self.repair(_CDATA.unclosed)
        self.handler.cdata(_without_end(self._buffer[inside:tag]))
        self._at = tag
        return True

    def _find_own_end(self, name: str, inside: int, stop: int) -> int:
        """Find the end tag of an element in a section; -1 if there is none, or a start tag before."""
        buffer, tag = self._buffer, f"</{name}"
        if stop < len(buffer):
            at = buffer.find(tag, inside, stop)
        else:  # sections that do not end may all be searched to the end
            at = self._find(tag, inside) if len(self._next) < _MAX_SEARCHED else -1
        for _ in range(_MAX_ALIKE):
            if at < 0 or buffer[at + len(tag) : at + len(tag) + 1] in _AFTER_NAME:
                break
            at = buffer.find(tag, at + 1, stop)
        is_whole = 0 <= at < stop - len(tag)
        return at if is_whole and buffer.find(f"<{name}", inside, at) < 0 else -1

    def _read_cdata(self, inside: int, end: int, *, final: bool) -> bool:
        """Read a CDATA section that ends; False if more text is needed to tell what follows it."""
        text = self._buffer[inside:end]
        name, is_value = self.handler.innermost()
        if not (text.lstrip().startswith(_CDATA.opening) and name):
            self.handler.cdata(text)
            return True
        after = end + len(_CDATA.end)
        if not final and len(self._buffer) - after < _LONGEST_OTHER_END:
            return False
        other = _OTHER_END.match(self._buffer, after)
        if other or is_value:
            self.repair(_CDATA.unclosed)
            text = _without_end(text.replace(_CDATA.opening, ""))
        self.handler.cdata(text)
        self._at = other.end() if other else after
        return True

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
                self.problems.add(section.unclosed, self.line)
            self._at = stop
            return False
        self._section = None
        self._at = end + len(section.end)
        return True

    def _find(self, what: str | re.Pattern[str], at: int) -> int:
        """Find something after a place; no character is searched twice for it."""
        known = self._next.get(what, -1)
        if known < at:
            if isinstance(what, str):
                known = self._buffer.find(what, at)
            else:
                match = what.search(self._buffer, at)
                known = match.start() if match else -1
            self._next[what] = known = len(self._buffer) if known < 0 else known
        return known if known < len(self._buffer) else -1

    def _read_instruction(self, at: int, *, final: bool) -> bool:
        """Step over an instruction; one that has lost its ``?>`` ends as soon as it can."""
        buffer = self._buffer
        inside = at + len(_INSTRUCTION.opening)
        long = len(buffer) - at >= MAX_TAG + len(_INSTRUCTION.end)
        if not final and len(buffer) - at <= _RESERVED_LENGTH:
            return False
        reserved = _RESERVED.match(buffer, at)
        if reserved and buffer[at + _RESERVED_LENGTH : at + _RESERVED_LENGTH + 1].isspace():
            self._declared = True
        following = buffer.find("<", inside) if reserved else -1
        end = self._find(_INSTRUCTION.end, inside if reserved else max(inside, at + self._searched))
        broken = end - at > MAX_TAG or 0 <= following < end
        if end >= 0 and not broken and not reserved and self.before_root:
            broken = 0 <= self._find(_ROOT_TAG, inside) < end
        if end >= 0 and not broken:
            self._searched = 0
            self._at = end + len(_INSTRUCTION.end)
            return True
        if not (broken or final or long or following >= 0):
            self._searched = max(0, len(buffer) - at - len(_INSTRUCTION.end) + 1)
            return False
        self._searched = 0
        self.repair(ProblemCode.UNCLOSED_INSTRUCTION)
        following = buffer.find("<", inside, at + MAX_TAG)
        closing = buffer.find(">", inside, following if following >= 0 else at + MAX_TAG)
        self._at = closing + 1 if closing >= 0 else following if following >= 0 else inside
        return True

    def _read_declaration(self, kind: str, at: int, *, final: bool) -> bool:
        """Report a declaration and skip it; its content is never read."""
        buffer = self._buffer
        depth, position = 0, -1
        for found in _BRACKET.finditer(buffer, at + 2, at + MAX_TAG):
            depth += 1 if found[0] in "[<" else -1
            if depth < 0 or (found[0] == "<" and depth == 1):
                # A "<" outside of brackets: the declaration has lost its end.
                position = found.start() + (depth < 0)
                break
        if position < 0:
            position = min(len(buffer), at + MAX_TAG)
            if not final and position == len(buffer):
                return False
        self.handler.declaration(kind, buffer[at:position])
        self._at = position
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
            self.repair(ProblemCode.UNCLOSED_QUOTE, loose[0])
            slash, name, attributes = loose.groups()
            if slash:
                self.handler.end(name)
            else:
                self.handler.start(name, attributes.removesuffix("/"), attributes.endswith("/"))
            self._at = loose.end()
            return True
        self.repair(ProblemCode.STRAY_LESS_THAN)
        self.handler.text("&lt;")
        self._at = at + 1
        return True
