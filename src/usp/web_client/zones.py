"""Which addresses a crawl may connect to: a website must not lead it into a private network."""

from __future__ import annotations

import contextlib
import enum
import functools
import ipaddress
import re
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from usp._base.reason import Reason, Topic, advised
from usp._base.urls import BadUrl, read_host
from usp.objects.failure_codes import FailureCode

__all__ = ["Zones"]

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


class Refused(Exception):  # noqa: N818 - says what happened, as the other names here do
    """An address that a crawl may not connect to; the reason says why, and how to allow it."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Zone(enum.Enum):
    """Where an address is; the value is what a message calls it."""

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    SPECIAL = "special-purpose"


@dataclass(frozen=True, kw_only=True)
class Zones:
    """What a crawl may connect to, in addition to public addresses.

    ``allow`` lists networks (``"10.0.0.0/8"``), addresses and hosts; ``"any"`` allows everything.
    With ``trust_start``, a crawl that begins in a private network, or on this machine, may connect to
    everything there. Without it, the start is trusted no more than any other address.
    """

    allow: tuple[str, ...] = ()
    trust_start: bool = True

    def __post_init__(self) -> None:
        given: object = self.allow
        if isinstance(given, str):
            raise ValueError(  # noqa: TRY004 - as every other entry that makes no sense
                f"allow must be a tuple of networks, addresses and host names: ({given!r},)"
            )
        object.__setattr__(self, "allow", tuple(self.allow))
        for entry in self.allow:
            _read(entry)


_DEFAULT = Zones()
_ANY = "any"
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)(?!.*\.[0-9]+\Z)[\w-]{1,63}(\.[\w-]{1,63})*")


def _read(entry: str) -> _IPNetwork | str:
    text = entry.strip() if isinstance(entry, str) else ""
    try:
        return ipaddress.ip_network(text.strip("[]"))
    except ValueError as error:
        reason = f" ({error})" if "/" in text and "host bits" in str(error) else ""
    name = _name(text)
    if not _HOST_NAME.fullmatch(name) or name.isdigit():
        raise ValueError(
            f"{entry!r} is not a network such as '10.0.0.0/8', an address or a host name{reason}"
        )
    return name


def _name(host: str) -> str:
    try:
        return read_host(host)
    except BadUrl:
        return host.strip("[]").rstrip(".").lower()


# Addresses ------------------------------------------------------------------------------------------

_TABLE = {
    Zone.LOOPBACK: "127.0.0.0/8 0.0.0.0/32 ::1/128 ::/128",  # connecting to nowhere means: here
    Zone.PRIVATE: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
    Zone.LINK_LOCAL: "169.254.0.0/16 fe80::/10",
    Zone.SPECIAL: (
        "0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15"
        " 168.63.129.16/32"  # Azure's own services, as seen from its machines
        " 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 2001::/23 2001:db8::/32 3fff::/20"
    ),
    Zone.PUBLIC: "0.0.0.0/0 2000::/3",  # no other IPv6 addresses are assigned
}
_NETWORKS = [
    (ipaddress.ip_network(network), zone)
    for zone, line in _TABLE.items()
    for network in line.split()
]
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_IN_COMPATIBLE = 1 << 16  # below are :: and ::1, and nothing that was ever an IPv4 address


@functools.lru_cache(maxsize=1024)
def zone_of(address: IPAddress) -> Zone:
    """Return the zone of an address; for an embedded IPv4 address, the zone of that one."""
    address = _inside(address)
    return next((zone for network, zone in _NETWORKS if address in network), Zone.SPECIAL)


def _inside(address: IPAddress) -> IPAddress:
    """Return the IPv4 address embedded in an IPv6 address, if there is one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if (inside := address.ipv4_mapped or address.sixtofour) is not None:
        return inside
    if address.teredo is not None:
        return address.teredo[1]
    plain = ipaddress.IPv6Address(int(address))  # without the name of an interface
    if plain in _NAT64 or (plain in _COMPATIBLE and int(plain) >= _IN_COMPATIBLE):
        return ipaddress.IPv4Address(int(plain) & 0xFFFF_FFFF)
    return address


@functools.lru_cache(maxsize=1024)
def literal_of(host: str) -> IPAddress | None:
    """Return the address if a host is an IP address in any notation of resolvers, else None."""
    text = host.strip("[]")
    for read in (str, read_host):
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(read(text))
    return None


