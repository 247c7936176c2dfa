"""Where an address is, and where a crawl may go: decided without a network."""

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
    " ::ffff:10.0.0.5 2002:a00:5::1 64:ff9b::a00:5 2001:0:808:808::f5ff:fffa",  # of Teredo
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


@together(
    "host",
    ["127.0.0.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "127.1", "127.0.1", "017700000001",
     "127.0.0.1.", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021"],
)  # fmt: skip
def test_an_address_is_read_in_every_way_it_can_be_written(host):
    assert literal_of(host) == ipaddress.ip_address("127.0.0.1")


def test_addresses_in_brackets_are_read_and_names_are_none():
    assert literal_of("[::1]") == ipaddress.ip_address("::1")
    names = "example.org", "localhost", "", "1.2.3.4.5", "deadbeef", "0xyz", "999.1.1.1", "1.com"
    assert [name for name in names if literal_of(name) is not None] == []


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
    assert Zones(allow=[entry]) == Zones(allow=(entry,))


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
    with pytest.raises(ValueError, match="tuple"):
        Zones(allow="10.0.0.0/8")


# The gate -------------------------------------------------------------------------------------------


def refused(gate, host, address) -> str | None:
    try:
        gate.admit(host, address)
    except Refused as error:
        return str(error)
    return None


def starting(host="start.example", at=None, **zones):
    """Give the gate of a crawl that starts at a host, which has answered at an address."""
    gate = AddressGate(Zones(**zones))
    gate.begin(host)
    if at is not None:
        gate.connected(host, at)
    return gate


START, OTHER, WIKI = "start.example", "other.example", "wiki.example"
NOT_PUBLIC = "127.0.0.1 10.0.0.5 169.254.169.254 ::1 ::ffff:127.0.0.1 224.0.0.1"
GATES = [  # a start, and by host the addresses at which it is reached, and at which it is not
    # From a public start only public ones, also if the start changes its address.
    ({"at": "8.8.8.8"}, {OTHER: "1.1.1.1"}, {OTHER: NOT_PUBLIC, START: NOT_PUBLIC}),
    # A private start stays in its zone.
    ({"at": "10.0.0.5"}, {OTHER: "192.168.0.1 8.8.8.8"}, {OTHER: "127.0.0.1", START: "127.0.0.1"}),
    # Before the start has answered, only the start is trusted.
    ({}, {START: "10.0.0.5"}, {OTHER: "10.0.0.5", START: "169.254.169.254 224.0.0.1"}),
    *(  # What is allowed is reached.
        ({"at": "8.8.8.8", "allow": (allow,)}, {WIKI: "10.0.0.5 ::ffff:10.0.0.5"}, others)
        for allow in ("10.0.0.0/8", "10.0.0.5", WIKI, "WIKI.example.", "any")
        for others in [{} if allow == "any" else {OTHER: "127.0.0.1"}]
    ),
    (  # A name that is allowed at a strange address opens no more.
        {"at": "169.254.169.254", "allow": (START,)},
        {START: "169.254.169.254"},
        {OTHER: "169.254.169.254"},
    ),
    *(  # A start that is written as an address is trusted with its zone.
        ({"host": read_url(f"http://{host}/").host}, {host: near}, {OTHER: "10.0.0.5"})
        for host, near in {
            "169.254.1.1": "169.254.9.9",
            "198.18.0.1": "100.64.0.1",
            "127.0.0.1": "127.0.0.9",
            **dict.fromkeys(["localhost", "sub.localhost", "2130706433"], "127.0.0.5"),
        }.items()
    ),
    *(  # A start that is not trusted is like any other.
        ({"host": host, "trust_start": False}, {host: "8.8.8.8"}, {host: "127.0.0.1"})
        for host in ("127.0.0.1", "localhost", START)
    ),
]


@together(("start", "reached", "others"), GATES)
def test_a_crawl_reaches_public_addresses_its_own_zone_and_what_is_allowed(start, reached, others):
    gate = starting(**start)
    for expected, hosts in ((True, reached), (False, others)):
        for host, addresses in hosts.items():
            for address in addresses.split():
                assert (refused(gate, host, address) is None) == expected, (host, address)


def test_the_message_says_why_and_what_permits_it():
    gate = starting(at="8.8.8.8")
    assert refused(gate, "10.0.0.5", "10.0.0.5") == (
        "refused to connect to 10.0.0.5 (a private address): the crawl began at a public address"
        ' (Zones(allow=("10.0.0.5",)) or --allow-network 10.0.0.5 permits it)'
    )
    assert "wiki.example at 10.0.0.5 (a private" in refused(gate, WIKI, "10.0.0.5")
    assert "began at a private address" in refused(starting(at="10.0.0.5"), "x", "::1")
    assert "only public addresses" in refused(starting(trust_start=False), "x", "::1")


def test_a_second_connection_to_another_zone_is_refused_even_if_both_were_let_through():
    gate = starting()
    for address in ("8.8.8.8", "127.0.0.1"):
        gate.admit(START, address)
    gate.connected(START, "8.8.8.8")
    with pytest.raises(Refused):
        gate.connected(START, "127.0.0.1")


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
