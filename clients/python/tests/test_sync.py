"""Tests of `sync` against the service."""

import logging
import os
import threading
import unittest
from collections.abc import Iterator
from typing import Any

import httpx
from carrier_identity import Batch, sync
from identity import KEY, URL, Front, create_user, send, until

logging.disable()


class Copy:
    """A copy of the users, kept by a thread until its end."""

    def __init__(self, url: str, after: str | None = None) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.cursor = after
        self.resets = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(sync(url, KEY, after=after, wait=1),))
        self._thread.start()

    def _run(self, batches: Iterator[Batch]) -> None:
        for batch in batches:
            if batch.reset:
                self.users.clear()
                self.resets += 1
            self.users.update((user["user_id"], user) for user in batch.users)
            for user_id in batch.deleted:
                self.users.pop(user_id, None)
            self.cursor = batch.cursor
            if self._stopped.is_set():
                return

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


class SyncTest(unittest.TestCase):
    def setUp(self) -> None:
        self.front = Front()
        self.addCleanup(self.front.close)

    def copy(self, after: str | None = None) -> Copy:
        copy = Copy(self.front.url, after)
        self.addCleanup(copy.stop)
        return copy

    def names(self, copy: Copy) -> set[str]:
        return {user["name"] for user in list(copy.users.values())}

    def test_begins_with_the_list_and_follows_changes_and_deletions(self) -> None:
        kept, deleted = create_user(attributes={"tier": "gold"}), create_user()
        copy = self.copy()
        until(lambda: {kept["name"], deleted["name"]} <= self.names(copy) and copy.cursor is not None)
        created = create_user()
        send("PATCH", f"/user/{kept['user_id']}", {"locale": "de-AT"})
        send("DELETE", f"/user/{deleted['user_id']}")
        until(lambda: deleted["user_id"] not in copy.users and created["name"] in self.names(copy))
        until(lambda: copy.users[kept["user_id"]]["locale"] == "de-AT")
        self.assertEqual(copy.resets, 1)
        # Users have the same fields, no matter where they come from.
        self.assertEqual(len({frozenset(user) for user in copy.users.values()}), 1)
        send("POST", f"/user/{deleted['user_id']}/restore")
        until(lambda: deleted["user_id"] in copy.users)

    def test_reads_the_list_page_by_page_and_has_no_cursor_before_its_end(self) -> None:
        cursors = []
        body = "".join(
            f'{{"name":"many{number}","email":"many{number}@example.com","user_type":"carrier","carrier_id":"c2"}}\n'
            for number in range(600)
        )
        headers = {"Authorization": f"Bearer {os.environ['ADMIN_TOKEN']}", "Content-Type": "application/x-ndjson"}
        httpx.post(f"{URL}/user/import", content=body, headers=headers, timeout=60).raise_for_status()
        found: list[str] = []
        for batch in sync(URL, KEY, wait=1):
            found += [user["name"] for user in batch.users]
            cursors.append(batch.cursor)
            self.assertEqual(batch.reset, len(cursors) == 1)
            if batch.cursor is not None:
                break
        self.assertLessEqual({f"many{number}" for number in range(600)}, set(found))
        self.assertEqual(len(found), len(set(found)))
        self.assertGreaterEqual(len(cursors), 2)
        self.assertEqual(set(cursors[:-1]), {None})

    def test_continues_from_a_stored_cursor_without_the_list(self) -> None:
        copy = self.copy()
        until(lambda: copy.cursor is not None)
        copy.stop()
        user = create_user()
        lists = self.front.requests["/user/list"]
        second = self.copy(copy.cursor)
        until(lambda: self.names(second) == {user["name"]})
        self.assertEqual((second.resets, self.front.requests["/user/list"]), (0, lists))

    def test_begins_again_when_the_cursor_has_expired(self) -> None:
        user = create_user()
        copy = self.copy(os.environ["EXPIRED_CURSOR"])
        until(lambda: user["name"] in self.names(copy) and copy.cursor is not None)
        self.assertEqual(copy.resets, 1)

    def test_waits_while_the_service_is_away(self) -> None:
        copy = self.copy()
        until(lambda: copy.cursor is not None)
        self.front.failure = "cut"
        requests = self.front.requests["/change/list"]
        user = create_user()
        until(lambda: self.front.requests["/change/list"] >= requests + 2)
        self.front.failure = None
        until(lambda: user["name"] in self.names(copy))
        self.assertEqual(copy.resets, 1)

    def test_raises_for_a_wrong_key(self) -> None:
        with self.assertRaises(httpx.HTTPStatusError) as caught:
            next(sync(URL, "cik_wrong"))
        self.assertEqual(caught.exception.response.status_code, 401)


if __name__ == "__main__":
    unittest.main()
