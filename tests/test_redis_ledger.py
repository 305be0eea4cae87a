"""The ledger on Redis, against a real server: what it promises beyond every ledger's contract."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from finalcall.correction.ledger import Entry
from tests import redis_server

CALL = ("turn-1/0", "f" * 64, 0)
KEY = f"finalcall:turn-1/0:{'f' * 64}:0"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with redis_server.running(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture(params=[False, True], ids=["bytes", "text"])
def client(port: int, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    """A client that gives back bytes, and one that gives back text."""
    with redis.Redis(port=port, decode_responses=request.param) as opened:
        opened.flushall()
        yield opened


@pytest.fixture(scope="module")
def example() -> Any:
    return redis_server.example()


def test_the_server_is_a_real_one(client: redis.Redis) -> None:
    """What the ledger is tried against is Redis itself."""
    assert client.ping()
    assert "redis_version" in client.info("server")


def test_a_call_is_one_key_that_expires(client: redis.Redis, example: Any) -> None:
    """It is empty until there is a result, and is kept as long as was said from each write on."""
    ledger = example.RedisLedger(client, keep=timedelta(hours=2))
    assert ledger.begin(*CALL) is None
    assert [client.strlen(KEY), client.dbsize()] == [0, 1]
    client.expire(KEY, 60)
    assert ledger.begin(*CALL) == Entry("unknown")
    assert client.ttl(KEY) <= 60
    ledger.finish(*CALL, {"receipt": 17})
    assert 7000 < client.ttl(KEY) <= 7200
    assert ledger.begin(*CALL) == Entry("done", {"receipt": 17})
    assert client.dbsize() == 1


def test_an_entry_that_expired_is_forgotten(client: redis.Redis, example: Any) -> None:
    """After its time the call is new, which is why it must be longer than any turn."""
    ledger = example.RedisLedger(client)
    ledger.begin(*CALL)
    client.pexpireat(KEY, 1)
    assert ledger.begin(*CALL) is None


class ExpiresBetween(redis.Redis):
    """A client whose server drops the key right after it was said to be there."""

    def get(self, name: Any) -> Any:
        self.delete(name)
        return super().get(name)


def test_an_entry_that_expires_at_the_wrong_moment_is_unknown(port: int, example: Any) -> None:
    """Who was told that the call is noted is never told that it may run."""
    with ExpiresBetween(port=port) as client:
        client.flushall()
        ledger = example.RedisLedger(client)
        ledger.begin(*CALL)
        assert ledger.begin(*CALL) == Entry("unknown")


def test_prefixes_part_ledgers(client: redis.Redis, example: Any) -> None:
    """Two applications can share a server."""
    one, other = (example.RedisLedger(client, prefix=prefix) for prefix in ("a:", "b:"))
    assert one.begin(*CALL) is None
    assert other.begin(*CALL) is None
    assert one.begin(*CALL) == Entry("unknown")


def test_a_server_that_is_gone_raises(example: Any) -> None:
    """A call that cannot be noted must not be run."""
    with redis.Redis(port=redis_server.free_port(), retry=None) as client:
        ledger = example.RedisLedger(client)
        with pytest.raises(redis.ConnectionError):
            ledger.begin(*CALL)


def test_no_server_is_said_with_how_to_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without Redis the tests fail, and say what is to be done."""
    monkeypatch.setattr(redis_server.shutil, "which", lambda _: None)
    monkeypatch.setattr(redis_server.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(pytest.fail.Exception, match="apt-get install redis-server"):
        redis_server.executable()


def test_the_example_is_one_page() -> None:
    """A ledger of one's own is short."""
    assert redis_server.EXAMPLE.read_text(encoding="utf-8").count("\n") < 70


def test_the_server_ends_with_its_block(tmp_path: Path) -> None:
    """Also where the block raises: nothing answers at its port any more."""
    with pytest.raises(KeyError), redis_server.running(tmp_path) as port:
        raise KeyError
    with redis.Redis(port=port, retry=None) as client, pytest.raises(redis.ConnectionError):
        client.ping()
