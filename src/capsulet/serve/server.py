"""The server of one process: connections, requests, deadlines, new models and the end."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from itertools import islice
from typing import Any, NamedTuple

from capsulet.errors import CapsuletError
from capsulet.serve.connection import Connection
from capsulet.serve.gathering import Engine, Job, Queue
from capsulet.serve.log import Log
from capsulet.serve.messages import NDJSON, STATUSES, RefusalError, Request, Response, overloaded
from capsulet.serve.metrics import Metrics
from capsulet.serve.models import Answers, Model, Models
from capsulet.serve.security import Gate
from capsulet.serve.settings import Settings

SWEEP = 0.5  # seconds between two checks of the deadlines and of the model files
GRACE = 0.3  # seconds after SIGTERM in which new connections are accepted
QUIET = 0.2  # seconds; a client that was quiet for so long is not about to send a request
LONGEST_TURN = 0.05  # seconds of an iteration of the event loop after which connections must wait
LOOKED_AT = 64  # connections that are searched for an idle one
VERSION = re.compile("^versions/1(/|$)")  # of a model in the Open Inference Protocol
STREAM_BUFFER = 4_000_000  # bytes of answers that the client of a stream may leave unread while it still sends lines


class Question(NamedTuple):
    """Texts for a model, and the function that makes a response from their answers."""

    model: Model
    texts: list[str]
    finish: Callable[[Answers], Response]
    abstain: bool = False


Outcome = Response | Question | Awaitable[Response]


class Route(NamedTuple):
    """The function that answers a path, and the one that makes its error responses in the shape that clients expect."""

    name: str  # the path, with {model} for its variable part
    methods: dict[str, Callable[[Any, Request], Outcome]]
    failure: Callable[[RefusalError], Response]
    is_open: bool = False  # needs no token


class Server:
    """Answers the requests of all connections of this process."""

    def __init__(
        self, settings: Settings, models: Models, engine: Engine, routes: dict[str, Route], metrics: Metrics, log: Log
    ) -> None:
        self.settings, self.models, self.engine, self.metrics, self.log = settings, models, engine, metrics, log
        self.routes = routes
        self.loop = asyncio.get_running_loop()
        self.queue = Queue(engine, settings)
        self.gate = Gate(settings)
        self.connections: OrderedDict[Connection, None] = OrderedDict()  # the longest idle ones first
        self.tasks: set[asyncio.Task[Any]] = set()
        self.streaming = 0  # open streams
        self.buffered = 0  # bytes of unfinished requests and unread answers
        self.draining = False
        self.turn_began = 0.0  # when the first request of this iteration of the loop was read
        self.resting: list[Connection] = []  # not read until the next iteration
        self.date = b""
        self.set_date()

    # ---- connections ----

    def add(self, connection: Connection) -> None:
        """Keep a new connection; with too many, close the one that is idle for the longest time."""
        self.connections[connection] = None
        if len(self.connections) > self.settings.max_connections:
            oldest = next((other for other in islice(self.connections, LOOKED_AT) if other.idle), None)
            if oldest is not None and oldest is not connection:
                oldest.transport.abort()
                self.remove(oldest)
            else:
                connection.give_up(overloaded(f"{self.settings.max_connections:,} connections are open"))

    def touch(self, connection: Connection) -> None:
        """Note that a connection was just used."""
        if connection in self.connections:
            self.connections.move_to_end(connection)

    def take_turns(self, connection: Connection) -> None:
        """Stop reading from a connection until the next iteration of the event loop, if this one has taken long.

        An iteration lasts as long as connections have data to read. Meanwhile new connections, timers and the results
        of threads wait.
        """
        if not self.turn_began:
            self.turn_began = time.perf_counter()
            self.loop.call_soon(self.end_turn)
        elif time.perf_counter() - self.turn_began > LONGEST_TURN and not connection.closed:
            connection.transport.pause_reading()
            self.resting.append(connection)

    def end_turn(self) -> None:
        """Read again from the connections that `take_turns` has stopped."""
        self.turn_began = 0.0
        resting, self.resting = self.resting, []
        for connection in resting:
            if not connection.closed and not connection.waiting and not connection.stream:
                connection.transport.resume_reading()

    def remove(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self.connections.pop(connection, None)

    # ---- requests ----

    def streams(self, request: Request) -> bool:
        """Whether the body of a request is read while it arrives."""
        return request.method == "POST" and request.path == "/v1/classify" and request.content_type == NDJSON

    def find(self, request: Request) -> Route:
        """The route of a path; the third part of paths below /v2/models is the name of a model, with one version."""
        route = self.routes.get(request.path)
        if route is None and request.path.startswith("/v2/models/"):
            name, _, rest = request.path[len("/v2/models/") :].partition("/")
            request.path_variable, rest = name, VERSION.sub("", rest)
            route = self.routes.get("/v2/models/{model}" + ("/" + rest if rest else ""))
        if route is None and request.path.startswith("/page/"):
            route = self.routes.get("/page/{name}")
            request.path_variable = request.path[len("/page/") :]
        return route or self.routes[""]

    def handle(self, connection: Connection, request: Request) -> None:
        """Answer a request: at once, in the queue, or in a task."""
        route = self.find(request)

        def respond(outcome: Response | Exception) -> None:
            request.close = request.close or request.stream is not None  # the rest of the body is not read
            response = outcome if isinstance(outcome, Response) else self.failure(route, outcome)
            self.record(route, request, response.status)
            connection.respond(self.gate.marked(request, response))

        try:
            outcome = self.outcome(route, request, connection)
        except Exception as error:
            return respond(error)
        if outcome is None:
            return None
        if isinstance(outcome, Response):
            return respond(outcome)
        if isinstance(outcome, Question):
            return self.ask(outcome, request, connection, respond)
        return self.run(self.respond_later(outcome, respond))

    def outcome(self, route: Route, request: Request, connection: Connection) -> Outcome | None:
        """Check a request and call the function of its route; None if the answer has begun as a stream."""
        if request.refusal:
            raise request.refusal
        if preflight := self.gate.preflight(request, route.methods):
            return preflight
        self.gate.check(request, route.is_open)
        if self.buffered > self.settings.max_buffered:
            raise overloaded("too many bytes of answers wait for their clients")
        method = "GET" if request.method == "HEAD" else request.method
        if method not in route.methods:
            allowed = ", ".join(sorted(route.methods))
            raise RefusalError(405, f"the method is {request.method[:20]}: expected {allowed}", {"allow": allowed})
        if request.stream:
            self.stream(connection, request, route)
            return None
        return route.methods[method](self, request)

    def ask(
        self, question: Question, request: Request, connection: Connection,
        respond: Callable[[Response | Exception], None],
    ) -> None:  # fmt: skip
        """Put the texts of a request into the queue."""
        request.texts = len(question.texts)

        def done(answers: Answers | Exception) -> None:
            if isinstance(answers, Exception):
                return respond(answers)
            self.metrics.count_texts(question.model.name, len(question.texts))
            try:
                response = question.finish(answers)
            except Exception as error:
                return respond(error)
            self.log.texts(question.texts)
            return respond(response)

        job = Job(question.model, question.texts, question.abstain, done, lambda: not connection.closed)
        try:
            self.queue.submit(job)
        except RefusalError as refusal:
            respond(refusal)

    async def respond_later(self, work: Awaitable[Response], respond: Callable[[Response | Exception], None]) -> None:
        """Respond when the work is done."""
        try:
            outcome: Response | Exception = await work
        except Exception as error:
            outcome = error
        respond(outcome)

    async def answers(self, model: Model, texts: list[str], abstain: bool = False) -> Answers:
        """Wait in the queue, and return the answers of a model."""
        found = await self.queue.answers(model, texts, abstain)
        self.metrics.count_texts(model.name, len(texts))
        self.log.texts(texts)
        return found

    async def stream_answers(self, model: Model, texts: list[str], abstain: bool) -> Answers:
        """Answers for a stream, which waits while the queue is full."""
        while True:
            try:
                return await self.answers(model, texts, abstain)
            except RefusalError as refusal:  # noqa: PERF203 - it waits half a second
                if refusal.status != 503 or self.draining:
                    raise
                await asyncio.sleep(SWEEP)

    def run(self, work: Any) -> None:
        """Run a task."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def stream(self, connection: Connection, request: Request, route: Route) -> None:
        """Begin to answer a stream of JSON lines."""
        from capsulet.serve.shapes.own import LineShape

        if self.streaming >= self.settings.max_streams:
            raise overloaded(f"{self.streaming} streams are open, which is the maximum")
        shape = LineShape(self, request)
        self.run(self.stream_lines(connection, request, route, shape))

    async def stream_lines(self, connection: Connection, request: Request, route: Route, shape: Any) -> None:
        """Write the head of a stream, a line per line, and the end."""
        from capsulet.serve.streams import answer_lines

        self.streaming += 1
        close = request.close or self.draining or not request.chunks
        connection.transport.set_write_buffer_limits(high=STREAM_BUFFER, low=0)
        connection.transport.write(self.head(request, self.gate.marked(request, Response(b"", NDJSON)), close, None))
        try:
            await answer_lines(self, connection, request.stream, shape)
            self.record(route, request, 200)
            connection.end_lines(close)
        except ConnectionResetError:
            connection.transport.abort()
        except Exception as error:
            failure = self.failure(route, error)
            self.record(route, request, failure.status)
            connection.write_lines([failure.body + b"\n"])
            connection.end_lines(True)
        finally:
            self.streaming -= 1

    def failure(self, route: Route, error: Exception) -> Response:
        """The response to a request that fails."""
        if not isinstance(error, RefusalError):
            self.log.error(error)
            error = RefusalError(500, "the server failed; its log has the reason")
        response = route.failure(error)
        response.headers = {**(response.headers or {}), **error.headers}
        return response

    def record(self, route: Route, request: Request, status: int) -> None:
        """Count and log a request."""
        seconds = time.perf_counter() - request.since
        self.metrics.count_request(route.name, status, seconds)
        self.log.request(request.method, route.name, status, seconds, request.texts)

    def head(self, request: Request, response: Response, close: bool, size: int | None = -1) -> bytes:
        """The head of a response; a size of None means that it is not known in advance."""
        lines = [
            b"HTTP/1.1 %d %b\r\n" % (response.status, STATUSES[response.status].encode()), self.date, self.gate.headers,
        ]  # fmt: skip
        if response.status != 204:
            lines.append(b"content-type: %b\r\n" % response.content_type.encode())
            if size is not None:
                lines.append(b"content-length: %d\r\n" % len(response.body))
            elif request.chunks:
                lines.append(b"transfer-encoding: chunked\r\n")
        if response.headers:
            lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in response.headers.items()]
        if close:
            lines.append(b"connection: close\r\n")
        lines.append(b"\r\n")
        return b"".join(lines)

    # ---- time ----

    def set_date(self) -> None:
        """Renew the header Date."""
        self.date = b"date: %b\r\n" % formatdate(time.time(), usegmt=True).encode()

    async def sweep(self) -> None:
        """Close connections whose deadline has passed, and load new models."""
        while True:
            await asyncio.sleep(SWEEP)
            self.set_date()
            now = self.loop.time()
            for connection in list(self.connections):
                connection.expire(now)
            self.metrics.set_gauges(self.queue.waiting, len(self.connections))
            await self.reload()

    async def reload(self) -> None:
        """Load models whose files have changed; a broken file is refused and the old model stays."""
        for old in await self.engine.call(self.models.changed):
            try:
                new = await self.engine.call(self.models.renewed, old)
                await self.engine.prepare(new)
            except CapsuletError as error:
                self.metrics.count_reload(old.name, False)
                self.log.say(f"{old.name}: the new model is refused, the old one stays: {error}")
                continue
            self.models.replace(new)
            self.metrics.count_reload(new.name, True)
            self.log.say(f"{new.name}: loaded the new model, {len(new.labels)} labels, {len(new.data):,} bytes")

    # ---- the end ----

    async def drain(self, listener: Any) -> None:
        """Finish the accepted requests and close.

        Responses now ask clients to close. For a moment, new connections are still accepted, and clients that are just
        sending get their answers. Then the rest is closed.
        """
        self.draining = True
        await asyncio.sleep(GRACE)
        refuse_new_connections(listener.sock)
        await asyncio.sleep(QUIET)  # the connections that are in the queue of the socket
        listener.close()
        end = self.loop.time() + self.settings.timeout
        while self.connections and self.loop.time() < end:
            quiet = self.loop.time() - QUIET
            for connection in list(self.connections):
                if connection.idle and connection.quiet_since < quiet and not unread(connection):
                    connection.transport.close()
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.transport.abort()
        await self.engine.close()


def refuse_new_connections(sock: socket.socket) -> None:
    """Let the system drop requests for new connections, and keep those that it has already made or is making.

    Closing a listening socket would cut off the connections that wait in its queue. On Linux, a filter that drops the
    first packet of a connection does not; clients then try again and find the socket closed, or another server. The
    last packet of a handshake must pass: for its client the connection exists, and it sends its request.
    """
    with contextlib.suppress(OSError, AttributeError, ImportError):
        import ctypes

        # classic BPF on the TCP header: load the flags; if SYN is set, drop the packet, otherwise keep all of it
        steps = [(0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFF_FFFF)]
        drop_syn = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        program = struct.pack("HL", len(steps), ctypes.addressof(drop_syn))
        sock.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER


def unread(connection: Connection) -> int:
    """Bytes that a client has sent and the server has not read."""
    sock = connection.transport.get_extra_info("socket")
    try:
        import fcntl
        import termios

        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0\0\0\0"))[0])
    except (ImportError, OSError, ValueError):  # not on Windows
        return 0
