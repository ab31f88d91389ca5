"""One connection of HTTP/1.1: reads requests within limits and deadlines, and writes responses in their order."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from capsulet.serve.messages import RefusalError, Request, Response, overloaded
from capsulet.serve.streams import BodyStream

if TYPE_CHECKING:
    from capsulet.serve.server import Server

LONGEST_HEAD = 32_768  # bytes of the head of a request
LINGER = 2.0  # seconds for a client that is still sending to read the last response
LONGEST_WRITE = 65_536  # bytes of a response in memory from which on no further request is read


class Connection(asyncio.Protocol):
    """One client. The parser calls the methods `on_…`."""

    def __init__(self, server: Server) -> None:
        self.server, self.settings = server, server.settings
        self.transport: Any = None
        self.parser: Any = HttpRequestParser(self)
        self.waiting: deque[Request] = deque()  # complete requests behind the one that is answered
        self.current: Request | None = None  # the request that is answered
        self.stream: BodyStream | None = None  # of the body that arrives
        self.incoming: Request | None = None  # its head is complete
        self.begun = False  # some bytes of a request have arrived
        self.discarding = False  # after the last request
        self.closed = self.full = False  # full: the client does not read
        self.deadline = self.quiet_since = 0.0
        self.head_bytes = self.head_size = self.body_bytes = self.unsent = 0
        self.upgrading = False  # the head is read again without the header Upgrade
        self.method = self.target = b""
        self.headers: dict[bytes, bytes] = {}
        self.parts: list[bytes] = []

    # ---- events of the transport ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.transport.set_write_buffer_limits(high=LONGEST_WRITE, low=0)
        self.quiet_since = self.server.loop.time()
        self.deadline = self.quiet_since + self.settings.timeout
        self.server.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self.count_body(0)
        self.count_unsent(0)
        self.waiting.clear()
        if self.stream:
            self.stream.fail()
        self.parser = None  # which refers to this connection: it is freed at once
        self.server.remove(self)

    def data_received(self, data: bytes) -> None:
        if self.discarding:
            return
        if not self.begun:
            self.begun = True
            if not self.current:
                self.deadline = self.server.loop.time() + self.settings.timeout
        if self.incoming is None:
            self.head_bytes += len(data)
        self.feed(data)
        if self.incoming is None and self.begun and self.head_bytes > LONGEST_HEAD:
            self.give_up(RefusalError(431, f"the head of the request has more than {LONGEST_HEAD:,} bytes: shorten it"))
        if self.waiting:
            self.transport.pause_reading()
        elif not self.stream:
            self.server.take_turns(self)

    def feed(self, data: bytes) -> None:
        """Give bytes to the parser, which calls the methods `on_…`."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            if not self.upgrading:  # CONNECT, which is refused
                self.discarding = True
                return
            self.upgrading, self.parser = False, HttpRequestParser(self)
            self.feed(self.head_without_upgrade() + data[upgrade.args[0] :])
        except HttpParserCallbackError as error:
            self.server.log.error(error.__context__ or error)
            self.transport.abort()
        except HttpParserError:
            self.give_up(RefusalError(400, "the request is not HTTP/1.1"))

    def head_without_upgrade(self) -> bytes:
        """The head of the last request without its header Upgrade, which HTTP allows to ignore.

        The parser would read the body as the other protocol. Java's HTTP client sends this header with every request.
        """
        connection = b"close" if b"close" in self.headers.get(b"connection", b"").lower() else b"keep-alive"
        headers = {**self.headers, b"connection": connection}
        lines = [b"%b: %b" % (name, value) for name, value in headers.items() if name != b"upgrade"]
        return b"\r\n".join([b"%b %b HTTP/1.1" % (self.method, self.target), *lines, b"", b""])

    def eof_received(self) -> bool:
        if self.stream and not self.stream.ended:
            self.stream.fail()
        if self.current or self.waiting:  # a client may close its side and still read
            self.discarding = True
            return True
        return False

    def pause_writing(self) -> None:
        self.full = True
        self.deadline = self.server.loop.time() + self.settings.timeout
        self.count_unsent(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self.full = False
        self.count_unsent(0)
        if self.stream:
            self.stream.resume()
        elif not self.current:
            self.set_idle()
            self.next()

    # ---- events of the parser ----

    def on_message_begin(self) -> None:
        self.begun, self.incoming, self.target, self.headers, self.parts = True, None, b"", {}, []
        self.head_size = 0

    def on_url(self, part: bytes) -> None:
        self.target += part
        self.head_size += len(part)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value
        self.head_size += len(name) + len(value) + 4

    def on_headers_complete(self) -> None:
        if self.discarding:
            return None
        self.method = self.parser.get_method()
        if self.parser.should_upgrade() and self.method != b"CONNECT":
            self.upgrading = True
            return None
        request = Request(self.method.decode("latin-1"), origin_form(self.target), self.headers, time.perf_counter())
        request.close = not self.parser.should_keep_alive()
        request.chunks = self.parser.get_http_version() >= "1.1"
        self.incoming, self.head_bytes = request, 0
        if self.head_size > LONGEST_HEAD:
            return self.give_up(long_head())
        size = int(self.headers.get(b"content-length") or 0)
        if self.server.streams(request) and not self.current:
            self.stream = request.stream = BodyStream(self)
        elif size > self.settings.max_body:
            return self.give_up(too_large(self.settings.max_body))
        elif self.server.buffered + size > self.settings.max_buffered:
            return self.give_up(overloaded("too many bytes of unfinished requests are in memory"))
        if self.headers.get(b"expect", b"").lower() == b"100-continue" and not self.current:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self.stream:
            self.begin(request)
        return None

    def on_body(self, part: bytes) -> None:
        if self.discarding:
            return
        if self.stream:
            self.stream.feed(part)
            return
        self.parts.append(part)
        self.count_body(self.body_bytes + len(part))
        if self.body_bytes > self.settings.max_body:
            self.give_up(too_large(self.settings.max_body))
        elif self.server.buffered > self.settings.max_buffered:
            self.give_up(overloaded("too many bytes of unfinished requests are in memory"))

    def on_message_complete(self) -> None:
        if self.discarding or self.incoming is None or self.upgrading:
            return
        request, self.incoming, self.begun = self.incoming, None, False
        if self.stream:
            self.stream.end()
            return
        request.body = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        self.parts = []
        self.count_body(0)
        if self.current or self.waiting or self.full:
            self.waiting.append(request)
        else:
            self.begin(request)

    # ---- answers ----

    def begin(self, request: Request) -> None:
        """Answer a request."""
        self.current, self.deadline = request, 0.0
        self.server.handle(self, request)

    def give_up(self, refusal: RefusalError) -> None:
        """After the earlier requests are answered, answer that this one cannot be read, and read no more."""
        if self.discarding:
            return
        self.discarding = True
        self.parts = []
        self.count_body(0)
        request = self.incoming or Request("", b"*", {}, time.perf_counter())
        request.refusal, request.close = refusal, True
        if self.stream:
            self.stream.fail()
        elif self.current:
            self.waiting.append(request)
        else:
            self.begin(request)

    def respond(self, response: Response) -> None:
        """Write the response of the current request, and go on to the next one."""
        request = self.current
        if self.closed or request is None:
            return
        close = request.close or self.server.draining
        head = self.server.head(request, response, close)
        if request.method != "HEAD" and response.status != 204:
            head += response.body
        self.transport.write(head)
        self.finish(close)

    def finish(self, close: bool) -> None:
        """End the current response."""
        self.current = None
        if self.stream:
            self.stream = None
            self.transport.resume_reading()
        if close or (self.discarding and not self.waiting):
            return self.close_gently()
        self.set_idle()
        if self.waiting and not self.full:
            self.server.loop.call_soon(self.next)
        return None

    def next(self) -> None:
        """Answer the next waiting request."""
        if self.waiting and not self.current and not self.closed and not self.full:
            request = self.waiting.popleft()
            if not self.waiting:
                self.transport.resume_reading()
            self.begin(request)

    def set_idle(self) -> None:
        """Set the deadline for the rest of the next request, or for its beginning."""
        self.server.touch(self)
        if not self.full:
            self.quiet_since = self.server.loop.time()
            self.deadline = self.quiet_since + (self.settings.timeout if self.begun else self.settings.keep_alive)

    def close_gently(self) -> None:
        """Close after the last response. Until the client has it, what the client still sends is read and ignored."""
        self.discarding = True
        self.waiting.clear()
        if self.transport.is_closing():
            return
        self.deadline = self.server.loop.time() + (self.settings.timeout if self.full else LINGER)
        if self.begun or self.incoming:
            self.transport.write_eof()
            self.transport.resume_reading()
        else:
            self.transport.close()

    def expire(self, now: float) -> None:
        """Close the connection if its deadline has passed."""
        if not self.deadline or now < self.deadline:
            return
        if self.full or self.discarding or self.stream:
            self.transport.abort()
        elif self.begun and not self.current:
            self.give_up(
                RefusalError(408, f"the request did not arrive within {self.settings.timeout} seconds: send it again")
            )
        else:
            self.transport.close()

    @property
    def idle(self) -> bool:
        """Whether no request is being read or answered."""
        return not (self.current or self.waiting or self.begun or self.closed)

    # ---- bytes in memory ----

    def count_body(self, size: int) -> None:
        """Count the bytes of the body that arrives."""
        self.server.buffered += size - self.body_bytes
        self.body_bytes = size

    def count_unsent(self, size: int) -> None:
        """Count the bytes that the client has not read."""
        self.server.buffered += size - self.unsent
        self.unsent = size

    def write_lines(self, lines: Iterable[bytes]) -> None:
        """Write some lines of a stream, as one chunk if the client reads chunks."""
        data = b"".join(lines)
        if data and not self.closed and self.current:
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data) if self.current.chunks else data)

    def end_lines(self, close: bool) -> None:
        """End a stream; without chunks, the end of the connection is its end."""
        if self.closed or self.current is None:
            return
        if self.current.chunks:
            self.transport.write(b"0\r\n\r\n")
        self.finish(close or not self.current.chunks)


def origin_form(target: bytes) -> bytes:
    """Path and query of the target of a request, which a proxy may give with scheme and host."""
    if target.startswith(b"/") or b"://" not in target:
        return target
    return b"/" + target.split(b"://", 1)[1].partition(b"/")[2]


def too_large(most: int) -> RefusalError:
    """The refusal of a body that is too large."""
    return RefusalError(
        413, f"the body has more than {most:,} bytes: send fewer texts at a time, or a stream of JSON lines"
    )


def long_head() -> RefusalError:
    """The refusal of a head that is too long."""
    return RefusalError(431, f"the head of the request has more than {LONGEST_HEAD:,} bytes: shorten it")
