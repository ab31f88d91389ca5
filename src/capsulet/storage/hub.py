"""Models on the Hugging Face Hub: the files of a model folder, uploaded and downloaded by `huggingface_hub`.

Only these files are downloaded, and they are read as local ones are: a model file has no code, and every size in it is
checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from capsulet.errors import CapsuletError, InputError
from capsulet.storage.folder import FILES
from capsulet.storage.model_file import MODEL
from capsulet.text.hub import import_hub

MOST_BYTES = 4 << 30  # of a model


def download_model(name: str, revision: str | None, token: str | None) -> Path:
    """Download a model and return its folder."""
    hub = import_hub("Loading a model from the Hub")
    try:
        sizes = {
            one.path: one.size for one in hub.HfApi(token=token).get_paths_info(name, list(FILES), revision=revision)
        }
    except Exception as error:  # the library raises its own errors, network errors and system errors
        raise InputError(f"{name} {problem(error)}: expected a model folder, or OWNER/NAME of the Hub") from None
    if MODEL not in sizes:
        raise InputError(f"{name} has no {MODEL}, so it is not a capsulet model: check the name")
    if sum(sizes.values()) > MOST_BYTES:
        raise InputError(f"{name} has {sum(sizes.values()):,} bytes, expected at most {MOST_BYTES:,}: check the name")
    try:
        return Path(hub.snapshot_download(name, revision=revision, token=token, allow_patterns=list(FILES)))
    except Exception as error:
        raise CapsuletError(f"{name} {problem(error)}: try again") from None


def upload_model(
    name: str, files: Mapping[str, bytes], private: bool | None, token: str | None, message: str, revision: str | None
) -> str:
    """Upload the files of a model in one commit, and return its address; the repository is created if it is missing."""
    hub = import_hub("Uploading a model to the Hub")
    api = hub.HfApi(token=token)
    try:
        place = api.create_repo(name, private=private, exist_ok=True).repo_id
        operations = [hub.CommitOperationAdd(path_in_repo=path, path_or_fileobj=data) for path, data in files.items()]
        commit = api.create_commit(place, operations, commit_message=message, revision=revision)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise CapsuletError(
            f"{name} cannot be uploaded ({reason}): check the name, and log in with `hf auth login`"
        ) from None
    return str(commit.commit_url)


def problem(error: Exception) -> str:
    """What went wrong with a download, in a few words."""
    return f"cannot be downloaded ({' '.join(str(error).split())[:150]})"
