"""`capsulet serve`: load the models, listen, and serve until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import os
import signal
import socket
from collections.abc import Callable, Sequence
from typing import Any

from capsulet.cores import available_cores
from capsulet.errors import CapsuletError, InputError, MissingExtraError
from capsulet.serve.settings import Settings

MOST_PORT = 65_535
BACKLOG = 4096  # connections that the system keeps until they are accepted
SPARE = 64  # file descriptors for other things than connections


def serve(
    models: Sequence[str], settings: Settings, port: int = 8000, *, workers: int | None = 1,
    engine: str = "local", replicas: tuple[int, int] = (1, 1), ready: Callable[[int], None] = lambda port: None,
) -> int:  # fmt: skip
    """Serve models, each a path or NAME=PATH, until SIGTERM or Ctrl-C; return the exit status.

    `workers` is the number of processes; None: one per core that this process may use. `ready` is called with the port
    when requests are answered. With the engine `ray`, models run in replicas of Ray Serve; `replicas` has their minimum
    and maximum number.
    """
    require_packages()
    from capsulet.serve.log import Log
    from capsulet.serve.metrics import Metrics
    from capsulet.serve.models import Models, load_model, named_paths
    from capsulet.serve.routes import routes

    cores = available_cores()
    count = cores if workers is None else workers
    check_arguments(count, port, engine)
    if settings.feedback is not None:
        from capsulet.serve.feedback import check_feedback_file

        check_feedback_file(settings.feedback)
    loaded = Models([load_model(name, path) for name, path in named_paths(models).items()])
    log, table = Log(settings.log), routes()
    sock = listening_socket(settings.host, port)
    raise_descriptor_limit(settings)
    names = [route.name for route in table.values()]
    metrics = Metrics(names, [model.name for model in loaded], count)
    port = sock.getsockname()[1]

    def serve_here(ready: Callable[[], None] = lambda: None) -> None:
        threads = max(1, cores // count)
        run_loop(
            lambda: serve_process(
                settings, loaded, table, metrics, log, sock, make_engine(engine, threads, replicas), ready
            )
        )

    def work(number: int) -> None:
        metrics.use(number)
        serve_here()

    def announce() -> None:
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        log.say(f"{', '.join(loaded.by_name)} ready on http://{shown}:{port}, processes: {count}")
        ready(port)

    gc.collect()
    gc.freeze()  # the collector skips objects that exist now, so memory that processes share stays shared
    if count == 1:
        serve_here(announce)
        return 0
    from capsulet.serve.workers import Workers

    return Workers(count, work, log, sock).run(announce)


def check_arguments(workers: int, port: int, engine: str) -> None:
    """Refuse numbers of processes and ports that cannot work, before a model is loaded."""
    if workers < 1:
        raise InputError(f"--workers is {workers}: expected at least 1, or 0 for one per core")
    if workers > 1 and not hasattr(os, "fork"):
        raise InputError("--workers is above 1, which this system does not support: expected 1")
    if not 0 <= port <= MOST_PORT:
        raise InputError(f"--port is {port}: expected 0 to {MOST_PORT}")
    if engine == "ray" and workers > 1:
        raise InputError("--engine ray uses replicas instead of workers: leave out --workers, or use --replicas")


def make_engine(kind: str, threads: int, replicas: tuple[int, int]) -> Any:
    """The engine that runs the models: in this process, or on Ray Serve."""
    if kind == "ray":
        from capsulet.serve.ray import RayEngine

        return RayEngine(threads, replicas)
    from capsulet.serve.gathering import Engine

    return Engine(threads)


def run_loop(main: Callable[[], Any]) -> None:
    """Run the event loop, that of uvloop where it is installed."""
    if importlib.util.find_spec("uvloop") is None:
        asyncio.run(main())
        return
    import uvloop

    uvloop.run(main())


async def serve_process(
    settings: Settings, models: Any, table: Any, metrics: Any, log: Any, sock: socket.socket, engine: Any,
    ready: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Serve in this process until a signal."""
    from capsulet.serve.listener import Listener
    from capsulet.serve.server import Server

    server = Server(settings, models, engine, table, metrics, log)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for model in models:
        await engine.prepare(model)
    for number in (signal.SIGTERM, signal.SIGINT):  # after Ray, which has a handler of its own
        with contextlib.suppress(NotImplementedError):  # Windows, where Ctrl-C ends the process
            loop.add_signal_handler(number, ended.set)
    listener = Listener(server, sock)
    sweeping = loop.create_task(server.sweep())
    ready()
    await ended.wait()
    await server.drain(listener)
    sweeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await sweeping


def require_packages() -> None:
    """Raise an error if a package of the extra is missing."""
    if importlib.util.find_spec("httptools") is None:
        raise MissingExtraError("httptools", "serve", "Serving")


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens, so that no request is refused while the processes start."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        problem = f"cannot listen on {host} port {port}: {error.strerror}"
        raise CapsuletError(f"{problem}; choose another --host or --port") from None
    return sock


def raise_descriptor_limit(settings: Settings) -> None:
    """Allow as many open files as connections are allowed, or fewer connections if the system refuses."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + SPARE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    settings.max_connections = max(1, min(settings.max_connections, soft - SPARE))
