"""The same model behind other servers, for benchmarks.serve: `python -m benchmarks.serve_peers NAME MODEL PORT`."""

from __future__ import annotations

import sys
from typing import Any

import capsulet


def answer(classifier: capsulet.Classifier, text: str) -> dict[str, Any]:
    """Our own response for one text."""
    prediction = classifier.predict([text])[0]
    return {"results": [{"label": prediction.label, "probability": prediction.top[0][1]}]}


def litserve(model: str, port: int) -> None:
    """LitServe with its defaults: one worker, no batching."""
    import litserve

    class Api(litserve.LitAPI):  # type: ignore[misc]
        """One text per request."""

        def setup(self, device: str) -> None:
            self.classifier = capsulet.load(model, threads=1)

        def decode_request(self, request: dict[str, Any]) -> str:
            return str(request["input"])

        def predict(self, text: str) -> dict[str, Any]:
            return answer(self.classifier, text)

        def encode_response(self, output: dict[str, Any]) -> dict[str, Any]:
            return output

    litserve.LitServer(Api(), accelerator="cpu").run(host="127.0.0.1", port=port, generate_client_file=False)


def starlette(model: str, port: int) -> None:
    """Starlette and uvicorn, with httptools and uvloop."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    classifier = capsulet.load(model, threads=1)

    async def predict(request: Request) -> JSONResponse:
        return JSONResponse(answer(classifier, (await request.json())["input"]))

    app = Starlette(routes=[Route("/predict", predict, methods=["POST"])])
    uvicorn.run(app, port=port, http="httptools", loop="uvloop", lifespan="off", log_level="warning", access_log=False)


if __name__ == "__main__":
    {"litserve": litserve, "starlette": starlette}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
