"""A dependency of FastAPI that checks tokens and permissions."""

from collections.abc import Callable
from math import ceil

from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from .verifier import Caller, InvalidToken, Unavailable, Verifier

_bearer = HTTPBearer(auto_error=False)


def guard(verifier: Verifier) -> Callable[..., Callable[..., Caller]]:
    """Returns `requires`. `Depends(requires("billing:read"))` injects the caller."""

    def requires(*permissions: str) -> Callable[..., Caller]:
        # Not `async`, so that FastAPI runs it in a thread: a check can wait for the service.
        def check(credentials: HTTPAuthorizationCredentials | None = Depends(_bearer)) -> Caller:
            if credentials is None:
                raise HTTPException(401, "Send an access token.", {"WWW-Authenticate": "Bearer"})
            try:
                caller = verifier.verify(credentials.credentials)
            except InvalidToken as error:
                headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
                raise HTTPException(401, "The token is not valid. Log in again.", headers) from error
            except Unavailable as error:
                headers = {"Retry-After": str(ceil(error.retry_after))}
                raise HTTPException(503, "The token cannot be checked at the moment. Try again.", headers) from error
            if not all(map(caller.can, permissions)):
                scope = " ".join(permissions)
                headers = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'}
                raise HTTPException(403, f"A permission is missing: {scope}", headers)
            return caller

        return check

    return requires
