"""Tests of `Verifier` against the service."""

import base64
import json
import logging
import os
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
from carrier_identity import InvalidToken, Unavailable, Verifier
from cryptography.hazmat.primitives.asymmetric import ec
from identity import ISSUER, Front, create_user, log_in, log_in_as, send, until

logging.disable()
ROLES = {"clerk": ["billing:read"]}
CHECK, KEYS = "/auth/check-token", "/.well-known/jwks.json"


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


class VerifierTest(unittest.TestCase):
    def setUp(self) -> None:
        self.front = Front()
        self.addCleanup(self.front.close)

    def verifier(self, **options: Any) -> Verifier:
        verifier = Verifier(self.front.url, **{"issuer": ISSUER, "roles": ROLES, **options})
        self.addCleanup(verifier.close)
        return verifier

    def state(self, verifier: Verifier, token: str) -> str:
        try:
            verifier.verify(token)
        except (InvalidToken, Unavailable) as error:
            return type(error).__name__
        return "valid"

    def test_returns_the_user_and_the_permissions_in_both_modes(self) -> None:
        user = create_user(roles=["clerk"])
        token = log_in(user["name"])
        for mode in ("offline", "check"):
            caller = self.verifier(mode=mode).verify(token)
            self.assertEqual((caller.user_id, caller.user_type, caller.carrier_id), (user["user_id"], "carrier", "c1"))
            self.assertEqual((caller.roles, caller.amr), ({"clerk"}, {"pwd"}))
            self.assertEqual((caller.can("billing:read"), caller.can("billing:write")), (True, False))
            self.assertLess(abs(caller.auth_time - time.time()), 60)
            self.assertEqual(caller.name, user["name"] if mode == "check" else "")
            self.assertEqual(caller.session_id, jwt.decode(token, options={"verify_signature": False})["sid"])

    def test_grants_all_permissions_to_administrators(self) -> None:
        for mode in ("offline", "check"):
            self.assertTrue(self.verifier(mode=mode).verify(os.environ["ADMIN_TOKEN"]).can("billing:write"))

    def test_limits_a_token_to_its_audience_and_permissions(self) -> None:
        token = log_in(create_user(roles=["clerk"])["name"], audience=["billing"], permissions=[])
        for mode in ("offline", "check"):
            self.assertEqual(self.state(self.verifier(mode=mode), token), "InvalidToken")
            caller = self.verifier(mode=mode, audience="billing").verify(token)
            self.assertFalse(caller.can("billing:read"))

    def test_rejects_forged_and_foreign_tokens_without_asking_about_them(self) -> None:
        verifier = self.verifier()
        token = log_in_as()
        head, claims, signature = token.split(".")
        payload = jwt.decode(token, options={"verify_signature": False})
        key, kid = ec.generate_private_key(ec.SECP256R1()), jwt.get_unverified_header(token)["kid"]
        forged = [
            "",
            "x",
            "a.b.c",
            f"{head}.{claims}.{signature[:-4]}AAAA",
            f"{head}.{encoded({**payload, 'roles': ['administrator']})}.{signature}",
            f"{encoded({'alg': 'none', 'typ': 'at+jwt', 'kid': kid})}.{claims}.",
            jwt.encode(payload, key, "ES256", {"kid": kid, "typ": "at+jwt"}),
            jwt.encode(payload, "x" * 32, "HS256", {"kid": kid, "typ": "at+jwt"}),
            *(jwt.encode(payload, key, "ES256", {"kid": f"unknown{number}", "typ": "at+jwt"}) for number in range(9)),
        ]
        for one in forged:
            self.assertEqual(self.state(verifier, one), "InvalidToken", one)
        self.assertEqual(self.state(self.verifier(audience="other"), token), "InvalidToken")
        self.assertEqual(self.state(self.verifier(issuer="https://other.example"), token), "InvalidToken")
        self.assertEqual(self.state(self.verifier(leeway=-3600), token), "InvalidToken")
        self.assertEqual(self.front.requests[CHECK], 0)
        # Nine unknown keys in a row cause one request.
        self.assertLessEqual(self.front.requests[KEYS], 4)
        self.assertEqual(self.state(verifier, token), "valid")

    def test_rejects_tokens_of_another_type(self) -> None:
        """A token that the service signed for something else has another `typ`."""
        key = ec.generate_private_key(ec.SECP256R1())
        verifier = self.verifier(mode="offline")
        payload = jwt.decode(log_in_as(), options={"verify_signature": False})
        public = jwt.PyJWK({**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "alg": "ES256"})
        verifier._keys = ({"own": public}, time.monotonic())
        signed = {typ: jwt.encode(payload, key, "ES256", {"kid": "own", "typ": typ}) for typ in ("JWT", "at+jwt")}
        self.assertEqual([self.state(verifier, signed[typ]) for typ in signed], ["InvalidToken", "valid"])

    def test_sees_the_end_of_a_session_when_the_answer_is_too_old(self) -> None:
        token = log_in_as()
        cached, fresh, offline = self.verifier(cache=60), self.verifier(cache=0), self.verifier(mode="offline")
        for verifier in (cached, fresh, offline):
            self.assertEqual(self.state(verifier, token), "valid")
        send("POST", "/auth/logout", {}, token)
        states = [self.state(verifier, token) for verifier in (cached, fresh, offline)]
        self.assertEqual(states, ["valid", "InvalidToken", "valid"])
        before = self.front.requests[CHECK]
        self.assertEqual(self.state(fresh, token), "InvalidToken")
        self.assertEqual(self.front.requests[CHECK], before, "asks again about a rejected token")

    def test_asks_once_about_a_token_that_many_threads_check(self) -> None:
        verifier, token = self.verifier(), log_in_as()
        self.front.delay = 0.5
        with ThreadPoolExecutor(20) as threads:
            states = list(threads.map(lambda _: self.state(verifier, token), range(20)))
        self.assertEqual(states, ["valid"] * 20)
        self.assertEqual((self.front.requests[CHECK], self.front.requests[KEYS]), (1, 1))

    def test_remembers_a_bounded_number_of_answers(self) -> None:
        verifier = self.verifier(cache=600, cache_size=2)
        name = create_user()["name"]
        first, *others = (log_in(name) for _ in range(3))
        for token in (first, *others, *others, first):
            self.assertEqual(self.state(verifier, token), "valid")
        self.assertEqual(self.front.requests[CHECK], 4)
        self.assertEqual(len(verifier._answers), 2)

    def test_never_rejects_a_token_because_the_service_is_away(self) -> None:
        token = log_in_as()
        used, offline = self.verifier(cache=0, timeout=0.5), self.verifier(mode="offline", timeout=0.5)
        for verifier in (used, offline):
            self.assertEqual(self.state(verifier, token), "valid")
        for failure in ("cut", "hang", "503", "429", "401", "404"):
            self.front.failure = failure
            began = time.monotonic()
            for mode in ("offline", "check"):
                new = self.verifier(mode=mode, timeout=0.5)
                self.assertEqual(self.state(new, token), "Unavailable", failure)
            until(lambda: not used._asking)
            used._retry_at = 0
            with self.assertRaises(Unavailable) as caught:
                used.verify(token)
            self.assertEqual(caught.exception.retry_after, 1 if failure in ("cut", "hang") else 7)
            self.assertEqual(self.state(offline, token), "valid")
            self.assertLess(time.monotonic() - began, 5)
        self.front.failure, used._retry_at = None, 0
        self.assertEqual(self.state(used, token), "valid")

    def test_fails_at_once_for_a_moment_after_a_failure(self) -> None:
        verifier, tokens = self.verifier(cache=0), [log_in_as(), log_in_as()]
        self.assertEqual(self.state(verifier, tokens[0]), "valid")
        self.front.failure = "503"
        self.assertEqual([self.state(verifier, token) for token in tokens], ["Unavailable"] * 2)
        self.assertEqual(self.front.requests[CHECK], 2)


if __name__ == "__main__":
    unittest.main()
