"""Models in replicas of Ray Serve, behind the same HTTP server.

Replicas do not use HTTP. The server checks requests, gathers texts and sends groups of them to replicas. An
answer depends on nothing but the model and the texts, so a group whose replica dies is sent again to another one.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import CapsuletError, MissingExtraError
from capsulet.serve.explanations import explanation
from capsulet.serve.gathering import Engine, Job
from capsulet.serve.messages import overloaded
from capsulet.serve.models import Answers, Model
from capsulet.storage.atomic import digest

APPLICATION = "capsulet"
ATTEMPTS, PAUSE, LONGEST_PAUSE = 40, 0.05, 1.0  # about half a minute, in which a replica is replaced
GROUPS = 4  # groups of texts per replica at the same time


class Replica:
    """One process of the cluster with its own copies of the models."""

    def __init__(self) -> None:
        self.models: dict[str, tuple[str, Model]] = {}

    def model(self, name: str, version: str, data: Sequence[Any]) -> Model:
        """The model of a name in a version; its bytes are fetched at the first use."""
        import ray

        known = self.models.get(name)
        if known is None or known[0] != version:
            known = version, Model(name, Path(name), ray.get(data[0]), (0, 0, 0))
            self.models[name] = known
        return known[1]

    def answers(self, which: tuple[str, str, Sequence[Any]], texts: Sequence[str], abstain: bool) -> Answers:
        """The answers for some texts."""
        model = self.model(*which)
        if abstain:
            model.check_abstention()
        return model.answers(texts, abstain)

    def explain(
        self, which: tuple[str, str, Sequence[Any]], text: str, label: str | None, contrast: str | None
    ) -> dict[str, Any]:
        """The contributions of the words of a text."""
        return explanation(self.model(*which), text, label, contrast)

    def process(self) -> int:
        """The id of the process, for tests that end it."""
        return os.getpid()


class RayEngine(Engine):
    """Runs models in replicas of Ray Serve."""

    def __init__(self, threads: int, replicas: tuple[int, int]) -> None:
        super().__init__(threads)
        for package in ("ray", "fastapi"):
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError("ray[serve]", "serve-ray", "--engine ray")
        self.replicas = replicas
        self.most_running = GROUPS * replicas[1]
        self.handle: Any = None
        self.versions: dict[str, tuple[str, str, list[Any]]] = {}

    def inline(self, job: Job) -> bool:
        """False: no job runs in the event loop."""
        return False

    async def prepare(self, model: Model) -> None:
        """Give a model to the cluster; the replicas fetch it when they need it."""
        if self.handle is None:
            self.handle = await self.call(self.start)
        import ray

        reference = await self.call(ray.put, model.data)
        self.versions[model.name] = model.name, digest(model.data), [reference]

    def start(self) -> Any:
        """Start the replicas."""
        from capsulet.runtime.ray import start_ray

        least, most = self.replicas
        start_ray(most)
        from ray import serve

        serve.start(http_options={"location": "NoServer"})
        scaling: dict[str, Any] = {"num_replicas": least}
        if most > least:
            limits = {"min_replicas": least, "max_replicas": most, "target_ongoing_requests": 2}
            scaling = {"autoscaling_config": limits}
        options = {"num_cpus": 1}
        deployment: Any = serve.deployment(
            Replica, name=APPLICATION, ray_actor_options=options, max_ongoing_requests=GROUPS, **scaling
        )
        return serve.run(deployment.bind(), name=APPLICATION, route_prefix=None)

    async def answers(self, model: Model, texts: Sequence[str], abstain: bool) -> Answers:
        """Answers of a replica."""
        found: Answers = await self.ask("answers", model.name, list(texts), abstain)
        return found

    async def explain(self, model: Model, text: str, label: str | None, contrast: str | None) -> dict[str, Any]:
        """The contributions of the words of a text, from a replica."""
        found: dict[str, Any] = await self.ask("explain", model.name, text, label, contrast)
        return found

    async def ask(self, method: str, name: str, *arguments: Any) -> Any:
        """Call a method of a replica, and call it again if the replica dies."""
        from ray.exceptions import RayActorError, RaySystemError
        from ray.serve.exceptions import DeploymentUnavailableError, RayServeException

        pause = PAUSE
        for _ in range(ATTEMPTS):
            try:
                return await getattr(self.handle, method).remote(self.versions[name], *arguments)
            except DeploymentUnavailableError as error:  # noqa: PERF203 - it waits for a process
                raise CapsuletError(f"no replica starts: {error}") from None
            except (RayActorError, RaySystemError, RayServeException):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        raise overloaded("no replica answers")

    async def close(self) -> None:
        """End the replicas; a cluster that this process did not start stays."""
        await asyncio.to_thread(self.stop)
        await super().close()

    def stop(self) -> None:
        """End what `start` has started."""
        import ray
        from ray import serve

        end_replicas: Any = serve.shutdown  # not typed, as the next one
        end_ray: Any = ray.shutdown
        if os.environ.get("RAY_ADDRESS"):
            serve.delete(APPLICATION)
        else:
            end_replicas()
        end_ray()
