"""The model behind LitServe, for benchmarks.serve_peers: its workers import this module.

Annotations here are values and not strings: LitServe reads them.
"""

from typing import Any

import litserve

import capsulet


class Api(litserve.LitAPI):
    """One text per request."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.path = model

    def setup(self, device: str) -> None:
        """Load the model in a worker."""
        self.classifier = capsulet.load(self.path, threads=1)

    def decode_request(self, request):
        """The text of a request."""
        return str(request["input"])

    def predict(self, text: str) -> dict[str, Any]:
        """The answer for a text, in our own shape."""
        prediction = self.classifier.predict([text])[0]
        return {"results": [{"label": prediction.label, "probability": prediction.top[0][1]}]}

    def encode_response(self, output: dict[str, Any]) -> dict[str, Any]:
        """The response."""
        return output


def serve(model: str, port: int) -> None:
    """Serve with the defaults: one worker, no batching."""
    litserve.LitServer(Api(model), accelerator="cpu").run(
        host="127.0.0.1", port=port, generate_client_file=False, log_level="warning"
    )
