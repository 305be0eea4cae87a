"""A ledger on Redis, for workers on several machines: at most once, wherever a turn is tried again.

    client = redis.Redis(host="...", socket_timeout=5)
    run_turn(..., ledger=RedisLedger(client), run_key="turn-4711/2")

Redis must not lose what it was told: `maxmemory-policy noeviction` and `appendonly yes`, with
`appendfsync always` where a crash of its machine counts too.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import redis

from finalcall.correction.ledger import Entry, decode_entry, encode_result


class RedisLedger:
    """One key a call: empty while no result is known, then the result as JSON.

    Its methods are synchronous, one or two round trips each.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        keep: timedelta = timedelta(days=7),
        prefix: str = "finalcall:",
    ) -> None:
        """Use a client; it stays yours to close.

        Args:
            client: Safe to share between threads, as redis-py's is.
            keep: How long an entry stays. A turn that is tried again later runs its calls again.
            prefix: What the names of all keys begin with.
        """
        self._client = client
        self._keep = keep
        self._prefix = prefix

    def begin(self, run_key: str, fingerprint: str, occurrence: int) -> Entry | None:
        """Note that a call is about to be dispatched, unless it is noted already."""
        key = self._key(run_key, fingerprint, occurrence)
        if self._client.set(key, b"", nx=True, ex=self._keep):
            return None
        # An entry that expired just now reads as one without a result, which is never run.
        return decode_entry(self._client.get(key))

    def finish(self, run_key: str, fingerprint: str, occurrence: int, result: Any) -> None:
        """Note the result of a call that was begun."""
        key = self._key(run_key, fingerprint, occurrence)
        self._client.set(key, encode_result(result), ex=self._keep)

    def _key(self, run_key: str, fingerprint: str, occurrence: int) -> str:
        # The last two hold no colon, so no two calls share a key.
        return f"{self._prefix}{run_key}:{fingerprint}:{occurrence}"
