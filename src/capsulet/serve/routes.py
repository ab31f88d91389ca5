"""Which function answers which path."""

from __future__ import annotations

from capsulet.serve import feedback, pages, status
from capsulet.serve.server import Route
from capsulet.serve.shapes import inference, moderations, open_inference, own, vllm

OTHER = "other"  # the name of unknown paths in logs and metrics


def routes() -> dict[str, Route]:
    """All routes by path; the route of unknown paths has none."""
    table = [
        Route("/v1/classify", {"POST": own.classify}, own.failure),
        Route("/v1/feedback", {"POST": feedback.feedback}, own.failure),
        Route("/v1/next", {"POST": feedback.next_texts}, own.failure),
        Route("/predict", {"POST": inference.predict}, inference.failure),
        Route("/classify", {"POST": vllm.classify}, vllm.failure),
        Route("/v1/moderations", {"POST": moderations.moderate}, vllm.failure),
        Route("/v2", {"GET": open_inference.server_metadata}, open_inference.failure),
        Route("/v2/health/live", {"GET": open_inference.live}, open_inference.failure, is_open=True),
        Route("/v2/health/ready", {"GET": open_inference.ready}, open_inference.failure, is_open=True),
        Route("/v2/models/{model}", {"GET": open_inference.model_metadata}, open_inference.failure),
        Route("/v2/models/{model}/ready", {"GET": open_inference.ready}, open_inference.failure),
        Route("/v2/models/{model}/infer", {"POST": open_inference.infer}, open_inference.failure),
        Route("/healthz", {"GET": status.health}, own.failure, is_open=True),
        Route("/info", {"GET": status.info}, own.failure),
        Route("/metrics", {"GET": status.metrics}, own.failure),
        Route("/openapi.json", {"GET": status.openapi}, own.failure, is_open=True),
        Route("/card", {"GET": pages.card}, own.failure),
        Route("/report", {"GET": pages.report}, own.failure),
        Route("/", {"GET": pages.page}, own.failure, is_open=True),
        Route("/page/{name}", {"GET": pages.page}, own.failure, is_open=True),
    ]
    methods = {"GET": status.missing, "POST": status.missing, "PUT": status.missing, "DELETE": status.missing}
    return {**{route.name: route for route in table}, "": Route(OTHER, dict(methods), own.failure, is_open=True)}
