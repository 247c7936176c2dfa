"""The interface's own parts: local clients, the pause between requests, retries by hand."""

from __future__ import annotations

import logging
import time

import pytest

from together import together
from usp.helpers import get_url_retry_on_client_errors
from usp.web_client import abstract_client
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    LocalWebClient,
    LocalWebClientSuccessResponse,
    NoWebClientException,
    RequestWaiter,
    WebClientErrorResponse,
)


def test_a_local_client_fetches_nothing():
    client = LocalWebClient()
    client.set_max_response_data_length(10)
    with pytest.raises(NoWebClientException):
        client.get("http://h/")


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


def test_an_error_has_a_message_and_may_pass_or_not():
    response = WebClientErrorResponse(message="m", retryable=True)
    assert isinstance(response, AbstractWebClientResponse)
    assert (response.message(), response.retryable()) == ("m", True)


@pytest.fixture
def naps(monkeypatch):
    taken: list[float] = []
    monkeypatch.setattr(time, "sleep", taken.append)
    return taken


def test_a_waiter_waits_before_every_request_but_the_first(naps):
    waiter = RequestWaiter(2, random_wait=False)
    for _ in range(3):
        waiter.wait()
    assert naps == [2, 2]


def test_a_waiter_varies_its_pause_by_half_when_told(naps):
    waiter = RequestWaiter(wait=2, random_wait=True)
    for _ in range(200):
        waiter.wait()
    assert len(naps) == 199
    assert len(set(naps)) > 100
    assert all(1 <= nap <= 3 for nap in naps)


@together("wait", [None, 0])
def test_a_waiter_without_a_pause_never_waits(naps, wait):
    waiter = RequestWaiter(wait)
    waiter.wait()
    waiter.wait()
    assert not naps


class Scripted(AbstractWebClient):
    """Answers what the script says, the last line for ever."""

    def __init__(self, *script) -> None:
        self.script, self.asked = list(script), 0

    def set_max_response_data_length(self, max_response_data_length) -> None:
        pass

    def get(self, url):
        self.asked += 1
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


BUSY = WebClientErrorResponse("503 Service Unavailable", retryable=True)
GONE = WebClientErrorResponse("404 Not Found", retryable=False)
FINE = LocalWebClientSuccessResponse("http://h/", "")


def test_retries_end_at_the_first_success(naps):
    client = Scripted(BUSY, BUSY, FINE)
    assert get_url_retry_on_client_errors("http://h/", client) is FINE
    assert (client.asked, naps) == (3, [1, 1])


def test_an_error_that_will_not_pass_is_not_repeated(naps):
    client = Scripted(GONE)
    assert get_url_retry_on_client_errors("http://h/", client) is GONE
    assert (client.asked, naps) == (1, [])


@together("count", [1, 3, 5])
def test_a_url_is_asked_for_as_often_as_the_caller_says(naps, count):
    client = Scripted(BUSY)
    response = get_url_retry_on_client_errors("http://h/", client, count, 2)
    assert response is BUSY
    assert client.asked == count
    assert naps[: count - 1] == [2] * (count - 1)


def test_the_pause_is_what_the_caller_says_however_long(naps):
    client = Scripted(BUSY, FINE)
    response = get_url_retry_on_client_errors(
        "http://h/", client, retry_count=3, sleep_between_retries=60
    )
    assert response is FINE
    assert naps == [60]


def test_a_server_that_names_a_longer_pause_is_heard(naps):
    busy = WebClientErrorResponse("429 Too Many Requests", retryable=True)
    busy.retry_after = 5
    get_url_retry_on_client_errors("http://h/", Scripted(busy, FINE))
    assert naps == [5]


@together(("quiet", "level"), [(True, "INFO"), (False, "WARNING")])
def test_a_404_that_was_expected_is_no_warning(caplog, quiet, level):
    with caplog.at_level(logging.DEBUG):
        get_url_retry_on_client_errors("http://h/", Scripted(GONE), quiet_404=quiet)
    assert caplog.record_tuples == [
        ("usp.helpers", logging.INFO, "Fetching URL http://h/..."),
        ("usp.helpers", getattr(logging, level), "Request for URL http://h/ failed: 404 Not Found"),
        ("usp.helpers", logging.INFO, "Not retrying for URL http://h/"),
    ]


def test_every_other_failure_is_a_warning_also_with_quiet_404(caplog, naps):
    with caplog.at_level(logging.INFO):
        get_url_retry_on_client_errors("http://h/", Scripted(BUSY), 2, 2, quiet_404=True)
    failed = (logging.WARNING, "Request for URL http://h/ failed: 503 Service Unavailable")
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "Fetching URL http://h/..."),
        failed,
        (logging.INFO, "Retrying URL http://h/ in 2 seconds..."),
        (logging.INFO, "Fetching URL http://h/..."),
        failed,
        (logging.INFO, "Giving up on URL http://h/"),
    ]
    assert naps == [2]


def test_the_names_of_the_module_are_there():
    for name in ("AbstractWebClientSuccessResponse", "RETRYABLE_HTTP_STATUS_CODES"):
        assert hasattr(abstract_client, name)
