"""Good, bad, slow and cut-off requests at the same time, for benchmarks.serve: what came back, by kind."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

HEAD = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
PATHS = (b"/v1/classify", b"/predict", b"/classify", b"/v1/moderations", b"/v2/models/model/infer", b"/v1/next")
BODIES = (
    b"", b"{", b"[" * 100_000, b'{"input":' * 20_000, b'{"input": NaN}', b'{"input": 1e999}', b'{"input": "\xff\xfe"}',
    b'{"input": "\\ud800"}', b'{"input": null}', b'{"input": {}}', b'{"inputs": [["a", "b"]]}', b'{"input": [[[[]]]]}',
    b'{"input": "a", "top_k": -1}', b'{"input": "a", "model": "../../etc/passwd"}', b'"a"', b"9" * 100_000,
    b'{"input": ' + b'["a",' * 3000, b'{"inputs": [{"name": "text", "datatype": "BYTES", "shape": [9], "data": []}]}',
    b'{"input": "' + b"a" * 200_000 + b'"}', json.dumps({"input": ["a"] * 5000}).encode(), b"\x00" * 1000,
)  # fmt: skip
GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nhost:\x00\r\n\r\n",
    b"POST / HTTP/1.1\r\ncontent-length: -5\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /%00%ff%2e%2e/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    b"POST /predict HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
)  # fmt: skip
HUGE = 50_000_000  # bytes that a body claims to have


class Attack:
    """Clients of several kinds that go on until a time."""

    def __init__(self, port: int, text: str, label: str, seed: int = 0) -> None:
        self.port, self.dice = port, random.Random(seed)
        self.text, self.label = text, label
        self.statuses: dict[str, Counter[int]] = {}
        self.wrong = 0
        self.end = 0.0

    async def run(self, seconds: float, idle: int) -> dict[str, Any]:
        """Run all kinds at the same time, beside idle connections."""
        loop = asyncio.get_running_loop()
        kept = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(idle)]
        self.end = loop.time() + seconds
        kinds: dict[str, Callable[[], Awaitable[bytes]]] = {
            "good": self.good, "bad": self.bad, "garbage": self.garbage, "cut off": self.cut_off, "huge": self.huge,
            "slow": self.slow, "stream": self.stream,
        }  # fmt: skip
        await asyncio.gather(*(self.repeat(name, kind) for name, kind in kinds.items() for _ in range(4)))
        for _, writer in kept:
            writer.close()
        return {"statuses": {name: dict(found) for name, found in self.statuses.items()}, "wrong": self.wrong}

    async def repeat(self, name: str, kind: Callable[[], Awaitable[bytes]]) -> None:
        """Be a client of one kind, again and again."""
        counted = self.statuses.setdefault(name, Counter())
        loop = asyncio.get_running_loop()
        while loop.time() < self.end:
            try:
                found = await asyncio.wait_for(kind(), 60)
            except (OSError, TimeoutError, asyncio.TimeoutError):
                found = b""
            counted[int(found[9:12]) if found.startswith(b"HTTP/1.1 ") else 0] += 1
            await asyncio.sleep(0.002)

    async def exchange(self, data: bytes, read: bool = True) -> bytes:
        """Send bytes on a new connection, and read until it ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            await writer.drain()
            return await reader.read(-1) if read else b""
        finally:
            writer.close()

    def post(self, path: bytes, body: bytes, more: bytes = b"connection: close\r\n") -> bytes:
        """The bytes of a request."""
        return HEAD % path + b"content-length: %d\r\n%b\r\n%b" % (len(body), more, body)

    async def good(self) -> bytes:
        """A right request, whose answer is checked."""
        explain = self.dice.random() < 0.2
        body = json.dumps({"input": [self.text] * self.dice.randint(1, 5), "explain": explain}).encode()
        found = await self.exchange(self.post(b"/v1/classify", body))
        if found.startswith(b"HTTP/1.1 200"):
            rows = json.loads(found.partition(b"\r\n\r\n")[2])["results"]
            self.wrong += any(row["label"] != self.label for row in rows)
        return found

    async def bad(self) -> bytes:
        """A request with a wrong body."""
        return await self.exchange(self.post(self.dice.choice(PATHS), self.dice.choice(BODIES)))

    async def garbage(self) -> bytes:
        """Bytes that are no request."""
        return await self.exchange(self.dice.choice(GARBAGE))

    async def cut_off(self) -> bytes:
        """The beginning of a request, and no more."""
        whole = self.post(b"/v1/classify", json.dumps({"input": [self.text] * 100}).encode())
        return await self.exchange(whole[: self.dice.randrange(len(whole))], read=False)

    async def huge(self) -> bytes:
        """A body that is too large, of which some megabytes are sent."""
        head = HEAD % b"/v1/classify" + b"content-length: %d\r\n\r\n" % HUGE
        return await self.exchange(head + b"a" * self.dice.choice((0, 1000, 3_000_000)))

    async def slow(self) -> bytes:
        """A request byte by byte."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for byte in self.post(b"/v1/classify", b'{"input": "a"}'):
                writer.write(bytes([byte]))
                await asyncio.sleep(0.1)
                if asyncio.get_running_loop().time() > self.end or reader.at_eof():
                    break
            return await reader.read(12) if self.dice.random() < 0.5 else b""
        finally:
            writer.close()

    async def stream(self) -> bytes:
        """Lines of JSON, some of them wrong, and sometimes no end."""
        head = HEAD % b"/v1/classify" + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        lines = b"".join(self.dice.choice((b'"a"\n', b"{\n", b"\xff\n", b'{"input": 3}\n')) for _ in range(200))
        end = b"0\r\n\r\n" if self.dice.random() < 0.7 else b""
        data = head.replace(b"application/json", b"application/x-ndjson") + b"%x\r\n%b\r\n" % (len(lines), lines) + end
        return await self.exchange(data, read=bool(end))
