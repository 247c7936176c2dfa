"""Encodings, in their order of trust: mark, header, declaration, UTF-8."""

from formats_support import chunks
from formats_support import decode as decode_pieces
from hypothesis import given
from hypothesis import strategies as st

from together import together
from usp._formats.decode import Decoder
from usp.objects.problem import ProblemCode


def decode(data, content_type=None, size=1 << 20):
    text, encoding, problems = decode_pieces(chunks(data, size), content_type=content_type)
    return text, encoding, [problem.message for problem in problems]


TEXTS = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0\ufffd")
)


@given(TEXTS, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]), st.integers(1, 9))
def test_a_byte_order_mark_is_always_right(text, codec, size):
    got, _, problems = decode(text.encode(codec), "text/xml; charset=windows-1251", size)
    assert (got, problems) == (text, [])


@given(TEXTS, st.sampled_from([None, "windows-1251", "iso-8859-1", "utf-8", "x-none"]))
def test_valid_utf_8_beats_every_single_byte_label(text, label):
    text = "<a>" + text
    assert decode(text.encode(), f"text/xml; charset={label}") == (text, "utf-8", [])


@given(TEXTS, st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]))
def test_wide_encodings_are_told_by_their_zeros(text, codec):
    text = "<a>" + text
    assert decode(text.encode(codec)) == (text, codec, [])


@given(st.text(alphabet="абвгджзклмнпрстуфхц", min_size=2), st.integers(1, 5))
def test_a_single_byte_label_is_used_where_the_bytes_are_not_utf_8(text, size):
    assert decode(text.encode("cp1251"), "text/xml; charset=cp1251", size)[0] == text


def test_the_order_of_trust():
    data = "é".encode("cp1252")
    declared = b"<?xml version='1.0' encoding='windows-1251'?>" + data
    assert decode(declared, "text/xml; charset=windows-1252")[1] == "cp1252"
    assert decode(declared)[1] == "cp1251"
    assert decode(data, "text/xml; charset=utf-8")[0] == "\ufffd"
    assert decode(data + b"a") == ("éa", "cp1252", [ProblemCode.GUESSED_ENCODING.message])


def test_text_that_was_proved_to_be_utf_8_stays_so_after_one_broken_byte():
    data = "éééééééé".encode() + b"\xff" + "é".encode()
    text, encoding, problems = decode(data, "text/xml; charset=iso-8859-1")
    assert (text, encoding) == ("éééééééé\ufffdé", "utf-8")
    assert len(problems) == 1


def test_a_character_cut_off_at_the_end_is_replaced_and_named():
    assert decode("é".encode()[:1]) == ("\ufffd", "utf-8", [ProblemCode.BAD_BYTES.message])
    assert decode("<aé".encode("utf-16-le")[:-1])[0] == "<a\ufffd"


@together("codec", ["utf-8", "utf-16-le", "gb18030"])
def test_a_replacement_character_that_the_document_itself_has_is_no_damage(codec):
    text, _, problems = decode("<a>\ufffd".encode(codec), f"text/xml; charset={codec}")
    assert (text, problems) == ("<a>\ufffd", [])


def test_an_encoding_is_unknown_until_it_is_decided():
    decoder = Decoder()
    assert decoder.encoding is None
    decoder.feed(b"<")
    decoder.close()
    assert decoder.encoding == "utf-8"


WORDS = st.lists(
    st.sampled_from(["cafe", "caf\xe9", "\xfcber", "stra\xdfe", "\u2019s", "a"]), min_size=1
)


@given(st.lists(st.tuples(WORDS, st.booleans()), min_size=1), st.integers(1, 9))
def test_text_without_a_label_is_read_the_same_wherever_it_is_cut(parts, size):
    data = b" ".join(
        " ".join(words).encode("utf-8" if is_utf_8 else "cp1252") for words, is_utf_8 in parts
    )
    data += b"."  # a last letter may be a character that is cut off
    assert decode(data, size=size) == decode(data)
    if not any(is_utf_8 for _, is_utf_8 in parts):
        assert decode(data)[0] == data.decode("cp1252")


@together("length", [10, 4000, 5000, 20_000])
def test_so_many_bytes_decide_wherever_they_are_cut(length):
    data = b"x" * length + "caf\xe9 ".encode("cp1252") * length + "caf\xe9".encode()
    whole = decode(data)
    assert whole[0].endswith("caf\xe9 caf\xe9")
    assert all(decode(data, size=size) == whole for size in (1, 1000, 4096, 65536))
