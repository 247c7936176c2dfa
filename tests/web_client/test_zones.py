"""Where an address is, and where a crawl may go: decided without a network."""

from __future__ import annotations

import dataclasses
import ipaddress
import pickle

import pytest

from together import together
from usp._base.urls import read_url
from usp._http.flow import Flow
from usp.web_client.zones import AddressGate, Refused, Zone, Zones, literal_of, zone_of

ADDRESSES = {
    Zone.PUBLIC: "8.8.8.8 1.1.1.1 192.31.196.1 172.15.0.1 172.32.0.1 100.63.0.1 2606:4700::1111"
    " ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1",
    Zone.LOOPBACK: "127.0.0.1 127.255.255.254 ::1 0.0.0.0 :: ::ffff:127.0.0.1 64:ff9b::7f00:1"
    " 2002:7f00:1::1 ::127.0.0.1 ::ffff:0.0.0.0",
    Zone.PRIVATE: "10.0.0.5 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fd12::1 fec0::1"
    " ::ffff:10.0.0.5 2002:a00:5::1 64:ff9b::a00:5",
    Zone.LINK_LOCAL: "169.254.169.254 fe80::1 fe80::1%eth0 ::ffff:169.254.169.254",
    Zone.SPECIAL: "224.0.0.1 239.1.1.1 255.255.255.255 240.0.0.1 0.1.2.3 100.64.0.1 100.127.255.255"
    " 192.0.0.1 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 192.88.99.1 ff02::1"
    " 168.63.129.16 ::ffff:168.63.129.16 64:ff9b::a83f:8110"
    " ff0e::1 2001:db8::1 3fff::1 100::1 4000::1 ::ffff:224.0.0.1 64:ff9b:1::1 5f00::1",
}


@together(
    ("address", "zone"), [(text, zone) for zone, line in ADDRESSES.items() for text in line.split()]
)
def test_every_address_is_in_one_zone_and_embedded_ones_count(address, zone):
    assert zone_of(ipaddress.ip_address(address)) is zone


def test_a_teredo_address_is_where_its_client_is():
    inside = int(ipaddress.IPv4Address("10.0.0.5")) ^ 0xFFFFFFFF
    address = ipaddress.IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | inside)
    assert zone_of(address) is Zone.PRIVATE