def look_up(host: str) -> list[str]:
    """Return the addresses of a host; none if there is no such host, as its session will say."""
    literal = literal_of(host)
    if literal is not None:
        return [str(literal)]
    with contextlib.suppress(OSError, UnicodeError):
        return [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    return []


_PRIVATE_NAMES = ("local", "internal", "localdomain", "lan", "home", "corp", "intranet", "arpa")
_LOCAL_NAMES = {"localhost": Zone.LOOPBACK, **dict.fromkeys(_PRIVATE_NAMES, Zone.PRIVATE)}


def _zone_of_name(host: str) -> Zone:
    """Return the zone of a host by its name: for hosts that are not looked up here."""
    _, dot, last = _name(host).rpartition(".")
    # A name without a dot is one of this network: nas, router, metadata.
    return _LOCAL_NAMES.get(last, Zone.PUBLIC if dot else Zone.PRIVATE)


# The gate -------------------------------------------------------------------------------------------

_TRUSTED = frozenset({Zone.LOOPBACK, Zone.PRIVATE})


class AddressGate:
    """Decides to which addresses one crawl may connect. Thread-safe.

    Public addresses are always allowed, and so is what :class:`Zones` allows. Once the first host
    has been connected to, its zone is allowed if it is this machine or a private network; if the host
    is an IP address, its zone is known from the beginning. Hosts are written as in ``HttpUrl``.
    """

    def __init__(self, zones: Zones | None = None) -> None:
        self._zones = zones or _DEFAULT
        self._names: set[str] = set()
        self._networks: list[_IPNetwork] = []
        for entry in map(_read, self._zones.allow):
            self._names.add(entry) if isinstance(entry, str) else self._networks.append(entry)
        self._any = _ANY in self._names
        self._lock = threading.Lock()
        self._start: str | None = None
        self._zone: Zone | None = None

    def __reduce__(self) -> tuple[type, tuple[Zones]]:
        """Return what makes another gate, which does not know where this one began."""
        return AddressGate, (self._zones,)

    def begin(self, host: str) -> None:
        """Set the host at which the crawl starts, unless it is set already."""
        with self._lock:
            if self._start is not None:
                return
            self._start = host
            literal = literal_of(host)
            if literal is not None:
                self._zone = zone_of(literal)
            elif host.rpartition(".")[2] == "localhost":
                self._zone = Zone.LOOPBACK

    def admit(self, host: str, address: str) -> None:
        """Raise :class:`Refused` if a host may not be connected to at this address."""
        self._judge(host, _address(address))

    def admitted(self, host: str, addresses: Iterable[str]) -> list[str]:
        """Return those addresses at which a host may be connected to; raises if it is none of them."""
        allowed, refusals = [], []
        for address in addresses:
            try:
                self.admit(host, address)
                allowed.append(address)
            except Refused as error:
                refusals.append(error)
        if refusals and not allowed:
            raise refusals[0]
        return allowed

    def connected(self, host: str, address: str) -> None:
        """Record the peer of a connection; raises :class:`Refused` if it is not allowed."""
        with self._lock:
            self._judge(host, _address(address), learn=True)

    def admit_name(self, host: str) -> None:
        """Raise :class:`Refused` if a host may not be requested from a proxy."""
        with self._lock:
            self._judge(host, literal_of(host), learn=True)

    def _judge(self, host: str, address: IPAddress | None, *, learn: bool = False) -> None:
        zone = _zone_of_name(host) if address is None else zone_of(address)
        trusts, at_start = self._zones.trust_start, self._zone is None and host == self._start
        if not (
            self._any
            or zone is Zone.PUBLIC
            or (trusts and self._zone is zone)
            or (trusts and at_start and zone in _TRUSTED)
            or host in self._names
            or (
                address is not None
                and any(form in n for n in self._networks for form in (address, _inside(address)))
            )
        ):
            raise Refused(self._refusal(host, address, zone))
        if learn and at_start:
            # Link-local and special-purpose zones are not a network to trust.
            self._zone = zone if zone in _TRUSTED else Zone.PUBLIC

    def _refusal(self, host: str, address: IPAddress | None, zone: Zone) -> Reason:
        entry, kind = (host, "name") if address is None else (str(address), "address")
        is_name = address is not None and literal_of(host) is None
        at = f"{host} at {entry}" if is_name else entry
        if not self._zones.trust_start:
            why = "only public addresses are trusted"
        elif self._zone is None:
            why = "it is not where the crawl began"
        else:
            why = f"the crawl began at a {self._zone.value} address"
        text = f"refused to connect to {at} (a {zone.value} {kind}): {why}"
        return advised(FailureCode.ADDRESS_REFUSED, text, Topic.ALLOW_NETWORK, entry)


@functools.lru_cache(maxsize=1024)
def _address(text: str) -> IPAddress:
    return ipaddress.ip_address(text)
