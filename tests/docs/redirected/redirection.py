"""Leads connections with the websites of the documentation to servers on this machine."""

import socket

ADDRESSES = {
    "example.org": "93.184.215.14",
    "example.com": "93.184.215.15",
    "example.net": "93.184.215.16",
}
"""The websites of the documentation; nothing is ever sent to these addresses."""

_LOCAL = {"localhost", "127.0.0.1", "::1", None, ""}


DEMO = ("127.0.0.1", 8017)
"""Where ``usp demo --serve`` has the same website."""


class Redirection:
    """Leads connections with the websites of examples to servers on this machine, and no others out."""

    def __init__(self, ports: dict[str, int]) -> None:
        """``ports`` are those of the servers, by host; that of ``DEMO`` is named by its address."""
        addresses = {**ADDRESSES, DEMO[0]: DEMO[0]}
        self.ports = {addresses[host]: port for host, port in ports.items()}
        self.originals = (socket.getaddrinfo, socket.socket.connect, socket.socket.getpeername)

    def begin(self) -> None:
        """Redirect from now on."""
        look_up, connect, peer = self.originals
        hosts = {name: at for host, at in ADDRESSES.items() for name in (host, f"www.{host}")}
        known = _LOCAL | set(hosts.values())
        peers = {("127.0.0.1", port): address for address, port in self.ports.items()}

        def getaddrinfo(host, port, *args, **options):
            name = host.decode() if isinstance(host, bytes) else host
            if name in hosts:
                return look_up(hosts[name], port, *args, **options)
            if name in known:
                return look_up(host, port, *args, **options)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        def redirected_connect(sock, address):
            if address == DEMO or address[0] in hosts.values():
                address = ("127.0.0.1", self.ports[address[0]])
            return connect(sock, address)

        def getpeername(sock):
            found = peer(sock)
            return (peers.get(found, found[0]), *found[1:]) if found else found

        socket.getaddrinfo = getaddrinfo
        socket.socket.connect = redirected_connect
        socket.socket.getpeername = getpeername

    def end(self) -> None:
        """Connect as usual again."""
        socket.getaddrinfo, socket.socket.connect, socket.socket.getpeername = self.originals
