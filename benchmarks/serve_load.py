"""A client for benchmarks of servers: many connections in one event loop, closed or open, that check every answer.

    python -m benchmarks.serve_load PORT TEXTS.json [options]

TEXTS.json is a list of texts, or of [text, label] pairs; with labels, every answer is compared. A closed load sends the
next request of a connection when the last one is answered. An open load (`--rate`) sends so many requests per second,
on as many connections as that takes. The result is one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

MOST_CONNECTIONS = 2000


class Load:
    """Requests to send, and what came back."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.port, self.size = arguments.port, arguments.size
        rows = json.loads(Path(arguments.texts).read_text())
        pairs = [(row, None) if isinstance(row, str) else tuple(row) for row in rows]
        self.requests = [
            self.request([text for text, _ in pairs[start : start + self.size]], arguments)
            for start in range(0, len(pairs) - self.size + 1, self.size)
        ]
        labels = [label for _, label in pairs]
        self.labels = [labels[start : start + self.size] for start in range(0, len(pairs) - self.size + 1, self.size)]
        self.checked, self.field = pairs[0][1] is not None, arguments.field
        self.next = 0
        self.ending = False
        self.clear()

    def clear(self) -> None:
        """Forget what came back so far."""
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.wrong = self.lost = self.unsent = 0

    def request(self, texts: list[str], arguments: argparse.Namespace) -> bytes:
        """The bytes of a request."""
        body = json.dumps({arguments.field: texts if self.size > 1 else texts[0]}).encode()
        head = f"POST {arguments.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

    def answered(self, number: int, status: int, head: bytes, body: bytes, seconds: float) -> None:
        """Count and check an answer; times are those of right answers, not of refusals."""
        self.statuses[status] += 1
        if status == 503:
            self.wrong += b"\r\nretry-after: " not in head
            return
        self.seconds.append(seconds)
        if status == 200 and self.checked:
            labels = [row["label"] for row in json.loads(body)["results"]]
            self.wrong += labels != self.labels[number]


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load, again: bool) -> None:
        self.load, self.again, self.number, self.buffer = load, again, -1, b""
        self.transport: Any = None
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        if self.again:
            self.send()

    def send(self) -> None:
        """Send the next request."""
        self.number, self.buffer = self.load.next % len(self.load.requests), b""
        self.load.next += 1
        self.sent = time.perf_counter()
        self.transport.write(self.load.requests[self.number])

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) < length:
            return
        self.load.answered(self.number, int(head[9:12]), lower, body, time.perf_counter() - self.sent)
        self.number = -1
        if b"connection: close" in lower:
            self.closed = True
            self.transport.close()
        elif self.again and not self.load.ending:
            self.send()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if self.number >= 0 and not self.load.ending:
            self.load.lost += 1


async def closed_load(load: Load, clients: int) -> list[Client]:
    """Open connections that send all the time."""
    loop, found = asyncio.get_running_loop(), []
    for _ in range(clients):
        _, client = await loop.create_connection(lambda: Client(load, True), "127.0.0.1", load.port)
        found.append(client)
    return found


async def open_load(load: Load, rate: float, seconds: float) -> list[Client]:
    """Send requests at a rate for some time."""
    loop, clients = asyncio.get_running_loop(), list[Client]()
    started, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - started) < seconds:
        idle = [client for client in clients if client.number < 0 and not client.closed]
        for _ in range(int(passed * rate) - sent):
            sent += 1
            if idle:
                idle.pop().send()
            elif len(clients) < MOST_CONNECTIONS:
                _, client = await loop.create_connection(lambda: Client(load, False), "127.0.0.1", load.port)
                clients.append(client)
                client.send()
            else:
                load.unsent += 1
        await asyncio.sleep(0.002)
    return clients


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the load and describe it."""
    load, first = Load(arguments), 0
    if arguments.rate:
        clients = await open_load(load, arguments.rate, arguments.seconds)
        passed = arguments.seconds
    else:
        clients = await closed_load(load, arguments.clients)
        await asyncio.sleep(0.3)
        first = len(load.seconds)
        load.clear()
        started = time.perf_counter()
        await asyncio.sleep(arguments.seconds)
        passed = time.perf_counter() - started
    counted = len(load.seconds)
    await settle(load, clients)
    ordered = sorted(load.seconds) or [0.0]
    shares = {f"p{share}": 1000 * ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 95, 99)}
    return {
        "requests_per_second": counted / passed, "texts_per_second": counted * load.size / passed, **shares,
        "statuses": dict(load.statuses), "wrong": load.wrong, "lost": load.lost, "unsent": load.unsent,
        "all_answers": first + len(load.seconds),
    }  # fmt: skip


async def settle(load: Load, clients: list[Client]) -> None:
    """Wait for the last answers and close the connections."""
    for client in clients:
        client.again = False
    end = time.perf_counter() + 10
    while any(client.number >= 0 and not client.closed for client in clients) and time.perf_counter() < end:
        await asyncio.sleep(0.01)
    load.lost += sum(client.number >= 0 and not client.closed for client in clients)
    load.ending = True
    for client in clients:
        client.transport.close()


def main() -> int:
    """Run the client."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("texts")
    parser.add_argument("--clients", type=int, default=32, help="connections of a closed load (default: 32)")
    parser.add_argument("--size", type=int, default=1, help="texts per request (default: 1)")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration (default: 5)")
    parser.add_argument("--rate", type=float, default=0.0, help="requests per second of an open load")
    parser.add_argument("--path", default="/v1/classify", help="path (default: /v1/classify)")
    parser.add_argument("--field", default="input", help="field of the texts (default: input)")
    arguments = parser.parse_args()
    try:
        import uvloop

        print(json.dumps(uvloop.run(run(arguments))))
    except ImportError:
        print(json.dumps(asyncio.run(run(arguments))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
