"""For well-formed documents the scanner gives exactly what expat gives."""

from xml.parsers import expat

from formats_strategies import one_of, pieces
from formats_support import chunks, same_line_ends
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from together import together
from usp._formats.xml.references import attributes, decode_text, without_forbidden
from usp._formats.xml.scanner import Scanner
from usp.objects.problem import Problems

LAW = settings(max_examples=examples(400))


class Events:
    """Collects what a parser tells, text that belongs together merged."""

    def __init__(self):
        self.events = []
        self.raw = ""

    def add_text(self, text):
        if self.events and isinstance(self.events[-1], str):
            self.events[-1] += text
        elif text:
            self.events.append(text)

    def add_start(self, name, attributes):
        self.events.append(("start", name, attributes))

    def add_end(self, name):
        self.events.append(("end", name))

    def found(self):
        """Return all but what stands around the root: expat does not tell of it."""
        return [one for one in self.events if not (isinstance(one, str) and one.isspace())]

    # What every handler of the scanner must do: gather raw text, decode it when it is complete.

    def flush(self):
        raw, self.raw = self.raw, ""
        self.add_text(decode_text(raw, self.refuse))

    def start(self, name, raw, empty):
        self.flush()
        self.add_start(name, attributes(raw, self.refuse))
        if empty:
            self.add_end(name)

    def end(self, name):
        self.flush()
        self.add_end(name)

    def text(self, raw):
        self.raw += raw

    def cdata(self, text):
        self.flush()
        self.add_text(without_forbidden(text, self.refuse))

    def declaration(self, kind, subset):
        raise AssertionError(kind)

    def innermost(self):
        return "", False  # then sections end as XML says

    def refuse(self, message, excerpt=None, **_):
        raise AssertionError(f"{message}: {excerpt!r}")


def by_scanner(parts):
    events, problems = Events(), Problems()
    scanner = Scanner(events, problems)
    for part in parts:
        scanner.feed(part)
    scanner.close()
    events.flush()
    assert problems.listed() == []
    return events.found()


def by_expat(text):
    events = Events()
    parser = expat.ParserCreate()
    parser.StartElementHandler = events.add_start
    parser.EndElementHandler = events.add_end
    parser.CharacterDataHandler = events.add_text
    parser.Parse(text, True)
    return events.found()


TEXTS = one_of(
    *("a", "b c", " ", "\n", "\t", ">", "]", "]]", "-", "?", "!/=", "'\"", "é日😀", ":;#", "\r\n"),
    *("\r", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#38;", "&#x26;", "&#xe9;", "&#128512;"),
    *("&#10;", "&#13;", "&#9;", "&#0065;", "&#x0000000041;", "&#x10FFFD;", "&amp;amp;", "&#60;"),
    *("<![CDATA[]]>", "<![CDATA[<url>&amp;</url>]]>", "<![CDATA[]]]]>", "<![CDATA[>]]>"),
    "<![CDATA[--> ?> \r\n]]>",
)
MISC = one_of(
    *("<!---->", "<!-- <url> & -->", "<!-- > ' \" ]]> ?> -->", "<!--\n-->", "<?x?>", "\n", " "),
    *("<?php echo '<a>' > & ?>", "<?y -->?>", "<?z ??>"),
)
NAMES = one_of("a", "url", "loc", "image:loc", "x-y.z", "_u", "é", "名")
VALUES = one_of("v", ">", "/", "/>", " ", "\n", "\t", "\r\n", "&amp;", "&#10;", "&lt;", "é", "=")
BLANKS = one_of("", "", " ", "\n", "  ")
DECLARATION = one_of("", '<?xml version="1.0"?>', "<?xml version='1.0' standalone='yes'?>\n")


@st.composite
def elements(draw, inside=TEXTS):
    """Write an element with any attributes, and with this inside of it."""
    name, tag = draw(NAMES), ""
    for key in draw(st.lists(one_of("a", "b", "xml:lang", "xmlns:x"), unique=True, max_size=3)):
        value, quote = draw(st.lists(VALUES | one_of('"', "'"), max_size=4)), draw(one_of("'", '"'))
        value = "".join(value).replace(quote, "")
        tag += f" {draw(BLANKS)}{key}{draw(BLANKS)}={draw(BLANKS)}{quote}{value}{quote}"
    content = "".join(draw(st.lists(inside, max_size=5)))
    if not content and draw(st.booleans()):
        return f"<{name}{tag}{draw(BLANKS)}/>"
    return f"<{name}{tag}{draw(BLANKS)}>{content}</{name}{draw(BLANKS)}>"


CONTENT = st.recursive(TEXTS | MISC | elements(), elements, max_leaves=20)
AROUND = st.lists(MISC, max_size=2).map("".join)
DOCUMENTS = st.tuples(DECLARATION, AROUND, elements(CONTENT), AROUND).map("".join)


@LAW
@given(data=st.data())
def test_the_scanner_gives_what_expat_gives_wherever_the_document_is_cut(data):
    text = data.draw(DOCUMENTS)
    try:
        expected = by_expat(text)
    except expat.ExpatError:  # two texts made a "]]>", which is not well-formed
        assert "]]>" in text
        return
    text = same_line_ends(text)
    assert by_scanner([text]) == expected
    assert by_scanner(data.draw(pieces(text))) == expected
    assert by_scanner(chunks(text, 1)) == expected


@together(
    "text",
    [
        *("<a>]] &gt; ]]</a>", "<a b='\"' c=\"'\"/>", "<a b='1>2' c='--'></a>"),
        *("<a><!-- <![CDATA[ --><b/><![CDATA[ <!-- ]]></a>", "<a><?x <b> ?><![CDATA[?>]]></a>"),
        *("<a\n>\r\n\r&#13;&#10;</a\n>", "<a b='&#9;&#10; \t\r\n x'/>"),
        *("<a:b xmlns:a='u:r:i'><a:c/></a:b>", "<a>&#x1F600;&#128512;</a>"),
        "<a>&#0000000000000065;&#x0000000000000041;</a>",
    ],
)
def test_the_scanner_gives_what_expat_gives(text):
    assert by_scanner([same_line_ends(text)]) == by_expat(text)
    assert by_scanner(chunks(same_line_ends(text), 1)) == by_expat(text)
