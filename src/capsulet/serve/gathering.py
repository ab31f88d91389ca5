"""The queue of texts that wait for a model.

Requests that arrive together run together, because the network reads several texts faster than one by one. No request
waits for others to arrive. Few texts run in the event loop. Many run in threads, because the core releases the GIL.

Under too much load, the loop spends as much time on answers as on reading, and refuses requests that still find the
queue full. Refusing everything first would leave no time for answers: a refusal costs as much as a short answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from capsulet.serve.explanations import explanation
from capsulet.serve.messages import overloaded
from capsulet.serve.models import Answers, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from capsulet.serve.settings import Settings

AT_ONCE = 64  # texts that run together
INLINE = 20_000  # characters that run in the event loop, which they hold up for some milliseconds
LONGEST_TURN = 0.05  # largest difference, in seconds, between the time of answers and that of reading

Result = TypeVar("Result")


class Job:
    """Texts of one request that wait for a model.

    `done` gets the answers or an error; `wanted` says whether somebody still waits for them.
    """

    __slots__ = ("abstain", "characters", "done", "model", "since", "texts", "wanted")

    def __init__(
        self, model: Model, texts: Sequence[str], abstain: bool, done: Callable[[Answers | Exception], None],
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        self.model, self.texts, self.abstain, self.done, self.wanted = model, texts, abstain, done, wanted
        self.characters = sum(map(len, texts))
        self.since = 0.0


class Engine:
    """Runs models in this process."""

    def __init__(self, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads, "capsulet")
        self.most_running = 2 * threads  # jobs in threads; the others stay in the queue

    def inline(self, job: Job) -> bool:
        """Whether a job is too small for a thread, which would cost more time than it saves."""
        return job.characters <= INLINE

    async def answers(self, model: Model, texts: Sequence[str], abstain: bool) -> Answers:
        """Run texts in threads, some at a time."""
        parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
        loop = asyncio.get_running_loop()
        found = await asyncio.gather(*(loop.run_in_executor(self.pool, model.answers, part, abstain) for part in parts))
        return Answers(
            [row for part in found for row in part.lengths],
            [row for part in found for row in part.probabilities],
            b"".join(bytes(part.reasons) for part in found),
        )

    async def explain(self, model: Model, text: str, label: str | None, contrast: str | None) -> dict[str, Any]:
        """The contributions of the words of a text, in a thread."""
        return await self.call(explanation, model, text, label, contrast)

    async def call(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work, *arguments)

    async def prepare(self, model: Model) -> None:
        """Do nothing: this engine needs no preparation for a new model."""

    async def close(self) -> None:
        """End the threads."""
        self.pool.shutdown(wait=False, cancel_futures=True)


class Queue:
    """Jobs in order of arrival, at most `settings.queue` texts."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine, self.settings, self.loop = engine, settings, asyncio.get_running_loop()
        self.jobs: deque[Job] = deque()
        self.waiting = self.characters = 0  # texts that wait or run, and their characters
        self.running = 0  # groups in threads
        self.scheduled = False
        self.balanced = 0.0  # up to this time, the loop has spent as much time on answers as on reading
        self.tasks: set[asyncio.Task[None]] = set()

    def submit(self, job: Job) -> None:
        """Add a job, or refuse it if there is no room."""
        if self.waiting + len(job.texts) > self.settings.queue:
            self.run_groups()
        self.take_room(len(job.texts), job.characters)
        job.since = self.loop.time()
        self.jobs.append(job)
        self.schedule()

    def take_room(self, texts: int, characters: int) -> None:
        """Count texts that begin to wait; refuse them if there is no room."""
        if self.waiting + texts > self.settings.queue:
            raise overloaded(f"{self.waiting:,} texts are waiting, which is as many as the server keeps")
        if self.waiting and self.characters + characters > self.settings.max_buffered:
            raise overloaded(f"texts of {self.characters:,} characters are waiting, as many as the server keeps")
        self.waiting += texts
        self.characters += characters

    def give_room(self, texts: int, characters: int) -> None:
        """Stop counting texts that are answered or dropped."""
        self.waiting -= texts
        self.characters -= characters

    @contextmanager
    def room(self, texts: Sequence[str]) -> Iterator[None]:
        """A context that takes room for texts which run outside the queue."""
        size = len(texts), sum(map(len, texts))
        self.take_room(*size)
        try:
            yield
        finally:
            self.give_room(*size)

    async def answers(self, model: Model, texts: Sequence[str], abstain: bool) -> Answers:
        """Submit texts and wait for their answers."""
        future: asyncio.Future[Answers] = self.loop.create_future()

        def done(found: Answers | Exception) -> None:
            if future.done():
                return
            if isinstance(found, Exception):
                future.set_exception(found)
            else:
                future.set_result(found)

        self.submit(Job(model, texts, abstain, done, lambda: not future.done()))
        return await future

    def schedule(self) -> None:
        """Plan to run jobs when the loop has handled the events that are already there."""
        if not self.scheduled and self.jobs and self.running < self.engine.most_running:
            self.scheduled = True
            self.loop.call_soon(self.run)

    def run(self) -> None:
        """Run at least one group of jobs."""
        self.scheduled = False
        self.run_groups(1)
        self.schedule()

    def run_groups(self, least: int = 0) -> None:
        """Run `least` groups of jobs, then small ones until the loop has answered for as long as it has read."""
        now = time.perf_counter()
        self.balanced = min(max(self.balanced, now - LONGEST_TURN), now + LONGEST_TURN)
        while self.jobs and (least > 0 or (self.engine.inline(self.jobs[0]) and self.balanced < now)):
            self.run_group()
            before, now = now, time.perf_counter()
            self.balanced += 2 * (now - before)  # the time of the answers, and as much to read
            least -= 1

    def run_group(self) -> None:
        """Run the next group of jobs: in the loop if it is small, else in threads if there is room."""
        if self.jobs and self.running >= self.engine.most_running and not self.engine.inline(self.jobs[0]):
            return
        if group := self.take_group():
            if self.engine.inline(group[0]):
                self.finish(group, attempt(run_together, group))
            else:
                self.running += 1
                task = self.loop.create_task(self.run_in_threads(group))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    def take_group(self) -> list[Job]:
        """The next jobs of one model that fit together; jobs that nobody waits for are dropped."""
        group: list[Job] = []
        texts = characters = 0
        late = self.loop.time() - self.settings.timeout
        while self.jobs:
            job = self.jobs[0]
            if group and (
                job.model is not group[0].model
                or texts + len(job.texts) > AT_ONCE
                or characters + job.characters > INLINE
            ):
                break
            self.jobs.popleft()
            if not job.wanted() or job.since < late:
                self.give_room(len(job.texts), job.characters)
                job.done(overloaded(f"the request waited for more than {self.settings.timeout} seconds"))
                continue
            group.append(job)
            texts, characters = texts + len(job.texts), characters + job.characters
        return group

    async def run_in_threads(self, group: Sequence[Job]) -> None:
        """Run a group outside the event loop."""
        texts = [text for job in group for text in job.texts]
        found: Answers | Exception
        try:
            found = await self.engine.answers(group[0].model, texts, any(job.abstain for job in group))
        except Exception as error:
            found = error
        self.running -= 1
        self.finish(group, found)
        self.schedule()

    def finish(self, group: Sequence[Job], found: Answers | Exception) -> None:
        """Hand out the answers."""
        start = 0
        for job in group:
            end = start + len(job.texts)
            self.give_room(len(job.texts), job.characters)
            job.done(found if isinstance(found, Exception) else found.part(start, end))
            start = end


def run_together(group: Sequence[Job]) -> Answers:
    """Run the texts of several jobs of one model."""
    texts = [text for job in group for text in job.texts]
    return group[0].model.answers(texts, any(job.abstain for job in group))


def attempt(work: Callable[[Sequence[Job]], Answers], group: Sequence[Job]) -> Answers | Exception:
    """Return the answers of a group, or the error."""
    try:
        return work(group)
    except Exception as error:
        return error
