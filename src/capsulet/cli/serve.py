"""Serve models over HTTP, with a page.

examples:
  capsulet serve model                                     http://127.0.0.1:8000
  capsulet serve news=models/news spam.safetensors         several models; the first is named news
  capsulet serve model --feedback feedback.jsonl           store corrections of answers
  capsulet serve model --workers 0 --host 0.0.0.0          every core, every network: set CAPSULET_TOKEN
  capsulet serve model --engine ray --replicas 4           models run on Ray Serve

The first model is the default. A new model at the same path is loaded without a restart. With CAPSULET_TOKEN or
--token-file, requests need the header Authorization: Bearer TOKEN. docs/how-to/serve.md describes the paths and how to
deploy.
"""

from __future__ import annotations

import os

from capsulet.errors import InputError
from capsulet.serve.settings import LIMITS, LOGS, Settings

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

ARGUMENTS = {
    "MODEL…": "model folder or .safetensors file, or NAME=PATH",
    "--host HOST=127.0.0.1": "address to listen on; 0.0.0.0: every network",
    "--port N=8000": "port to listen on; 0: a free one",
    "--workers N=1": "processes; 0: one per core, or fewer if the CPU quota is smaller",
    "--feedback FILE": "append corrections to this file, as JSON lines that `train` takes",
    f"--log {'|'.join(LOGS)}": "log errors only, or also requests, or also the texts",
    "access": {
        "--token-file FILE": "file with the bearer token; without it, CAPSULET_TOKEN is the token if it is set",
        "--cors ORIGIN…": "origin whose pages may read answers, such as https://example.org; may be repeated",
        "--allowed-host NAME…": "host name that requests may have, such as a proxy's; may be repeated",
    },
    "limits": {f"--{name.replace('_', '-')} N={value}": words for name, (value, words) in LIMITS.items()},
    "Ray Serve": {
        "--engine local|ray": "run the models in this process or in replicas of Ray Serve",
        "--replicas N=2": "replicas with --engine ray",
        "--max-replicas N": "with --engine ray: start up to this many replicas under load",
    },
}


def run(arguments: argparse.Namespace) -> int:
    """Run `capsulet serve`; return the exit status."""
    from capsulet.serve.run import serve

    settings = Settings(
        arguments.host, token=token(arguments.token_file), cors=arguments.cors, allowed_hosts=arguments.allowed_host,
        feedback=arguments.feedback, log=arguments.log, **{name: getattr(arguments, name) for name in LIMITS},
    )  # fmt: skip
    most = arguments.replicas if arguments.max_replicas is None else arguments.max_replicas
    if not 1 <= arguments.replicas <= most:
        raise InputError(f"--replicas is {arguments.replicas} and --max-replicas {most}: expected 1 to --max-replicas")
    return serve(
        arguments.files, settings, arguments.port, workers=arguments.workers or None, engine=arguments.engine,
        replicas=(arguments.replicas, most),
    )  # fmt: skip


def token(path: str | None) -> str | None:
    """The bearer token, from a file or the environment: command lines are visible to other users."""
    secret = os.environ.get("CAPSULET_TOKEN")
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                secret = file.read()
        except (OSError, ValueError) as error:
            raise InputError(f"--token-file {path} cannot be read: {error}; name another file") from None
    secret = secret.strip() if secret is not None else None
    if secret is None:
        return None
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InputError("the token is empty or has blanks: expected visible ASCII characters")
    return secret
