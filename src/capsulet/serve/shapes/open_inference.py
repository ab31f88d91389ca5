"""The Open Inference Protocol, version 2, with the extension for binary tensors that Triton's clients use.

A model has one input, `text` of type BYTES, and three outputs: `label`, `probability` and `probabilities`.
"""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Any

from capsulet import __version__
from capsulet.serve.fields import check_text, flag, kind, parse_object, shown
from capsulet.serve.messages import RefusalError, Request, Response, json_response, to_json
from capsulet.serve.models import Answers, Model
from capsulet.serve.server import Question
from capsulet.serve.shapes.own import ranked

if TYPE_CHECKING:
    from capsulet.serve.server import Server

HEADER = b"inference-header-content-length"
INPUT, OUTPUTS = "text", ("label", "probability", "probabilities")
VERSION = "1"


def failure(refusal: RefusalError) -> Response:
    """The response to a request that is refused."""
    return json_response({"error": refusal.message}, refusal.status)


def server_metadata(server: Server, request: Request) -> Response:
    """Name, version and extensions."""
    return json_response({"name": "capsulet", "version": __version__, "extensions": ["binary_tensor_data"]})


def live(server: Server, request: Request) -> Response:
    """The process runs."""
    return json_response({"live": True})


def ready(server: Server, request: Request) -> Response:
    """The models are loaded, and the server is not about to end."""
    name = {"name": server.models.find(request.path_variable).name} if request.path_variable else {}
    return json_response({**name, "ready": not server.draining}, 503 if server.draining else 200)


def model_metadata(server: Server, request: Request) -> Response:
    """Inputs and outputs of a model."""
    model = server.models.find(request.path_variable)
    classes = len(model.labels)
    shapes = {"label": ("BYTES", [-1]), "probability": ("FP32", [-1]), "probabilities": ("FP32", [-1, classes])}
    return json_response({
        "name": model.name, "versions": [VERSION], "platform": "capsulet",
        "inputs": [{"name": INPUT, "datatype": "BYTES", "shape": [-1]}],
        "outputs": [
            {"name": name, "datatype": datatype, "shape": shape, **labels(name, model)}
            for name, (datatype, shape) in shapes.items()
        ],
    })  # fmt: skip


def labels(name: str, model: Model) -> dict[str, Any]:
    """The labels of the columns of an output."""
    return {"parameters": {"labels": list(model.labels)}} if name == "probabilities" else {}


def infer(server: Server, request: Request) -> Question:
    """Answer a request for inference."""
    model = server.models.find(request.path_variable)
    values, binary = split(request)
    texts = input_texts(values, binary, server)
    wanted, as_binary = outputs(values)
    identity = values.get("id")
    if identity is not None and not isinstance(identity, str):
        raise RefusalError(422, f"id is {kind(identity)}: expected a string")
    return Question(model, texts, lambda answers: response(model, answers, identity, wanted, as_binary))


def split(request: Request) -> tuple[dict[str, Any], bytes]:
    """The JSON object of a request, and the bytes behind it."""
    given = request.headers.get(HEADER)
    if given is None:
        return parse_object(request.body), b""
    size = int(given) if given.isdigit() and len(given) < 12 else -1
    if not 0 <= size <= len(request.body):
        raise RefusalError(400, "the header Inference-Header-Content-Length is not a number of bytes of the body")
    return parse_object(request.body[:size]), request.body[size:]


def input_texts(values: dict[str, Any], binary: bytes, server: Server) -> list[str]:
    """The texts of the only input."""
    inputs = values.get("inputs")
    if not isinstance(inputs, list) or len(inputs) != 1 or not isinstance(inputs[0], dict):
        raise RefusalError(422, f"inputs is not a list of one tensor: expected one, named {INPUT}, of the type BYTES")
    (tensor,) = inputs
    if tensor.get("name") != INPUT or tensor.get("datatype") != "BYTES":
        found = f"{shown(tensor.get('name'))} of the type {shown(tensor.get('datatype'))}"
        raise RefusalError(422, f"the input is {found}: expected {INPUT!r} of the type BYTES")
    parameters = tensor.get("parameters") or {}
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    data = flat(tensor.get("data")) if size is None else binary_strings(binary, size)
    most = server.settings.max_texts
    if not data:
        raise RefusalError(422, "the input has no text: expected at least one")
    if len(data) > most:
        raise RefusalError(413, f"the input has {len(data):,} texts: expected at most {most:,}; send several requests")
    for place, text in enumerate(data):
        check_text(text, f"data[{place}]", server.settings.max_length)
    if shape_size(tensor.get("shape")) != len(data):
        raise RefusalError(422, f"the shape of the input does not match its {len(data)} texts: expected [{len(data)}]")
    return data


