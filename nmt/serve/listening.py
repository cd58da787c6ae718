"""The listening socket: where the server is found, and how it stops taking connections without losing one."""

import ctypes
import socket
import struct
from contextlib import suppress

from nmt.errors import ConfigError

BACKLOG = 4096  # connections that wait to be accepted
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27  # Linux; Python's socket module does not name them


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at the address. Several processes may share it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # for this protocol, asyncio turns off Nagle's algorithm, with which answers wait 40 ms for the client
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"cannot listen at host={host} port={port} ({reason}); choose another port=, or stop the program that "
            "has it"
        ) from None
    found.set_inheritable(True)
    return found


def url_of(bound: socket.socket) -> str:
    """The URL at which a browser on this machine finds the server."""
    host, port = bound.getsockname()[:2]
    here = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{here}:{port}"


def ignore_new_connections(bound: socket.socket) -> None:
    """From now on, Linux drops requests for new connections at this socket; elsewhere, nothing changes.

    Closing the socket resets connections that clients have opened but that nobody has accepted. After this call no more
    of them come, so all can be accepted first. A client whose request was dropped repeats it a second later, and then
    finds the port closed, or the next server.
    """
    program = [
        (0x30, 0, 0, 13),  # load the byte of the TCP header that holds the flags
        (0x45, 0, 1, 0x02),  # SYN, which opens a connection?
        (0x06, 0, 0, 0),  # yes: drop the packet
        (0x06, 0, 0, 0xFFFFFFFF),  # no: keep it
    ]  # struct sock_filter of linux/filter.h
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    with suppress(OSError):
        bound.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(code)))


def take_new_connections(bound: socket.socket) -> None:
    """Undoes `ignore_new_connections`, which another process that shares the socket may have called before it ended."""
    with suppress(OSError):
        bound.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