@together(
    "host",
    ["127.0.0.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "127.1", "127.0.1", "017700000001",
     "127.0.0.1.", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021"],
)  # fmt: skip
def test_an_address_is_read_in_every_way_it_can_be_written(host):
    assert literal_of(host) == ipaddress.ip_address("127.0.0.1")


def test_addresses_in_brackets_are_read_and_names_are_none():
    assert literal_of("[::1]") == ipaddress.ip_address("::1")
    for name in (
        "example.org",
        "localhost",
        "",
        "1.2.3.4.5",
        "deadbeef",
        "0xyz",
        "999.1.1.1",
        "1.com",
    ):
        assert literal_of(name) is None


# Entries --------------------------------------------------------------------------------------------


@together(
    "entry",
    [
        "10.0.0.0/8", "10.0.0.5", "::1", "[::1]", "fd00::/8", "intranet", "a.b-c.example", "any",
        "bücher.example",
    ],
)  # fmt: skip
def test_networks_addresses_and_names_can_be_allowed(entry):
    assert Zones(allow=(entry,)).allow == (entry,)


@together(
    "entry",
    [
        "", "10.0.0.0/33", "10.0.0.5/8", "http://h/", "h:80", "300.1.1.1", "a b", "*.example",
        "-/-", 7, "2130706433",
    ],
)  # fmt: skip
def test_an_entry_that_makes_no_sense_is_named(entry):
    with pytest.raises(ValueError, match=r"is not a network") as caught:
        Zones(allow=("10.0.0.0/8", entry))
    assert repr(entry) in str(caught.value)


def test_a_text_is_no_tuple_and_a_list_becomes_one():
    with pytest.raises(ValueError, match="tuple"):
        Zones(allow="10.0.0.0/8")
    assert Zones(allow=["10.0.0.5"]) == Zones(allow=("10.0.0.5",))


# The gate -------------------------------------------------------------------------------------------


def refused(gate, host, address) -> str | None:
    try:
        gate.admit(host, address)
    except Refused as error:
        return str(error)
    return None


def starting(host="start.example", **zones):
    """Give the gate of a crawl that starts at a host."""
    gate = AddressGate(Zones(**zones))
    gate.begin(host)
    return gate


def begun(address, **zones):
    """Give the gate of a crawl whose start has answered at an address."""
    gate = starting(**zones)
    gate.connected("start.example", address)
    return gate


NOT_PUBLIC = ["127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "::ffff:127.0.0.1", "224.0.0.1"]


@together("address", NOT_PUBLIC)
def test_from_a_public_start_only_public_addresses_are_reached(address):
    gate = begun("8.8.8.8")
    assert refused(gate, "other.example", "1.1.1.1") is None
    assert refused(gate, "other.example", address)
    assert refused(gate, "start.example", address), "a name that changes its address"


def test_the_message_says_why_and_what_permits_it():
    gate = begun("8.8.8.8")
    assert refused(gate, "10.0.0.5", "10.0.0.5") == (
        "refused to connect to 10.0.0.5 (a private address): the crawl began at a public address"
        ' (Zones(allow=("10.0.0.5",)) or --allow-network 10.0.0.5 permits it)'
    )
    assert "wiki.example at 10.0.0.5 (a private" in refused(gate, "wiki.example", "10.0.0.5")


@together("allow", ["10.0.0.0/8", "10.0.0.5", "wiki.example", "WIKI.example.", "any"])
def test_what_is_allowed_is_reached(allow):
    gate = begun("8.8.8.8", allow=(allow,))
    assert refused(gate, "wiki.example", "10.0.0.5") is None
    assert refused(gate, "wiki.example", "::ffff:10.0.0.5") is None
    if allow != "any":
        assert refused(gate, "other.example", "127.0.0.1")


def test_a_private_start_stays_in_its_zone():
    gate = begun("10.0.0.5")
    assert refused(gate, "other.example", "192.168.0.1") is None
    assert refused(gate, "other.example", "8.8.8.8") is None
    assert refused(gate, "other.example", "127.0.0.1")
    assert refused(gate, "start.example", "127.0.0.1")
    assert "began at a private address" in refused(gate, "x", "::1")


def test_before_the_start_has_answered_only_the_start_is_trusted():
    gate = starting()
    assert refused(gate, "other.example", "10.0.0.5")
    assert refused(gate, "start.example", "10.0.0.5") is None
    assert refused(gate, "start.example", "169.254.169.254")
    assert refused(gate, "start.example", "224.0.0.1")


@together(
    "host", ["169.254.1.1", "198.18.0.1", "127.0.0.1", "localhost", "sub.localhost", "2130706433"]
)
def test_a_start_that_is_written_as_an_address_is_trusted_with_its_zone(host):
    gate = starting(read_url(f"http://{host}/").host)
    inside = {"1": "169.254.9.9", "l": "127.0.0.5", "s": "127.0.0.5", "2": "127.0.0.5"}
    near = {"198.18.0.1": "100.64.0.1", "127.0.0.1": "127.0.0.9"}.get(host, inside[host[0]])
    assert refused(gate, host, near) is None
    assert refused(gate, "other.example", "10.0.0.5")


def test_a_name_that_is_allowed_at_a_strange_address_opens_no_more():
    gate = begun("169.254.169.254", allow=("start.example",))
    assert refused(gate, "start.example", "169.254.169.254") is None
    assert refused(gate, "other.example", "169.254.169.254")


@together("start", ["127.0.0.1", "localhost", "start.example"])
def test_a_start_that_is_not_trusted_is_like_any_other(start):
    gate = starting(start, trust_start=False)
    assert refused(gate, start, "127.0.0.1")
    assert refused(gate, start, "8.8.8.8") is None


def test_a_second_connection_to_another_zone_is_refused_even_if_both_were_let_through():
    gate = starting()
    for address in ("8.8.8.8", "127.0.0.1"):
        gate.admit("start.example", address)
    gate.connected("start.example", "8.8.8.8")
    with pytest.raises(Refused):
        gate.connected("start.example", "127.0.0.1")


@together("again", [dataclasses.replace, lambda flow: pickle.loads(pickle.dumps(flow))])
def test_a_copy_of_a_flow_has_not_learned_where_the_original_began(again):
    first = Flow()
    first.gate.begin("127.0.0.1")
    first.admit("127.0.0.1", ["127.0.0.1"])
    with pytest.raises(Refused):
        again(first).admit("127.0.0.1", ["127.0.0.1"])


# By name, for proxies -------------------------------------------------------------------------------


@together(
    "host",
    ["127.0.0.1", "2130706433", "0x7f000001", "127.1", "::1", "localhost", "a.localhost", "printer.local",
     "metadata.google.internal", "x.localdomain", "LOCALHOST.", "169.254.169.254"],
)  # fmt: skip
def test_a_proxy_is_not_asked_for_what_is_local_by_its_name(host):
    gate = starting()
    gate.admit_name("start.example")
    gate.admit_name("other.example")
    with pytest.raises(Refused):
        gate.admit_name(host)
    starting(allow=("any",)).admit_name(host)


def test_a_start_that_is_local_by_its_name_is_trusted_behind_a_proxy():
    gate = starting("wiki.internal")
    gate.admit_name("wiki.internal")
    gate.admit_name("10.0.0.5")
    with pytest.raises(Refused):
        gate.admit_name("localhost")
