"""Read and check the fields of JSON bodies. Every refusal says what was found and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from capsulet.serve.messages import JSON, RefusalError, Request
from capsulet.serve.settings import Settings

LONGEST = 40  # characters of a value that a message prints


def read_object(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request."""
    if request.content_type != JSON:
        found = repr(request.content_type) if request.content_type else "missing"
        raise RefusalError(415, f"the header Content-Type is {found}: expected {JSON}")
    return parse_object(request.body)


def read_fields(request: Request, names: Sequence[str]) -> dict[str, Any]:
    """The JSON object in the body of a request, which has no other fields than these."""
    values = read_object(request)
    check_names(values, names, "fields")
    return values


def check_names(values: Iterable[str], names: Sequence[str], what: str) -> None:
    """Refuse a name that is not among those that are known."""
    if unknown := next((name for name in values if name not in names), None):
        raise RefusalError(422, f"{shown(unknown)} is unknown: expected the {what} {', '.join(names)}")


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in some bytes."""
    value = parse(body)
    if not isinstance(value, dict):
        raise RefusalError(422, f"the body is {kind(value)}: expected a JSON object")
    return value


def parse(body: bytes) -> Any:
    """The JSON value in some bytes of UTF-8, without NaN and infinity."""
    try:
        return json.loads(body.decode(), parse_constant=no_constant)
    except UnicodeDecodeError as error:
        raise RefusalError(400, f"byte {error.start} of the body is not UTF-8: send the text in UTF-8") from None
    except RecursionError:
        raise RefusalError(400, "the JSON of the body is nested too deeply: expected a flat object") from None
    except ValueError as error:
        raise RefusalError(400, f"the body is not JSON: {error}") from None


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and infinity, which JSON does not have."""
    raise ValueError(f"{name} is not a JSON number")


def kind(value: Any) -> str:
    """The JSON type of a value, for messages."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names = {"str": "a string", "dict": "an object", "list": "a list"}
    return names.get(type(value).__name__, "a number")


def texts_of(value: Any, name: str, settings: Settings) -> list[str]:
    """The texts of a field that is a string or a list of strings, within the limits."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise RefusalError(422, f"{name} is {kind(value)}: expected a string or a list of strings")
    if len(texts) > settings.max_texts:
        raise RefusalError(
            413, f"{name} has {len(texts):,} texts: expected at most {settings.max_texts:,}; send several requests"
        )
    for place, text in enumerate(texts):
        check_text(text, name if texts is not value else f"{name}[{place}]", settings.max_length)
    return texts


def check_text(text: Any, name: str, most: int) -> None:
    """Refuse a value that is not a text, a text that is too long, and one that is not valid Unicode."""
    if not isinstance(text, str):
        raise RefusalError(422, f"{name} is {kind(text)}: expected a string")
    if len(text) > most:
        raise RefusalError(413, f"{name} has {len(text):,} characters: expected at most {most:,}; cut or split it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RefusalError(
                422, f"{name} has half a surrogate pair at character {error.start}: expected Unicode"
            ) from None


def flag(values: dict[str, Any], name: str) -> bool:
    """A field that is true or false; false if it is absent or null."""
    value = values.get(name)
    if value is not None and not isinstance(value, bool):
        raise RefusalError(422, f"{name} is {kind(value)}: expected true or false")
    return bool(value)


def whole_number(values: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A field that is an integer in a range."""
    value = values.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RefusalError(422, f"{name} is {shown(value)}: expected an integer from {least} to {most}")
    return value


def name_of(values: dict[str, Any], name: str = "model") -> str | None:
    """A field that is a name; None if it is absent or null."""
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise RefusalError(422, f"{name} is {kind(value)}: expected a string")
    return value


def label_of(values: dict[str, Any], name: str, labels: tuple[str, ...]) -> str | None:
    """A field that is a label of the model; None if it is absent or null."""
    value = name_of(values, name)
    if value is not None and value not in labels:
        raise RefusalError(422, f"{name} is {shown(value)}: expected one of the labels of the model, which /info lists")
    return value


def shown(value: Any) -> str:
    """A short form of a value for messages."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return kind(value)
    text = value if isinstance(value, str) else str(value) if abs(value) < 1e15 else "a large number"
    return repr(text[:LONGEST] + "…" if len(text) > LONGEST else text) if isinstance(value, str) else text
