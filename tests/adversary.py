"""Strings that make a regular expression work hard, and how the work grows with their length.

A pattern takes more than linear time where it repeats something, fails late, and tries again from
another place. So for each repetition in a pattern there are strings that get there (a *prefix*),
repeat what it repeats (a *pump*), and then fail (a *suffix*). They are made from its parse tree.

What is judged is growth, in CPU time of this thread: four times the text may take about four times as
long. Nothing is judged that is quick with the longest text.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from re import _compiler as sre_compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as sre  # type: ignore[attr-defined]
from typing import Any

SHORT = (8, 12, 16, 20, 24, 28)  # what doubles with each character shows here
LENGTHS = (64, 256, 1024, 4096, 16_384)
FLOOR = 0.012  # seconds: what is quicker with the longest text is not quadratic
CLEAR = 5  # what grows less at first sight is linear, without a closer look
STEADY = 0.03  # seconds that a closer look takes, for each length
GROWTH = 9  # between four times as long, which is linear, and sixteen, which is quadratic

PUMPS = (" ", "\n", "a", "0", "/", ".", "<", "&", '"', "-", ":", "#", "\xa0")
SUFFIXES = ("", "\0", " !", "\n<")

_POOL = " a0/.\t\n\xa0\x1cA_:-<>\"'&;#=?!%@[](),\0é"
_MANY = 3  # so many samples of a set of characters, or of a list of alternatives
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def recipes(pattern: re.Pattern[Any]) -> list[tuple[str, str, str, bool]]:
    """Return ``(prefix, pump, suffix, again)`` for :func:`cook`, each once."""
    tree = sre.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    found: dict[tuple[str, str], None] = {}
    prefixes: dict[str, None] = {"": None}
    for prefix, pump in _repetitions(tree, "", {}):
        found.setdefault((prefix, pump))
        found.setdefault(("", pump))
        prefixes.setdefault(prefix)
    prefixes.setdefault(_sample(tree, {}))
    for prefix in prefixes:
        for pump in PUMPS:
            found.setdefault((prefix, pump))
        if prefix:
            found.setdefault(("", prefix))
    return [
        (prefix, pump, suffix, again)
        for prefix, pump in found
        if pump
        for suffix in SUFFIXES
        for again in ((False, True) if prefix else (False,))
    ]


def cook(prefix: str, pump: str, suffix: str, *, again: bool, length: int) -> str:
    """Return the prefix, the pump many times, and the suffix; with ``again`` the prefix as often."""
    unit = prefix + pump if again else pump
    return (prefix if not again else "") + unit * (length // len(unit)) + suffix


def _repetitions(
    tree: Iterable[Any], prefix: str, groups: dict[int, str]
) -> Iterator[tuple[str, str]]:
    """Yield what leads to each repetition of a pattern, with what it repeats."""
    for code, argument in tree:
        if code in _REPEATS:
            _, most, body = argument
            if most == op.MAXREPEAT or most > 1:
                for pump in _samples(body, groups):
                    yield prefix, pump
            yield from _repetitions(body, prefix, groups)
        else:
            for body in _bodies(code, argument):
                yield from _repetitions(body, prefix, groups)
        prefix += _sample([(code, argument)], groups)


def _bodies(code: Any, argument: Any) -> list[Any]:
    if code is op.SUBPATTERN:
        return [argument[3]]
    if code is op.BRANCH:
        return list(argument[1])
    if code is op.ATOMIC_GROUP:
        return [argument]
    return [argument[1]] if code in (op.ASSERT, op.ASSERT_NOT) else []


def _samples(tree: Iterable[Any], groups: dict[int, str]) -> list[str]:
    """Return some texts that a part of a pattern matches, unlike each other."""
    nodes = list(tree)
    if len(nodes) == 1:
        code, argument = nodes[0]
        if code is op.BRANCH:
            return [text for body in argument[1] for text in _samples(body, groups)[:_MANY]]
        if code is op.SUBPATTERN:
            return _samples(argument[3], groups)
        if code in (op.IN, op.NOT_LITERAL, op.ANY):
            return _characters(code, argument)[:_MANY]
    return [_sample(nodes, groups)]


def _sample(tree: Iterable[Any], groups: dict[int, str]) -> str:
    """Return one short text that a part of a pattern matches, look-arounds aside."""
    out = ""
    for code, argument in tree:
        if code is op.LITERAL:
            out += chr(argument)
        elif code in (op.IN, op.NOT_LITERAL, op.ANY):
            out += _characters(code, argument)[0]
        elif code in _REPEATS:
            least, _, body = argument
            out += _sample(body, groups) * max(least, 1 if _is_single(body) else 0)
        elif code is op.BRANCH:
            out += _sample(argument[1][0], groups)
        elif code is op.SUBPATTERN:
            number, _, _, body = argument
            text = _sample(body, groups)
            if number is not None:
                groups[number] = text
            out += text
        elif code is op.ATOMIC_GROUP:
            out += _sample(argument, groups)
        elif code is op.GROUPREF:
            out += groups.get(argument, "")
    return out


def _is_single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in (op.IN, op.NOT_LITERAL, op.ANY, op.LITERAL)


def _characters(code: Any, argument: Any) -> list[str]:
    """Return characters that a set has: its own first, and of the usual ones those in it."""
    if code is op.ANY:
        return ["a", " ", "<"]
    alone = sre.parse("")
    alone.append((code, argument))
    usual = list(filter(sre_compiler.compile(alone).match, _POOL))
    if code is not op.IN or argument[0][0] is op.NEGATE:
        return usual
    own = [chr(value) for kind, value in argument if kind is op.LITERAL]
    own += [chr(value[0]) for kind, value in argument if kind is op.RANGE]
    return [*own, *usual]


def growth(call: Callable[[Any], object], text: Callable[[int], Any]) -> float:
    """Return how much more CPU time four times the text takes; 0 if all of it is quick."""
    before = text(0)
    for length in (*SHORT, *LENGTHS):
        given = text(length)
        if (slow := _once(call, given)) > FLOOR:
            shorter = before if length in LENGTHS[1:] else text(0)
            if (ratio := slow / max(_once(call, shorter), 1e-7)) < CLEAR:
                return ratio
            slow = _steady(call, given)
            if slow > FLOOR:
                return slow / max(_steady(call, shorter), 1e-7)
        elif length == LENGTHS[-2] and slow * 4**3 < FLOOR:
            return 0  # the longest text would be quick even if the work were cubic
        before = given
    return 0


def _once(call: Callable[[Any], object], text: Any) -> float:
    start = time.thread_time()
    call(text)
    return time.thread_time() - start


def _steady(call: Callable[[Any], object], text: Any) -> float:
    """Return the CPU time of a call as the least of several means."""
    means = []
    for _ in range(3):
        spent, count = 0.0, 0
        while spent < STEADY and count < 10_000:
            spent += _once(call, text)
            count += 1
        means.append(spent / count)
    return min(means)
