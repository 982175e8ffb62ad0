"""Follows the users of the service: first the list, then the change feed."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import uniform
from typing import Any

import httpx

log = logging.getLogger("carrier_identity")


@dataclass(frozen=True)
class Batch:
    """Users to store and ids to delete. Store the cursor in the same transaction, even if None."""

    reset: bool  # the list starts over: delete the old copy first
    users: list[dict[str, Any]]
    deleted: list[str]
    cursor: str | None  # `after` for the next call; None until the list is complete


def sync(url: str, key: str, *, after: str | None = None, wait: int = 25) -> Iterator[Batch]:
    """Yields all users, then changes without end. Yields an empty batch after `wait` seconds.
    Starts over with the list when the cursor has expired. Retries while the service is unavailable.
    Raises `httpx.HTTPStatusError` if the key is not valid or lacks `user:read` or `change:read`.
    """
    headers, timeout = {"Authorization": f"Bearer {key}"}, httpx.Timeout(10, read=wait + 10)
    with httpx.Client(base_url=url, headers=headers, timeout=timeout) as http:
        while True:
            if after is None:
                for batch in _list(http):
                    yield batch
                    after = batch.cursor
            page = _get(http, "/change/list", after=after, wait=wait, target_type="user", include="values")
            after = page["next_cursor"] if page else None
            if page is None:
                log.warning("The cursor of the change feed has expired: all users are read again.")
                continue
            found = {change["target_id"]: change.get("values") for change in page["items"]}
            deleted = [user_id for user_id, user in found.items() if user is None]
            yield Batch(False, [user for user in found.values() if user is not None], deleted, after)
            # A service that is stopping responds without waiting.
            time.sleep(0 if found else 0.2)


def _list(http: httpx.Client) -> Iterator[Batch]:
    place: dict[str, str] = {}
    reset, after = True, None
    while reset or place:
        page = _get(http, "/user/list", per_page=500, count="none", **place) or {}
        after = after or page["changes_cursor"]
        place = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
        # The feed has no values of these fields.
        users = [{name: user[name] for name in user.keys() - {"attributes", "last_login_ip"}} for user in page["items"]]
        yield Batch(reset, users, [], None if place else after)
        reset = False


def _get(http: httpx.Client, path: str, **parameters: str | int | None) -> dict[str, Any] | None:
    """Returns the response, or None if the cursor has expired. Retries failures with back-off."""
    seconds = 1.0
    while True:
        try:
            response = http.get(path, params=parameters)
            if response.status_code == 410:
                return None
            if response.status_code != 429 and response.status_code < 500:
                return dict(response.raise_for_status().json())
            after, failure = response.headers.get("retry-after", ""), str(response.status_code)
        except (httpx.RequestError, ValueError) as error:
            after, failure = "", repr(error)
        pause = min(float(after) if after.isdecimal() else seconds * uniform(0.5, 1), 60)
        log.warning("%s failed (%s). The next attempt follows in %.1f s.", path, failure, pause)
        time.sleep(pause)
        seconds = min(seconds * 2, 60)
