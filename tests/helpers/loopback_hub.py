"""The Hugging Face hub's routes for one model, on loopback."""

import base64
import contextlib
import hashlib
import http.server
import json
import threading

COMMIT, OLDER = "c" * 40, "a" * 40


@contextlib.contextmanager
def running(name, folder, cache, monkeypatch):
    """A hub that holds a model of this name, the files of `folder`, and an empty cache.

    Yields its handler, whose `paths` are what was asked for. A folder that is not there yet is a
    name that is not there yet.
    """
    attributes = {"model": name, "folder": folder, "paths": [], "created": []}
    handler = type("Handler", (Hub,), attributes)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{httpd.server_port}")
        yield handler
        httpd.shutdown()


class Hub(http.server.BaseHTTPRequestHandler):
    """One model: its revisions, its files, and commits to it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.paths.append(self.path)
        path = self.path.partition("?")[0]
        if path == f"/api/models/{self.model}" and self.folder.is_dir():
            return self.json(self.facts(COMMIT))
        for kind, answer in (("revision", self.facts), ("tree", self.tree)):
            if path.startswith(f"/api/models/{self.model}/{kind}/"):
                revision = path.rpartition("/")[2]
                commit = OLDER if revision in ("v1", OLDER) else COMMIT
                known = revision in ("main", "v1", COMMIT, OLDER)
                return self.json(answer(commit)) if known else self.missing("RevisionNotFound")
        resolved = path.startswith(f"/{self.model}/resolve/")
        file = self.folder / path.rpartition("/")[2]
        if resolved and file.is_file():
            content = file.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()}"'
            return self.send(content, {"ETag": etag, "X-Repo-Commit": path.split("/")[4]})
        return self.missing("RepoNotFound")

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self):
        self.paths.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        url = f"http://{self.headers['Host']}/{self.model}"
        if self.headers.get("Authorization") != "Bearer hf_token":
            return self.send(b"{}", {"X-Error-Message": "Invalid username or password."}, 401)
        if self.path == "/api/repos/create":
            self.created.append(json.loads(body))
            self.folder.mkdir()
            return self.json({"url": url, "name": self.model})
        if self.path == "/api/validate-yaml":
            return self.json({"errors": [], "warnings": []})
        if self.path == f"/api/models/{self.model}/preupload/main":
            files = [{**x, "uploadMode": "regular"} for x in json.loads(body)["files"]]
            return self.json({"files": [{**x, "shouldIgnore": False} for x in files]})
        if self.path.startswith(f"/api/models/{self.model}/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    (self.folder / line["value"]["path"]).write_bytes(content)
            done = {"success": True, "commitOid": COMMIT, "commitUrl": f"{url}/commit/{COMMIT}"}
            return self.json(done)
        return self.missing("RepoNotFound")

    def facts(self, commit):
        return {"id": self.model, "sha": commit, "siblings": [{"rfilename": x} for x in self.files]}

    def tree(self, commit):
        sizes = {x: (self.folder / x).stat().st_size for x in self.files}
        return [{"type": "file", "path": x, "size": n, "oid": "0" * 40} for x, n in sizes.items()]

    @property
    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def json(self, content):
        self.send(json.dumps(content).encode(), {"Content-Type": "application/json"})

    def missing(self, code):
        self.send(b"{}", {"X-Error-Code": code}, 404)

    def send(self, content, headers, status=200):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *args):
        pass
