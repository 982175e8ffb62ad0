"""Client of carrier-identity: checks access tokens and follows the users."""

from .sync import Batch, sync
from .verifier import Caller, InvalidToken, Unavailable, Verifier

__all__ = ["Batch", "Caller", "InvalidToken", "Unavailable", "Verifier", "sync"]
