"""The service under test, which `test/clients/python.spec.ts` starts, and a proxy that can fail."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import httpx

URL, KEY, ISSUER = os.environ["IDENTITY_URL"], os.environ["IDENTITY_KEY"], os.environ["ISSUER"]
PASSWORD = "correct horse battery staple"
_admin = {"Authorization": f"Bearer {os.environ['ADMIN_TOKEN']}"}
_numbers = count()


def send(method: str, path: str, body: object = None, token: str | None = None) -> Any:
    """Sends a request, as the administrator unless `token` is given. Omits an empty `token`."""
    headers = _admin if token is None else {"Authorization": f"Bearer {token}"} if token else {}
    response = httpx.request(method, URL + path, json=body, headers=headers, timeout=30).raise_for_status()
    return response.json() if response.content else None


def create_user(**fields: object) -> dict[str, Any]:
    """Creates a user with a password that need not be changed."""
    name = f"py{os.getpid()}-{next(_numbers)}"
    user = {"user_type": "carrier", "carrier_id": "c1", "name": name, "email": f"{name}@example.com", **fields}
    created: dict[str, Any] = send("POST", "/user/create", {**user, "password": PASSWORD, "must_change_password": False})
    return created


def log_in(name: str, **limits: object) -> str:
    """Returns an access token."""
    answer = send("POST", "/auth/login", {"login": name, "password": PASSWORD, **limits}, token="")
    return str(answer["access_token"])


def log_in_as(**fields: object) -> str:
    """Creates a user, and returns an access token."""
    return log_in(create_user(**fields)["name"])


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until the service has done background work."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition is not met in time"
        time.sleep(0.02)


class Front:
    """Forwards requests to the service. `fail` sets what happens instead."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.failure: str | None = None
        self.delay = 0.0
        front, self._stopped = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def handle_any(self) -> None:
                front.requests[self.path.split("?")[0]] += 1
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                front._stopped.wait(front.delay)
                if front.failure == "hang":
                    front._stopped.wait(20)
                if front.failure in ("hang", "cut"):
                    self.close_connection = True
                    return
                if front.failure is not None:
                    return self.respond(int(front.failure), {"Retry-After": "7"}, b"<html>")
                headers = {name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers}
                answer = httpx.request(self.command, URL + self.path, content=body, headers=headers, timeout=40)
                self.respond(answer.status_code, {"Content-Type": answer.headers["content-type"]}, answer.content)

            def respond(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = handle_any

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
