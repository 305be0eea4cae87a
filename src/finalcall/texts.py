"""What a person is told of a call, one table a language: that it runs or not, and why not.

Never the arguments, the parse error or the schema: those belong in a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from finalcall.block_states import (
    BLOCK_TRANSITIONS,
    INVALID,
    SIBLING,
    BlockState,
    Why,
    judge_outcome,
)
from finalcall.outcomes import Cause, Outcome

__all__ = ["ENGLISH", "GERMAN", "JAPANESE", "Texts", "final_line"]

Texts: TypeAlias = Mapping[str, str]
"""Texts by a `Cause`, a `BlockState` or one of the words `invalid`, `sibling`, `quiet` and
`unnamed`. A table may hold only some: `complete` fills in the English rest. `Cause.CANCELLED` and
`BlockState.CANCELLED` are the same word, and have one text."""

QUIET: Final = "quiet"
"""Nothing has arrived for `{seconds}`: not about one call."""

UNNAMED: Final = "unnamed"
"""Stands for the name of a call whose name has not arrived."""

ENGLISH: Final[Texts] = {
    BlockState.PREPARING: "preparing",
    BlockState.WAITING: "preparing",
    BlockState.READY: "ready to run",
    BlockState.RUNNING: "running",
    BlockState.DONE: "done",
    BlockState.FAILED: "failed",
    BlockState.UNKNOWN: "unknown, may have run",
    BlockState.SUPERSEDED: "replaced by a corrected request",
    Cause.TOKEN_CEILING: "not run (the request was cut short)",
    Cause.SAFETY: "not run (stopped by a safety filter)",
    Cause.PAUSED: "not run (the service paused)",
    Cause.PROVIDER_ERROR: "not run (the service failed)",
    Cause.UNKNOWN_STOP: "not run (stopped for an unknown reason)",
    Cause.ENDED_EARLY: "not run (the reply ended early)",
    Cause.DISCONNECTED: "not run (connection lost)",
    Cause.IDLE: "not run (the connection went silent)",
    Cause.STALLED: "not run (the service made no progress)",
    Cause.CANCELLED: "cancelled",
    Cause.MALFORMED: "not run (the request was garbled)",
    Cause.LIMIT: "not run (the request was too large)",
    INVALID: "not run (the request was invalid)",
    SIBLING: "not run (a request made with it was invalid)",
    QUIET: "still waiting, {seconds} s",
    UNNAMED: "unnamed call",
}
"""What is told unless another table is given."""

GERMAN: Final[Texts] = {
    BlockState.PREPARING: "wird vorbereitet",
    BlockState.WAITING: "wird vorbereitet",
    BlockState.READY: "bereit zur Ausführung",
    BlockState.RUNNING: "läuft",
    BlockState.DONE: "erledigt",
    BlockState.FAILED: "fehlgeschlagen",
    BlockState.UNKNOWN: "unbekannt, möglicherweise ausgeführt",
    BlockState.SUPERSEDED: "durch eine korrigierte Anfrage ersetzt",
    Cause.TOKEN_CEILING: "nicht ausgeführt (die Anfrage wurde abgeschnitten)",
    Cause.SAFETY: "nicht ausgeführt (von einem Sicherheitsfilter gestoppt)",
    Cause.PAUSED: "nicht ausgeführt (der Dienst hat pausiert)",
    Cause.PROVIDER_ERROR: "nicht ausgeführt (Fehler beim Dienst)",
    Cause.UNKNOWN_STOP: "nicht ausgeführt (aus unbekanntem Grund gestoppt)",
    Cause.ENDED_EARLY: "nicht ausgeführt (die Antwort endete zu früh)",
    Cause.DISCONNECTED: "nicht ausgeführt (Verbindung verloren)",
    Cause.IDLE: "nicht ausgeführt (die Verbindung ist verstummt)",
    Cause.STALLED: "nicht ausgeführt (der Dienst kam nicht voran)",
    Cause.CANCELLED: "abgebrochen",
    Cause.MALFORMED: "nicht ausgeführt (die Anfrage war nicht lesbar)",
    Cause.LIMIT: "nicht ausgeführt (die Anfrage war zu groß)",
    INVALID: "nicht ausgeführt (die Anfrage war ungültig)",
    SIBLING: "nicht ausgeführt (eine zugleich gestellte Anfrage war ungültig)",
    QUIET: "warte noch, seit {seconds} s",
    UNNAMED: "unbenannter Aufruf",
}
"""The same in German."""

JAPANESE: Final[Texts] = {
    BlockState.PREPARING: "準備中",
    BlockState.WAITING: "準備中",
    BlockState.READY: "実行できます",
    BlockState.RUNNING: "実行中",
    BlockState.DONE: "完了",
    BlockState.FAILED: "失敗しました",
    BlockState.UNKNOWN: "不明（実行された可能性があります）",
    BlockState.SUPERSEDED: "修正された依頼に置き換えられました",
    Cause.TOKEN_CEILING: "未実行（依頼が途中で切れました）",
    Cause.SAFETY: "未実行（安全フィルターが停止しました）",
    Cause.PAUSED: "未実行（サービスが一時停止しました）",
    Cause.PROVIDER_ERROR: "未実行（サービスでエラーが発生しました）",
    Cause.UNKNOWN_STOP: "未実行（不明な理由で停止しました）",
    Cause.ENDED_EARLY: "未実行（応答が途中で終わりました）",
    Cause.DISCONNECTED: "未実行（接続が切れました）",
    Cause.IDLE: "未実行（接続からの応答がなくなりました）",
    Cause.STALLED: "未実行（サービスの処理が進みませんでした）",
    Cause.CANCELLED: "キャンセルしました",
    Cause.MALFORMED: "未実行（依頼を読み取れませんでした）",
    Cause.LIMIT: "未実行（依頼が大きすぎました）",
    INVALID: "未実行（依頼の内容が正しくありませんでした）",
    SIBLING: "未実行（同時に出された依頼が正しくありませんでした）",
    QUIET: "応答を待っています（{seconds} 秒）",
    UNNAMED: "名前のない呼び出し",
}
"""The same in Japanese."""

SIGNS: Final[Mapping[BlockState, str]] = {
    BlockState.PREPARING: "◌",
    BlockState.WAITING: "◌",
    BlockState.READY: "✓",
    BlockState.RUNNING: "▸",
    BlockState.DONE: "✓",
    BlockState.FAILED: "✗",
    BlockState.UNKNOWN: "?",
    BlockState.NOT_RUN: "⊘",
    BlockState.CANCELLED: "⊘",
    BlockState.SUPERSEDED: "⊘",
}
"""What stands before a line, the same in every language."""

_LONGEST_NAME: Final = 80
"""Characters of a name that a line shows: of a tool that was never offered, it is the model's."""


