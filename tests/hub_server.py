"""A stand-in of the HTTP API of the Hugging Face Hub, in this process and on the loopback interface.

It has what the client needs to create a repository, to commit files (small ones in the commit, others by LFS), to list
them and to download them. Repositories are dictionaries of files by path.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """The server, with its repositories by kind, name and revision, such as models/me/model@main."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.objects: dict[str, bytes] = {}  # of LFS, by digest
        self.requests: list[str] = []

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def files(self, kind: str, name: str, revision: str) -> dict[str, bytes] | None:
        """The files of a repository; None: there is none."""
        revision = "main" if revision == COMMIT else unquote(revision)
        return self.repositories.get(f"{kind}/{name}@{revision}")


class Handler(BaseHTTPRequestHandler):
    """Answers requests of the client."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        path = urlsplit(self.path).path
        if match := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)(?:/revision/([^/]+))?", path):
            files = self.server.files(match[1], match[2], match[3] or "main")
            if files is not None:
                names = [{"rfilename": name} for name in files]
                return self.send({"id": match[2], "sha": COMMIT, "siblings": names, "private": False, "tags": []})
        elif match := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)/tree/([^/]+)(?:/.*)?", path):
            files = self.server.files(match[1], match[2], match[3])
            if files is not None:
                return self.send([self.description(name, data) for name, data in files.items()])
        elif match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            files = self.server.files("datasets" if match[1] else "models", match[2], match[3])
            if files is not None and (data := files.get(unquote(match[4]))) is not None:
                etag = hashlib.sha256(data).hexdigest()
                return self.send(data, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"})
        return self.send({"error": "not found"}, {"X-Error-Code": "RepoNotFound"}, 404)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        body, path = self.rfile.read(int(self.headers.get("Content-Length") or 0)), urlsplit(self.path).path
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            if name.startswith("others/"):
                return self.send({"error": "forbidden"}, status=403)
            self.server.repositories.setdefault(f"models/{name}@main", {})
            return self.send({"url": f"{self.server.address}/{name}", "name": name, "id": name})
        if path == "/api/validate-yaml":
            return self.send({"errors": [], "warnings": []})
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/preupload/main", path):
            modes = [
                {"path": file["path"], "shouldIgnore": False, "uploadMode": "lfs" if file["size"] > 5000 else "regular"}
                for file in json.loads(body)["files"]
            ]
            return self.send({"files": modes})
        if re.fullmatch(r"/[^/]+/[^/]+\.git/info/lfs/objects/batch", path):
            objects = [
                {**one, "actions": {"upload": {"href": f"{self.server.address}/lfs/{one['oid']}"}}}
                for one in json.loads(body)["objects"]
            ]
            return self.send({"transfer": "basic", "objects": objects})
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commit/main", path):
            self.commit(self.server.repositories[f"models/{match[1]}@main"], body)
            url = f"{self.server.address}/{match[1]}/commit/{COMMIT}"
            return self.send({"success": True, "commitOid": COMMIT, "commitUrl": url})
        if match := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)/paths-info/([^/]+)", path):
            files = self.server.files(match[1], match[2], match[3])
            if files is not None:
                wanted = parse_qs(body.decode())["paths"]
                return self.send([self.description(name, files[name]) for name in wanted if name in files])
        return self.send({"error": "not found"}, {"X-Error-Code": "RepoNotFound"}, 404)

    def do_PUT(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.objects[self.path.rpartition("/")[2]] = body
        self.send(b"")

    def commit(self, files: dict[str, bytes], body: bytes) -> None:
        """Add the files of a commit."""
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]

    def description(self, name: str, data: bytes) -> dict[str, Any]:
        """A file in a list."""
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha256(data).hexdigest()[:40]}

    def send(self, value: Any, headers: dict[str, str] | None = None, status: int = 200) -> None:
        """Send bytes or JSON."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def running() -> Iterator[Hub]:
    """A server that runs in a thread."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