def flat(data: Any) -> list[Any]:
    """The values of a tensor, which may be nested by its shape."""
    if not isinstance(data, list):
        raise RefusalError(422, f"data is {kind(data)}: expected a list of strings")
    return [value for row in data for value in (row if isinstance(row, list) else [row])]


def shape_size(shape: Any) -> int:
    """The number of values of a shape; -1 if it is not a shape."""
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2:
        return -1
    size = 1
    for length in shape:
        if isinstance(length, bool) or not isinstance(length, int) or length < 0:
            return -1
        size *= length
    return size


def binary_strings(data: bytes, size: Any) -> list[str]:
    """The strings of a binary tensor: each is its length in four bytes and its UTF-8."""
    if size != len(data):
        raise RefusalError(422, f"binary_data_size is {shown(size)}, but {len(data)} bytes follow the JSON")
    found, place = [], 0
    while place < len(data):
        if place + 4 > len(data):
            raise RefusalError(422, "the binary data ends inside a length: expected four bytes and the text")
        (length,) = struct.unpack_from("<I", data, place)
        place += 4
        if length > len(data) - place:
            raise RefusalError(422, "the binary data ends inside a text: expected as many bytes as its length says")
        try:
            found.append(data[place : place + length].decode())
        except UnicodeDecodeError:
            raise RefusalError(422, f"text {len(found)} of the binary data is not UTF-8: send it in UTF-8") from None
        place += length
    return found


def outputs(values: dict[str, Any]) -> tuple[list[str], dict[str, bool]]:
    """The names of the requested outputs, and those requested in binary form."""
    parameters = values.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise RefusalError(422, f"parameters is {kind(parameters)}: expected an object")
    usual = flag(parameters, "binary_data_output")
    wanted = values.get("outputs")
    if wanted is None:
        return list(OUTPUTS), dict.fromkeys(OUTPUTS, usual)
    binary: dict[str, bool] = {}
    for entry in wanted if isinstance(wanted, list) else [wanted]:
        name = entry.get("name") if isinstance(entry, dict) else entry
        if not isinstance(name, str) or name not in OUTPUTS:
            raise RefusalError(422, f"the output {shown(name)} is unknown: expected one of {', '.join(OUTPUTS)}")
        chosen = entry.get("parameters") or {}
        is_set = isinstance(chosen, dict) and "binary_data" in chosen
        binary[name] = flag(chosen, "binary_data") if is_set else usual
    return list(binary), binary


def response(
    model: Model, answers: Answers, identity: str | None, wanted: list[str], as_binary: dict[str, bool]
) -> Response:
    """The response of all texts, with binary tensors behind the JSON where they are wanted."""
    places = [ranked(lengths, 1)[0] for lengths in answers.lengths]
    rows = answers.probabilities
    tensors: dict[str, tuple[str, list[int], list[Any]]] = {
        "label": ("BYTES", [len(rows)], [model.labels[place] for place in places]),
        "probability": ("FP32", [len(rows)], [row[place] for row, place in zip(rows, places, strict=True)]),
        "probabilities": ("FP32", [len(rows), len(model.labels)], [value for row in rows for value in row]),
    }
    described, tail = [], b""
    for name in wanted:
        datatype, shape, data = tensors[name]
        tensor: dict[str, Any] = {"name": name, "datatype": datatype, "shape": shape}
        if as_binary[name]:
            packed = packed_strings(data) if datatype == "BYTES" else array("f", data).tobytes()
            tensor["parameters"] = {"binary_data_size": len(packed)}
            tail += packed
        else:
            tensor["data"] = data
        described.append(tensor)
    head = {"model_name": model.name, "model_version": VERSION, "outputs": described}
    body = to_json({**head, "id": identity} if identity is not None else head)
    if not any(as_binary.values()):
        return Response(body)
    size = {"inference-header-content-length": str(len(body))}
    return Response(body + tail, "application/octet-stream", headers=size)


def packed_strings(values: list[str]) -> bytes:
    """A binary tensor of strings."""
    encoded = [value.encode() for value in values]
    return b"".join(struct.pack("<I", len(value)) + value for value in encoded)
