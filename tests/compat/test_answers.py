"""The same question has the same answer as in ultimate-sitemap-parser 1.8.1, or a better one.

``questions.py`` has the questions, ``answers_of_1_8_1.json`` what 1.8.1 answers.
"""

import json
from pathlib import Path

import pytest
from questions import QUESTIONS, answer

from together import together

ANSWERS = json.loads(Path(__file__).with_name("answers_of_1_8_1.json").read_text("utf-8"))

BETTER = {  # beginnings of names, and why the answer is another one
    "rfc 8": "a zone that RFC 2822 names is read",
    "the_exceptions_are_related": "an error of parsing is caught with the others",
    "document 11": "an entry that breaks off after its URL is a page",
    "document 16": "alternates are in to_dict when they are set",
    "document 27": "of two links of an entry the alternate one is the page",
    "document 30": "an empty document is invalid, not a sitemap without pages",
    "document 32": "words are no sitemap",
    "a_sitemap_that_is_cut_off_in_its_gzip": "what came is read",
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where there are no options for the command line


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # clients that nobody closes
@together("name", QUESTIONS)
def test_the_answer_is_that_of_1_8_1_or_better(name):
    better = next((why for start, why in BETTER.items() if name.startswith(start)), None)
    if better is None:
        assert answer(name) == ANSWERS[name]
    else:
        assert answer(name) != ANSWERS[name], f"no difference any more: {better}"


def test_every_question_was_asked():
    assert list(ANSWERS) == list(QUESTIONS)
