"""Accept connections, many at a time.

libuv, on which uvloop is built, accepts one connection per turn of its loop. Under load a turn takes long, and a new
client would wait for as many turns as there are clients before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

from capsulet.serve.connection import Connection
from capsulet.serve.server import Server

AT_ONCE = 256  # connections that are accepted in one turn
PAUSE = 0.2  # seconds without accepting, if the system has no file descriptors left


class Listener:
    """Accepts the connections of a socket for a server."""

    def __init__(self, server: Server, sock: socket.socket) -> None:
        self.server, self.sock, self.loop = server, sock, asyncio.get_running_loop()
        self.closed = False
        self.resume()

    def resume(self) -> None:
        """Start to accept connections, or start again."""
        if not self.closed:
            self.loop.add_reader(self.sock.fileno(), self.accept)

    def accept(self) -> None:
        """Accept the connections that wait."""
        for _ in range(AT_ONCE):
            try:
                client, _ = self.sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptors
                self.loop.remove_reader(self.sock.fileno())
                self.loop.call_later(PAUSE, self.resume)
                return
            client.setblocking(False)
            self.server.run(self.connect(client))

    async def connect(self, client: socket.socket) -> None:
        """Serve an accepted connection."""
        try:
            await self.loop.connect_accepted_socket(lambda: Connection(self.server), client)
        except OSError:  # the client has left
            client.close()

    def close(self) -> None:
        """Stop accepting connections."""
        self.closed = True
        self.loop.remove_reader(self.sock.fileno())
        with contextlib.suppress(OSError):
            self.sock.close()
