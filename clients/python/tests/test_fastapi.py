"""Tests of the dependency of FastAPI against the service."""

import logging
import unittest

from carrier_identity import Caller, Verifier
from carrier_identity.fastapi import guard
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from identity import ISSUER, Front, create_user, log_in, log_in_as

logging.disable()


class GuardTest(unittest.TestCase):
    def setUp(self) -> None:
        self.front = Front()
        self.addCleanup(self.front.close)
        verifier = Verifier(self.front.url, issuer=ISSUER, cache=0, timeout=0.5)
        self.addCleanup(verifier.close)
        app, requires = FastAPI(), guard(verifier)

        @app.get("/invoices")
        def invoices(caller: Caller = Depends(requires("billing:read"))) -> str:
            return caller.name

        @app.get("/both")
        async def both(caller: Caller = Depends(requires("billing:read", "billing:write"))) -> str:
            return caller.name

        self.client = TestClient(app)

    def get(self, path: str, authorization: str | None) -> tuple[int, str | None, str | None]:
        headers = {} if authorization is None else {"Authorization": authorization}
        response = self.client.get(path, headers=headers)
        return response.status_code, response.headers.get("www-authenticate"), response.headers.get("retry-after")

    def test_lets_a_user_with_the_permission_pass(self) -> None:
        user = create_user(roles=["clerk"])
        for scheme in ("Bearer", "bearer"):
            headers = {"Authorization": f"{scheme} {log_in(user['name'])}"}
            response = self.client.get("/invoices", headers=headers)
            self.assertEqual((response.status_code, response.json()), (200, user["name"]))

    def test_rejects_a_request_without_a_token_or_with_an_invalid_one(self) -> None:
        for nothing in (None, "", "Bearer", "Basic eDp5"):
            self.assertEqual(self.get("/invoices", nothing), (401, "Bearer", None), nothing)
        for invalid in ("x", f"{log_in_as()[:-4]}AAAA"):
            expected = (401, 'Bearer error="invalid_token"', None)
            self.assertEqual(self.get("/invoices", f"Bearer {invalid}"), expected)

    def test_names_the_permissions_of_which_one_is_missing(self) -> None:
        for roles, path, scope in (([], "/invoices", "billing:read"), (["clerk"], "/both", "billing:read billing:write")):
            expected = (403, f'Bearer error="insufficient_scope", scope="{scope}"', None)
            self.assertEqual(self.get(path, f"Bearer {log_in_as(roles=roles)}"), expected)

    def test_responds_with_503_and_retry_after_while_the_service_is_away(self) -> None:
        token = log_in_as(roles=["clerk"])
        self.front.failure = "429"
        self.assertEqual(self.get("/invoices", f"Bearer {token}"), (503, None, "7"))
        self.assertEqual(self.get("/invoices", None), (401, "Bearer", None))


if __name__ == "__main__":
    unittest.main()
