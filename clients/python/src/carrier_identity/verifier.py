"""Checks access tokens, offline or with `POST /auth/check-token`."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, TypeVar

import httpx
import jwt

log = logging.getLogger("carrier_identity")
T = TypeVar("T")

# Seconds: lifetime of the key set, pause between unknown keys, longest pause after a failure.
KEYS_FRESH, KEYS_COOLDOWN, RETRY_AFTER_MAX = 300, 30, 30


class InvalidToken(Exception):
    """The token is forged, expired or revoked: respond with 401."""


class Unavailable(Exception):
    """The token cannot be checked at the moment: respond with 503, never with 401."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Caller:
    """The user of a token. `name` is empty in mode `offline`."""

    user_id: str
    session_id: str
    user_type: str
    carrier_id: str | None
    roles: frozenset[str]
    permissions: frozenset[str]
    amr: frozenset[str]
    auth_time: int
    name: str

    def can(self, permission: str) -> bool:
        """Returns whether the user has a permission. `*` grants all permissions."""
        return not self.permissions.isdisjoint((permission, "*"))


class Verifier:
    """Checks tokens. Thread-safe. Create one verifier per process."""

    def __init__(
        self, url: str, *, mode: Literal["check", "offline"] = "check", issuer: str | None = None,
        audience: str = "carrier-platform", roles: Mapping[str, Collection[str]] | None = None,
        cache: float = 5, cache_size: int = 10_000, leeway: float = 5, timeout: float = 3,
    ) -> None:
        self._mode, self._audience, self._leeway, self._timeout = mode, audience, leeway, timeout
        self._issuer, self._roles = issuer or url.rstrip("/"), {"administrator": ("*",), **(roles or {})}
        self._http = httpx.Client(base_url=url, timeout=timeout)
        self._pool, self._lock = ThreadPoolExecutor(8, "carrier-identity"), threading.Lock()
        self._asking: dict[str, Future[Any]] = {}
        self._retry_at = float("-inf")
        self._keys: tuple[dict[str | None, jwt.PyJWK], float] = ({}, float("-inf"))
        self._answers: dict[str, tuple[Caller | None, float]] = {}
        self._cache, self._cache_size = cache, cache_size

    def close(self) -> None:
        """Closes the connections to the service."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._http.close()

    def verify(self, token: str) -> Caller:
        """Returns the user of a token. Raises `InvalidToken` or `Unavailable`."""
        # Mode `check` begins like this as well, so that forged tokens cause no requests.
        claims = self._claims(token)
        if self._mode == "offline":
            roles = claims.get("roles", ())
            of_roles = [permission for role in roles for permission in self._roles.get(role, ())]
            return _caller(claims, roles, claims.get("permissions", of_roles))
        with self._lock:
            caller, until = self._answers.get(token, (None, float("-inf")))
        if monotonic() >= until:
            caller = self._ask(token, lambda: self._check(token, claims))
        if caller is None:
            raise InvalidToken("revoked")
        return caller

    def _claims(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            if header.get("typ") != "at+jwt" or header.get("alg") != "ES256":
                raise InvalidToken("not an access token")
            key, aud, iss, leeway = self._key(header.get("kid")), self._audience, self._issuer, self._leeway
            needed: Any = {"require": ["iss", "aud", "exp", "sub", "sid"]}
            return jwt.decode(token, key, ["ES256"], needed, audience=aud, issuer=iss, leeway=leeway)
        except jwt.InvalidTokenError as error:
            raise InvalidToken(str(error)) from error

    def _key(self, kid: str | None) -> jwt.PyJWK:
        keys, fetched = self._keys
        if monotonic() - fetched > (KEYS_FRESH if kid in keys else KEYS_COOLDOWN):
            keys = self._ask("keys", self._fetch_keys)
        if kid not in keys:
            raise InvalidToken("unknown key")
        return keys[kid]

    def _fetch_keys(self) -> dict[str | None, jwt.PyJWK]:
        try:
            keys = jwt.PyJWKSet.from_dict(self._request("GET", "/.well-known/jwks.json")).keys
        except jwt.PyJWTError as error:
            raise self._failure(f"key set: {error}") from error
        self._keys = ({key.key_id: key for key in keys}, monotonic())
        return self._keys[0]

    def _check(self, token: str, claims: dict[str, Any]) -> Caller | None:
        until = monotonic() + self._cache
        try:
            user = (answer := self._request("POST", "/auth/check-token", {"token": token}))["user"]
            caller: Caller | None = _caller(claims, user["roles"], answer["permissions"], user["name"])
        except InvalidToken:
            caller, until = None, float("inf")
        except (KeyError, TypeError) as error:
            raise self._failure(f"check-token: {error}") from error
        with self._lock:
            self._answers.pop(token, None)
            self._answers[token] = (caller, until)
            while len(self._answers) > self._cache_size:
                del self._answers[next(iter(self._answers))]
        return caller

    def _ask(self, question: str, request: Callable[[], T]) -> T:
        """Shares one request between threads that ask the same. Waits up to `timeout`."""
        with self._lock:
            seconds = self._retry_at - monotonic()
            if seconds > 0:
                raise Unavailable("the service was not available a moment ago", seconds)
            future: Future[T] | None = self._asking.get(question)
            if future is None:
                future = self._asking[question] = self._pool.submit(request)
                future.add_done_callback(lambda _: self._asking.pop(question, None))
        try:
            return future.result(self._timeout)
        except (FutureTimeoutError, CancelledError) as error:
            future.cancel()
            raise self._failure("no response in time") from error

    def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        after = 1.0
        try:
            response = self._http.request(method, path, json=body)
            seconds = response.headers.get("retry-after", "")
            after = float(seconds) if seconds.isdecimal() else after
            answer: dict[str, Any] = response.json()
            if response.status_code == 200:
                return answer
            problem = f"{response.status_code} {answer['code']}"
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            problem = repr(error)
        if problem == "401 auth.token_invalid":
            raise InvalidToken(problem)
        raise self._failure(f"{path}: {problem}", after)

    def _failure(self, message: str, retry_after: float = 1) -> Unavailable:
        """Fails checks immediately until the pause has passed, to not load a busy service."""
        log.warning("Tokens cannot be checked: %s", message)
        seconds = min(max(retry_after, 1), RETRY_AFTER_MAX)
        self._retry_at = monotonic() + seconds
        return Unavailable(message, seconds)


def _caller(claims: dict[str, Any], roles: Collection[str], granted: Collection[str], name: str = "") -> Caller:
    user, session, kind, carrier = (claims.get(claim, "") for claim in ("sub", "sid", "user_type", "carrier_id"))
    names = (frozenset(roles), frozenset(granted), frozenset(claims.get("amr", ())))
    return Caller(user, session, kind, carrier or None, *names, claims.get("auth_time", 0), name)
