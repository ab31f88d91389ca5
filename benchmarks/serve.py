"""Measure `capsulet serve` on the loopback: speed, overload, attacks, new models and the end under load.

    python -m benchmarks.serve --model MODEL --texts TEST.csv [--peers] [--json] [--write]

- speed: single texts from 32 clients and batches of 64 texts, against the same model in one process without HTTP
- overload: twice the requests per second that the server holds, for --overload seconds: every answer is right or a 503
  with Retry-After; times are those of the right answers
- attack: good, bad, slow and cut-off requests, schemathesis and --idle connections, for --attack seconds
- reloads: --reloads new models under load, and --ends SIGTERMs under load: nothing accepted is lost
- with --peers, the same model behind LitServe and behind Starlette with uvicorn, if they are installed; with
  --only-peers, nothing else. LitServe has several processes, which get more of a busy machine than one; processor time
  does not depend on that

The server and the in-process loop take turns, and figures are medians of rounds. An overhead is the ratio of texts per
second; on a machine that is busy with other things, the ratio of processor time says more. The command prints every
missed bound and then exits with status 1. It needs two cores: one for the server, one for the clients.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from benchmarks.serve_attack import Attack
from capsulet.text.labelled import labelled_pairs, silent

TEXTS, BATCH, CLIENTS = 2000, 64, 32
OVERLOAD_QUEUE = 256  # texts that may wait during the overload
PEERS = ("litserve", "starlette")
PACKAGES = ("capsulet", "httptools", "uvloop", "litserve", "starlette", "uvicorn")


class Served:
    """A server process on a free port."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-m", "capsulet", "serve", *map(str, words), "--port", "0"]
        started = time.perf_counter()
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `end`
        self.process = subprocess.Popen(command, stderr=self.log)
        self.port = self.wait_until_ready()
        self.ready_seconds = time.perf_counter() - started

    def wait_until_ready(self) -> int:
        """The port, when the log has it."""
        for _ in range(3000):
            self.log.seek(0)
            if found := re.search(r"ready on http://[^:]+:(\d+)", self.log.read()):
                return int(found[1])
            time.sleep(0.01)
        raise RuntimeError("the server does not start")

    def metric(self, name: str) -> float:
        """A number of /metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        return float(re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[0])

    def cpu_seconds(self) -> float:
        """Processor time of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> int:
        """End the server and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.log.close()
        return status


def load_process(port: int, texts: Path, **options: object) -> subprocess.Popen[str]:
    """Start a client process."""
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "benchmarks.serve_load", str(port), str(texts), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def load(port: int, texts: Path, **options: object) -> dict[str, Any]:
    """Run a client process and return its figures."""
    process = load_process(port, texts, **options)
    found: dict[str, Any] = json.loads(process.communicate()[0])
    return found


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="model folder or file")
    parser.add_argument("--texts", required=True, help="labelled texts")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of a round (default: 5)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--overload", type=float, default=120.0, help="seconds of overload (default: 120)")
    parser.add_argument("--attack", type=float, default=600.0, help="seconds of attack (default: 600)")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections of the attack (default: 10000)")
    parser.add_argument("--reloads", type=int, default=100, help="new models under load (default: 100)")
    parser.add_argument("--ends", type=int, default=20, help="SIGTERMs under load (default: 20)")
    parser.add_argument("--peers", action="store_true", help="also measure other servers")
    parser.add_argument(
        "--only-peers", action="store_true", help="only measure other servers; --write: serve_peers.json"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write the file in benchmarks/results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(arguments, Path(scratch))
    for name, value in figures.items():
        shown = f"{value:14,.4f}" if isinstance(value, float | int) else f"  {json.dumps(value)}"
        print(f"{name:<44} {shown}", file=sys.stderr)
    variant = "peers" if arguments.only_peers else ""
    return record.conclude("serve", {"figures": figures}, bounds(figures), arguments, variant)


def measure(arguments: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """All figures."""
    classifier = capsulet.load(arguments.model, threads=1)
    texts = [text for text, _ in labelled_pairs(arguments.texts, capsulet.ReadOptions(), silent)][:TEXTS]
    file = scratch / "texts.json"
    labels = [prediction.label for prediction in classifier.predict(texts)]
    file.write_text(json.dumps(list(zip(texts, labels, strict=True))))
    if arguments.only_peers:
        return peers(arguments, file)
    figures: dict[str, Any] = {**speeds(arguments, classifier, texts, file)}
    if arguments.peers:
        figures |= peers(arguments, file)
    if arguments.overload:
        figures |= overload(arguments, file, figures["http_one_requests_per_second"])
    if arguments.attack:
        figures |= attack(arguments, texts[0], str(labels[0]))
    if arguments.reloads:
        figures |= reloads(arguments, file, scratch)
    if arguments.ends:
        figures |= ends(arguments, file)
    return figures


def in_process(classifier: capsulet.Classifier, texts: list[str], size: int, seconds: float) -> tuple[float, float]:
    """Texts per second of calls of `predict` with some texts each, and processor time per text."""
    started, used, count = time.perf_counter(), time.process_time(), 0
    while (passed := time.perf_counter() - started) < seconds:
        place = count % (len(texts) - size + 1)
        classifier.predict(texts[place : place + size])
        count += size
    return count / passed, (time.process_time() - used) / count


def speeds(
    arguments: argparse.Namespace, classifier: capsulet.Classifier, texts: list[str], file: Path
) -> dict[str, Any]:
    """Texts per second, latency and processor time with HTTP and without, in turns."""
    server = Served(arguments.model)
    plans = {"one": {"size": 1, "clients": CLIENTS}, "batch": {"size": BATCH, "clients": 4}, "alone": {"clients": 1}}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in plans}
    for _ in range(arguments.rounds):
        for name, plan in plans.items():
            size = plan.get("size", 1)
            direct, direct_cpu = in_process(classifier, texts, size, arguments.seconds)
            before = server.cpu_seconds()
            found = load(server.port, file, seconds=arguments.seconds, **plan)
            cpu = (server.cpu_seconds() - before) / (size * found["all_answers"])
            rate = found["texts_per_second"]
            rounds[name].append({
                f"direct_{name}_texts_per_second": direct, f"http_{name}_texts_per_second": rate,
                f"http_{name}_overhead": direct / rate, f"http_{name}_cpu_overhead": cpu / direct_cpu,
                f"http_{name}_cpu_microseconds_per_text": 1e6 * cpu, "wrong": found["wrong"],
                **{f"http_{name}_{share}_milliseconds": found[share] for share in ("p50", "p95", "p99")},
            })  # fmt: skip
    memory = server.metric("capsulet_resident_memory_bytes") / 1e6
    figures: dict[str, Any] = {"ready_seconds": server.ready_seconds, "memory_megabytes": memory}
    server.end()
    for own in rounds.values():
        figures |= {key: statistics.median(round[key] for round in own) for key in own[0] if key != "wrong"}
    figures["http_one_requests_per_second"] = figures["http_one_texts_per_second"]
    return {**figures, "wrong_answers": sum(round["wrong"] for own in rounds.values() for round in own)}


def session_cpu_seconds(session: int) -> float:
    """Processor time so far of all processes of a session."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def peers(arguments: argparse.Namespace, file: Path) -> dict[str, Any]:
    """Requests per second and processor time of the same model behind other servers, in turns with ours."""
    figures: dict[str, Any] = {}
    for name in PEERS:
        if record.version(name) is None:
            continue
        port = 18_000 + os.getpid() % 1000
        command = [sys.executable, "-m", "benchmarks.serve_peers", name, arguments.model, str(port)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        server = Served(arguments.model)
        try:
            wait_for(port)
            rounds = []
            for _ in range(arguments.rounds):
                before = session_cpu_seconds(process.pid)
                other = load(port, file, seconds=arguments.seconds, path="/predict")
                between = server.cpu_seconds()
                other_cpu = (session_cpu_seconds(process.pid) - before) / other["all_answers"]
                own = load(server.port, file, seconds=arguments.seconds)
                own_cpu = (server.cpu_seconds() - between) / own["all_answers"]
                rate = other["requests_per_second"]
                rounds.append((rate, own["requests_per_second"] / rate, other_cpu / own_cpu))
            figures[f"{name}_requests_per_second"] = statistics.median(rate for rate, _, _ in rounds)
            figures[f"ours_over_{name}"] = statistics.median(ratio for _, ratio, _ in rounds)
            figures[f"{name}_cpu_over_ours"] = statistics.median(ratio for _, _, ratio in rounds)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
            server.end()
    return figures


def wait_for(port: int) -> None:
    """Wait until a server answers."""
    body = json.dumps({"input": "a"}).encode()
    for _ in range(600):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/predict", body, {"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the other server does not start")


def overload(arguments: argparse.Namespace, file: Path, held: float) -> dict[str, Any]:
    """Twice the load that the server holds."""
    server = Served(arguments.model, "--queue", OVERLOAD_QUEUE, "--max-texts", OVERLOAD_QUEUE)
    alone = load(server.port, file, clients=1, seconds=2)
    load(server.port, file, rate=2 * held, seconds=5 + arguments.overload / 8)  # the memory of a busy server
    memory = [server.metric("capsulet_resident_memory_bytes")]
    process = load_process(server.port, file, rate=2 * held, seconds=arguments.overload)
    while process.poll() is None:
        time.sleep(1)
        memory.append(server.metric("capsulet_resident_memory_bytes"))
    found: dict[str, Any] = json.loads(process.communicate()[0])
    after = load(server.port, file, clients=1, seconds=2)
    server.end()
    statuses = {int(status): count for status, count in found["statuses"].items()}
    sent = sum(statuses.values())
    return {
        "overload_queue": OVERLOAD_QUEUE, "overload_sent_per_second": sent / arguments.overload,
        "overload_seconds": arguments.overload, "overload_offered_per_second": 2 * held,
        "overload_answers_per_second": statuses.get(200, 0) / arguments.overload,
        "overload_refused_percent": 100 * statuses.get(503, 0) / max(1, sent),
        "overload_other_statuses": sum(count for status, count in statuses.items() if status not in (200, 503)),
        "overload_wrong": found["wrong"], "overload_lost": found["lost"], "overload_p99_milliseconds": found["p99"],
        "overload_memory_growth_percent": 100 * (max(memory) / memory[0] - 1),
        "overload_p50_after_over_before": after["p50"] / alone["p50"],
    }  # fmt: skip


class MemorySamples:
    """The memory of a server every second, in a thread."""

    def __init__(self, server: Served) -> None:
        self.server, self.ending = server, threading.Event()
        self.values: list[float] = []
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()

    def sample(self) -> None:
        """Ask until the end."""
        while not self.ending.wait(1):
            with contextlib.suppress(OSError):  # a busy server
                self.values.append(self.server.metric("capsulet_resident_memory_bytes"))

    def growth(self) -> float:
        """Per cent by which the last quarter is above the second one."""
        self.ending.set()
        self.thread.join()
        quarter = max(1, len(self.values) // 4)
        second, last = self.values[quarter : 2 * quarter], self.values[-quarter:]
        return 100 * (statistics.median(last) / statistics.median(second or last) - 1)


def attack(arguments: argparse.Namespace, text: str, label: str) -> dict[str, Any]:
    """Attacks, and what is left of them."""
    server = Served(f"model={arguments.model}", "--timeout", 10, "--keep-alive", max(10, int(arguments.attack)))
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # the clients are cut off again and again
    descriptors = server.metric("capsulet_open_descriptors")
    fuzzer, samples = schemathesis(server.port, arguments.attack), MemorySamples(server)
    found = asyncio.run(Attack(server.port, text, label, seed=1).run(arguments.attack, arguments.idle))
    growth = samples.growth()
    fuzzed = None if fuzzer is None else fuzzer.wait(120)
    time.sleep(3)
    figures = {
        "attack_seconds": arguments.attack, "attack_idle_connections": arguments.idle,
        "attack_statuses": found["statuses"], "attack_wrong": found["wrong"],
        "attack_server_errors": sum(
            count for counts in found["statuses"].values() for status, count in counts.items() if 500 <= status != 503
        ),
        "attack_schemathesis_status": fuzzed, "attack_alive": int(server.process.poll() is None),
        "attack_memory_growth_percent": growth,
        "attack_memory_megabytes": server.metric("capsulet_resident_memory_bytes") / 1e6,
        "attack_descriptors_left": server.metric("capsulet_open_descriptors") - descriptors,
    }  # fmt: skip
    return {**figures, "attack_exit_status": server.end()}


def schemathesis(port: int, seconds: float) -> subprocess.Popen[bytes] | None:
    """Requests made from the OpenAPI document, if the program is installed."""
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        return None
    command = [
        str(program),
        "run",
        f"http://127.0.0.1:{port}/openapi.json",
        "--no-color",
        "--max-time",
        str(int(seconds)),
    ]
    options = ["--checks", "not_a_server_error,response_schema_conformance", "--max-examples", "200"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*command, *options], cwd=tempfile.gettempdir(), **quiet)


def reloads(arguments: argparse.Namespace, file: Path, scratch: Path) -> dict[str, Any]:
    """New models under load: the same one, at the same path, again and again."""
    source, place = Path(arguments.model), scratch / "served.safetensors"
    source = source / "model.safetensors" if source.is_dir() else source
    shutil.copy(source, place)
    server = Served(place)
    process = load_process(server.port, file, clients=16, seconds=arguments.reloads * 2 + 5)
    started = time.perf_counter()
    for number in range(arguments.reloads):
        part = scratch / "part.safetensors"
        shutil.copy(source, part)
        part.replace(place)
        while server.metric('capsulet_reloads_total{model="served",result="taken"}') <= number:
            time.sleep(0.05)
    seconds = time.perf_counter() - started
    found: dict[str, Any] = json.loads(process.communicate()[0])
    server.end()
    return {
        "reloads": arguments.reloads, "reload_seconds_each": seconds / arguments.reloads,
        "reload_requests": sum(found["statuses"].values()), "reload_wrong": found["wrong"],
        "reload_lost": found["lost"],
        "reload_other_statuses": sum(count for status, count in found["statuses"].items() if status != "200"),
    }  # fmt: skip


def ends(arguments: argparse.Namespace, file: Path) -> dict[str, Any]:
    """SIGTERM under load."""
    lost = wrong = failed = requests = 0
    for _ in range(arguments.ends):
        server = Served(f"model={arguments.model}")
        process = load_process(server.port, file, clients=16, seconds=2.5)
        while not server.metric('capsulet_texts_total{model="model"}'):
            time.sleep(0.02)
        time.sleep(1)
        failed += server.end() != 0
        found = json.loads(process.communicate()[0])
        lost, wrong = lost + found["lost"], wrong + found["wrong"]
        requests += sum(found["statuses"].values())
    return {
        "ends": arguments.ends,
        "end_requests": requests,
        "end_lost": lost,
        "end_wrong": wrong,
        "end_failed": failed,
    }


def bounds(figures: dict[str, Any]) -> dict[str, bool]:
    """What must hold."""
    most = {
        "ready_seconds": 1.0, "http_one_overhead": 3.0, "http_batch_overhead": 1.3, "http_one_cpu_overhead": 3.0,
        "http_batch_cpu_overhead": 1.3, "wrong_answers": 0,
        "overload_other_statuses": 0, "overload_wrong": 0, "overload_lost": 0, "overload_memory_growth_percent": 5.0,
        "overload_p50_after_over_before": 2.0, "attack_wrong": 0, "attack_server_errors": 0,
        "attack_memory_growth_percent": 5.0, "attack_descriptors_left": 1, "attack_exit_status": 0, "reload_wrong": 0,
        "reload_lost": 0, "reload_other_statuses": 0, "end_lost": 0, "end_wrong": 0, "end_failed": 0,
    }  # fmt: skip
    least = {
        "litserve_cpu_over_ours": 2.0,
        "ours_over_litserve": 2.0,
        "ours_over_starlette": 1.0,
        "attack_alive": 1,
        "overload_refused_percent": 1.0,
    }
    held = {name: figures[name] <= bound for name, bound in most.items() if name in figures}
    held |= {name: figures[name] >= bound for name, bound in least.items() if name in figures}
    if figures.get("attack_schemathesis_status") is not None:
        held["attack_schemathesis"] = figures["attack_schemathesis_status"] == 0
    return held


if __name__ == "__main__":
    sys.exit(main())