def complete(texts: Texts) -> Texts:
    """Fill a table up with English texts.

    Raises:
        ValueError: It has a text for something that is never told.
    """
    unknown = sorted(str(key) for key in texts if key not in ENGLISH)
    if unknown:
        raise ValueError(
            f"texts has {', '.join(map(repr, unknown))}; expected causes, block states, "
            f"{INVALID!r}, {SIBLING!r}, {QUIET!r} and {UNNAMED!r}"
        )
    return {**ENGLISH, **texts}


def line(state: BlockState, why: Why | None, name: str | None, texts: Texts) -> str:
    """One line about a call: `⊘ create_ticket — not run (connection lost)`.

    Args:
        state: What the person is told.
        why: Why it did not run, where it did not.
        name: The tool's label or name, or `None` where none has arrived.
        texts: A complete table.
    """
    told = why if state is BlockState.NOT_RUN and why is not None else state
    shown = printable(name)[:_LONGEST_NAME] if name else texts[UNNAMED]
    return f"{SIGNS[state]} {shown} — {texts[told]}"


def final_line(outcome: Outcome, texts: Texts = ENGLISH) -> str:
    """The line about a call that has settled, by the name that the model used.

    Args:
        outcome: What it settled as.
        texts: A table; what it leaves out is told in English.

    Raises:
        ValueError: It has a text for something that is never told.
    """
    given, why = judge_outcome(outcome)
    state = BLOCK_TRANSITIONS[BlockState.PREPARING][given]
    return line(state, why, outcome.name, complete(texts))


def quiet_line(seconds: float, texts: Texts) -> str:
    """The line that says that nothing has arrived for so long."""
    return texts[QUIET].replace("{seconds}", f"{seconds:.0f}")


def printable(text: str) -> str:
    """Text that cannot move a cursor, ring a bell or turn the direction of writing."""
    return "".join(character if character.isprintable() else "·" for character in text)
