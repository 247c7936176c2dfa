"""What all XML parsers share: the tags of the scanner become entries with fields.

The scanner gives tags one by one, or many at once. Entries are ``<url>``, ``<sitemap>``, ``<item>`` and
``<entry>``; where tags do not match, :mod:`usp._formats.xml.nesting` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from usp._base.reason import Reason
from usp._formats.abstract_parser import MAX_PIECE, TRUNCATED, pieces
from usp._formats.xml.entries import Field, Meaning, RawEntry, Sort
from usp._formats.xml.nesting import MAX_DEPTH, MAX_FIELD, Nesting, kept
from usp._formats.xml.references import decode_cdata, decode_text
from usp._formats.xml.scanner import Scanner
from usp._formats.xml.tokens import proper_tags
from usp.objects.problem import FailureCode, ProblemCode, Problems

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry
    from usp._formats.xml.tokens import Token

_CUT_ENTRY = Reason(FailureCode.TRUNCATED, "the document breaks off inside an entry")
_BLANKS = " \t\r\n\v\f\0\ufeff\u00a0"  # what stands between entries and says nothing


class AbstractXMLSitemapParser(Nesting):
    """Turns the tokens of the scanner into entries."""

    def __init__(
        self,
        url: str | None = None,
        problems: Problems | None = None,
        scanner: Scanner | None = None,
        *,
        fast: bool = False,
        fold: bool = False,
    ) -> None:
        super().__init__(url, problems, fast=fast, fold=fold)
        self.scanner = scanner or Scanner(self, self.problems)
        self.scanner.hurry = fast
        self._stray_text = False

    def feed(self, text: str) -> list[Entry]:
        """Return the entries that are complete so far."""
        if len(text) <= MAX_PIECE:
            return self._feed(text)
        return [entry for piece in pieces(text) for entry in self._feed(piece)]

    def _feed(self, text: str) -> list[Entry]:
        """Read a piece of the document that is not too long."""
        return self._scan(text)

    def _scan(self, text: str) -> list[Entry]:
        self.scanner.feed(text)
        done, self._done = self._done, []
        return done

    def read(self, text: str) -> list[Entry]:
        """Return the entries of a stretch of text that begins and ends directly below the root."""
        if "<!" in text or "<?" in text:
            return self._scan(text)
        tokens = proper_tags(text, 0, len(text))
        if tokens is None:
            return self._scan(text)
        self.take(tokens)
        done, self._done = self._done, []
        return done

    def close(self) -> list[Entry]:
        """Return the rest; an entry that was not closed before the document broke off is lost."""
        self.scanner.close()
        if self.scanner.given_up:
            self._entry = None
        elif self._implied and self.root_implied and self._field is None:
            self._finish_entry()
        elif self._entry is not None:
            self._break_off(self._entry)
        elif not self.root_closed and not (self.root_implied and len(self._stack) == 1):
            self.problems.end(TRUNCATED, self.line)
        if self._unknown is not None and self.implied_entry and not self._has_entries:
            line, name = self._unknown
            self.problems.add(
                ProblemCode.UNKNOWN_ELEMENTS,
                line,
                name,
                self._unknown_count,
            )
        return self._done

    def _break_off(self, entry: RawEntry) -> None:
        """Give up the entry in which the document breaks off, unless it counts as it is."""
        self._field = None  # what is cut off is not what was meant
        before = len(self._done)
        if self._implied or entry.counts_unfinished:
            missing = Problems()
            self.problems, noted = missing, self.problems
            self._finish_entry()
            self.problems = noted
        lost = len(self._done) == before
        self.problems.end(_CUT_ENTRY, entry.line, lost=int(lost))

    # Tokens ---------------------------------------------------------------------------------------

    def start(self, name: str, attributes: str, empty: bool) -> None:  # noqa: C901 - called for every tag
        """Begin an element."""
        self._stray_text = False
        if len(self._stack) >= MAX_DEPTH and self._is_too_deep(name, empty):
            return
        if self._root is None:
            self._start_root(name, attributes, empty)
            return
        if self.root_closed:
            self._reopen(name, attributes)
        outside = self._scope
        declares = "xml" in attributes
        if declares:
            self._scope = self._scope_inside(attributes)
        meaning = self._scope.meanings(type(self._entry)).get(name) or self._known(name)
        sort = meaning.sort
        if sort is Sort.OTHER:
            if not self._has_entries:
                self._count_unknown(name)
        elif sort is Sort.ENTRY and self._field is not None and self._is_inside_loc():
            self._wrap(name, meaning)
            sort = Sort.OTHER
        elif (
            self._field is not None
            or self._implied
            or (sort is Sort.ENTRY and (self._entry or len(self._stack) > MAX_DEPTH // 2))
        ):
            # What is closed for it is closed outside of it: its declarations count from there.
            self._scope = outside
            self._make_room(meaning)
            outside = self._scope
            self._scope = self._scope_inside(attributes) if declares else outside
        depth = len(self._stack)
        if declares:
            self._declare_base(attributes, depth)
        if sort is not Sort.OTHER:
            self._begin(meaning, attributes)
        if empty and depth and not self._begins_at(depth):
            self._scope = outside
            return
        self._stack.append(kept(name))
        self._scopes.append(outside)
        if empty:
            self._pop()

    def end(self, name: str) -> None:
        """End an element, and all unclosed ones inside."""
        self._stray_text = False
        stack, short = self._stack, kept(name)
        if self._too_deep and self._too_deep.get(short, 0) > 0:
            self._too_deep[short] -= 1
        elif stack and stack[-1] == short:
            self._pop()
        else:
            self._end_another(name)

    def take(self, tokens: list[Token]) -> None:  # noqa: C901, PLR0912 - the loop that speed depends on
        """Take many tags at once, with the same result as one by one; simple elements in one step."""
        known: dict[str, Meaning] | None = None
        stack = self._stack
        for slash, name, attributes, inside, closing, after in tokens:
            empty = attributes[-1:] == "/"
            if (empty or closing) and not slash:
                entry = self._entry
                if (
                    entry is not None
                    and self._field is None
                    and "xml" not in attributes
                    and len(stack) < MAX_DEPTH
                ):
                    if known is None:
                        known = self._scope.meanings(type(entry))
                    meaning = known.get(name) or self._known(name)
                    sort = meaning.sort
                    if sort is Sort.OTHER or self._add_leaf(entry, meaning, attributes, inside):
                        if empty and inside:
                            self._take_text(inside)
                        if empty and closing:
                            self.end(name)
                        if after and (entry.texts or not after.isspace()):
                            self.text(after)
                        continue
                self.start(name, attributes.removesuffix("/"), empty)
            elif slash:
                self.end(name)
            else:
                self.start(name, attributes, False)
            known = None
            if self.scanner.given_up:
                return
            if inside:
                self._take_text(inside)
            if closing:
                self.end(name)
            if after:
                self._take_text(after)

    def _take_text(self, raw: str) -> None:
        """Take text; most of it is whitespace between elements."""
        if self._field is not None or not raw.isspace() or (self._entry and self._entry.texts):
            self.text(raw)

    def _add_leaf(self, entry: RawEntry, meaning: Meaning, attributes: str, text: str) -> bool:
        """Add an element without others inside to its entry; False if that needs more care."""
        sort = meaning.sort
        is_own = sort is Sort.FIELD and not self._implied
        if is_own:
            is_own = len(self._stack) == self._entry_depth + 1
        if not is_own and sort is not Sort.RECORD_FIELD and sort is not Sort.RECORD:
            return False
        if attributes[-1:] != "/" and len(text) >= MAX_FIELD:
            return False
        if self._is_full(entry):
            return True
        if attributes[-1:] == "/":
            attributes, text = attributes[:-1], ""
        elif "&" in text or not text.isprintable():
            text = decode_text(text, self.note)
        if is_own:
            entry.add(Field(meaning.local, text, attributes), self)
        elif sort is Sort.RECORD_FIELD:
            entry.add_to_record(meaning.space, Field(meaning.local, text, attributes))
        else:
            entry.begin_record(meaning.space, Field(meaning.local, "", attributes))
        return True

    def text(self, raw: str) -> None:
        """Take text, references not decoded."""
        if self._field is not None:
            if self._room > 0:
                self._raw.append(raw[: self._room])
            self._spend(len(raw))
        elif self._entry is not None:
            if self._entry.texts or not raw.isspace():
                self._add_entry_text(self._entry, raw)
        elif len(self._stack) <= 1 and not self._stray_text:
            words = raw.lstrip(_BLANKS)
            if words:
                line = self.line + raw.count("\n", 0, len(raw) - len(words))
                self.problems.add(ProblemCode.TEXT_BETWEEN_ENTRIES, line)
                self._stray_text = True  # told once, in however many pieces it comes

    def _add_entry_text(self, entry: RawEntry, raw: str) -> None:
        """Add text of an entry itself, not of an element inside."""
        if len(self._stack) - (not self._implied) == self._entry_depth:
            entry.add_text(raw)

    def cdata(self, text: str) -> None:
        """Take the text of a CDATA section."""
        if self._field is not None:
            self._decode_raw()
            if self._room > 0:
                self._decoded.append(decode_cdata(text[: self._room], self.note))
            self._spend(len(text))
        else:
            self.text(escape(text))

    def declaration(self, kind: str, subset: bool) -> None:
        """Skip a declaration inside the document, and note it."""
        del subset
        self.scanner.repair(ProblemCode.INNER_DECLARATION, kind)
