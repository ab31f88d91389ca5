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
    """LitServe with its defaults."""
    from benchmarks.serve_litserve import serve

    serve(model, port)


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
