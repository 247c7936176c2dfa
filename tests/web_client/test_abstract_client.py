"""The interface's own parts: local clients, the pause between requests, retries by hand."""

import itertools
import logging
import time
from unittest import mock

import pytest

from together import together
from usp.helpers import get_url_retry_on_client_errors
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)


def test_a_local_response_is_a_document_dressed_as_an_answer():
    response = LocalWebClientSuccessResponse("http://h/", "é")
    assert isinstance(response, AbstractWebClientResponse)
    assert (response.status_code(), response.status_message()) == (200, "OK")
    assert response.url() == "http://h/"
    assert response.header("Content-Type") is None
    assert response.raw_data() == "é".encode()
    assert b"".join(response.body()) == "é".encode()
    assert (response.redirects(), response.headers()) == ((), ())
    response.close()


@pytest.fixture
def naps(monkeypatch):
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    return taken


def scripted(*script) -> mock.Mock:
    """Give a client that answers what the script says, the last line for ever."""
    answers = itertools.chain(script, itertools.repeat(script[-1]))
    return mock.Mock(spec=AbstractWebClient, **{"get.side_effect": answers})


BUSY = WebClientErrorResponse("503 Service Unavailable", retryable=True)
GONE = WebClientErrorResponse("404 Not Found", retryable=False)
FINE = LocalWebClientSuccessResponse("http://h/", "")


LATER = WebClientErrorResponse("429 Too Many Requests", retryable=True, retry_after=5)
RETRIES = [  # what is answered, and how the caller wants it; what was asked for, and the pauses
    ([BUSY, BUSY, FINE], {}, FINE, 3, [1, 1]),
    ([GONE], {}, GONE, 1, []),
    ([LATER, FINE], {}, FINE, 2, [5]),
    ([BUSY, FINE], {"retry_count": 3, "sleep_between_retries": 60}, FINE, 2, [60]),
    *(
        ([BUSY], {"retry_count": count, "sleep_between_retries": 2}, BUSY, count, [2] * (count - 1))
        for count in (1, 3, 5)
    ),
]


@together(("script", "options", "last", "asked", "pauses"), RETRIES)
def test_a_url_is_asked_for_again_while_that_may_help(naps, script, options, last, asked, pauses):
    naps.clear()
    client = scripted(*script)
    assert get_url_retry_on_client_errors("http://h/", client, **options) is last
    assert (client.get.call_count, naps) == (asked, pauses)


FETCHING = ("INFO", "Fetching URL http://h/...")
NOT_FOUND = "Request for URL http://h/ failed: 404 Not Found"
FAILED = ("WARNING", "Request for URL http://h/ failed: 503 Service Unavailable")
END, GIVING_UP = (
    ("INFO", f"{words} URL http://h/") for words in ("Not retrying for", "Giving up on")
)
AGAIN = ("INFO", "Retrying URL http://h/ in 2 seconds...")


@together(
    ("answer", "options", "logged"),
    [  # a 404 that was expected is no warning
        (GONE, {"quiet_404": True}, [FETCHING, ("INFO", NOT_FOUND), END]),
        (GONE, {}, [FETCHING, ("WARNING", NOT_FOUND), END]),
        (BUSY, {"quiet_404": True}, [FETCHING, FAILED, AGAIN, FETCHING, FAILED, GIVING_UP]),
    ],
)
def test_what_is_asked_for_and_fails_stands_in_the_log(caplog, naps, answer, options, logged):
    with caplog.at_level(logging.DEBUG):
        get_url_retry_on_client_errors("http://h/", scripted(answer), 2, 2, **options)
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said == logged
    assert {record.name for record in caplog.records} == {"usp.helpers"}
    assert naps == ([2] if answer is BUSY else [])
