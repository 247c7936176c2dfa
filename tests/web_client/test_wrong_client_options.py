"""An option of a client that cannot be meant is refused where it is passed, by both clients alike."""

from __future__ import annotations

import math

import pytest

from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Zones

CLIENTS = [RequestsWebClient, AiohttpWebClient]

WRONG = [
    {"timeout": 0},
    {"timeout": -1},
    {"timeout": math.nan},
    {"timeout": math.inf},
    {"timeout": "5"},
    {"timeout": True},
    {"timeout": (1, 2, 3)},
    {"timeout": (1, 0)},
    {"timeout": ("1", None)},
    {"wait": "x"},
    {"wait": -1},
    {"wait": math.inf},
    {"wait": True},
    {"max_concurrent_requests": "3"},
    {"max_concurrent_requests": 0},
    {"max_concurrent_requests": 1.5},
    {"headers": {"a": 1}},
    {"headers": {1: "a"}},
    {"zones": "10.0.0.0/8"},
]

RIGHT = [
    {"timeout": None},
    {"timeout": 0.5},
    {"timeout": (3, None)},
    {"timeout": [3, 4]},
    {"wait": 0},
    {"wait": None},
    {"max_concurrent_requests": None},
    {"max_concurrent_requests": 1},
    {"headers": {}},
    {"headers": {"a": "b"}},
    {"zones": Zones()},
]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("options", WRONG, ids=str)
def test_what_cannot_be_meant_is_refused(client, options):
    (name,) = options
    with pytest.raises((TypeError, ValueError)) as refused:
        client(**options)
    assert name.removesuffix("s") in str(refused.value)
    assert "must be" in str(refused.value)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("options", RIGHT, ids=str)
def test_what_can_be_meant_is_not(client, options):
    client(**options)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_timeout_that_is_set_later_is_checked_too(client):
    made = client()
    made.set_timeout((1, 2))
    with pytest.raises(ValueError, match="positive number of seconds"):
        made.set_timeout(-1)
