"""The tables of texts: each language says everything that is ever told, and nothing else."""

from __future__ import annotations

import unicodedata

import pytest

from finalcall import Cause, Dispatchable, Failed, SchemaError, Violation
from finalcall.block_states import (
    BLOCK_TRANSITIONS,
    EXTERNAL_INPUTS,
    INVALID,
    OPEN,
    SIBLING,
    BlockInput,
    BlockState,
    advance_block,
    judge_outcome,
)
from finalcall.events import ExternalState
from finalcall.testing import dispatchable
from finalcall.texts import (
    ENGLISH,
    GERMAN,
    JAPANESE,
    QUIET,
    SIGNS,
    UNNAMED,
    Texts,
    complete,
    final_line,
    line,
    printable,
    quiet_line,
)

TABLES = {"english": ENGLISH, "german": GERMAN, "japanese": JAPANESE}

NOT_RUN_BEGINS = {"english": "not run (", "german": "nicht ausgeführt (", "japanese": "未実行（"}

WRONG = SchemaError("id", "create_ticket", {}, (Violation((), "enum", ["P1"], "S3NT1N3L"),))


@pytest.mark.parametrize("texts", TABLES.values(), ids=TABLES)
def test_a_table_has_a_text_for_all_that_is_told_and_no_more(texts: Texts) -> None:
    """Every cause and every state but "not run", which is always told with its cause."""
    states = set(BlockState) - {BlockState.NOT_RUN}
    assert set(texts) == {*Cause, *states, INVALID, SIBLING, QUIET, UNNAMED}


@pytest.mark.parametrize(("language", "texts"), TABLES.items(), ids=TABLES)
def test_causes_are_told_apart(language: str, texts: Texts) -> None:
    """Each cause has words of its own, all say that nothing ran, and cancelling is no failure."""
    reasons: list[str] = [*(cause for cause in Cause if cause != "cancelled"), INVALID, SIBLING]
    told = [texts[reason] for reason in reasons]
    assert len(set(told)) == len(told)
    assert [text for text in told if not text.startswith(NOT_RUN_BEGINS[language])] == []
    assert texts[Cause.CANCELLED] not in told


@pytest.mark.parametrize("texts", TABLES.values(), ids=TABLES)
def test_nobody_sees_a_correction(texts: Texts) -> None:
    """While a correction runs, the person reads what was there before."""
    assert texts[BlockState.WAITING] == texts[BlockState.PREPARING]


@pytest.mark.parametrize("texts", TABLES.values(), ids=TABLES)
def test_texts_are_one_line_of_composed_characters(texts: Texts) -> None:
    """A text can stand in any one-line place, and compares equal however it was typed."""
    wrong = [
        text
        for text in texts.values()
        if not text or printable(text) != text or unicodedata.normalize("NFC", text) != text
    ]
    assert wrong == []


@pytest.mark.parametrize("texts", TABLES.values(), ids=TABLES)
def test_silence_is_told_in_seconds(texts: Texts) -> None:
    """The number of whole seconds stands where the table says."""
    assert "12" in quiet_line(12.4, texts)
    assert "{" not in quiet_line(12.4, texts)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (dispatchable("create_ticket"), "✓ create_ticket — ready to run"),
        (WRONG, "⊘ create_ticket — not run (the request was invalid)"),
        (
            Failed("abandoned", None, "create_ticket", "S3NT", cause=Cause.DISCONNECTED),
            "⊘ create_ticket — not run (connection lost)",
        ),
        (
            Failed("truncated", None, "create_ticket", "S3NT", cause=Cause.TOKEN_CEILING),
            "⊘ create_ticket — not run (the request was cut short)",
        ),
        (
            Failed("abandoned", None, "create_ticket", "S3NT", cause=Cause.CANCELLED),
            "⊘ create_ticket — cancelled",
        ),
        (
            Failed("abandoned", None, None, "", cause=Cause.IDLE),
            "⊘ unnamed call — not run (the connection went silent)",
        ),
    ],
    ids=lambda value: value.split("—")[1].strip() if isinstance(value, str) else "",
)
def test_a_last_line(outcome: Dispatchable | SchemaError | Failed, expected: str) -> None:
    """A settled call is told in one line: the tool, that it runs or not, and why not."""
    assert final_line(outcome) == expected


def test_a_last_line_with_some_texts_of_your_own() -> None:
    """What the table leaves out is English; a misspelt key is refused."""
    lost = Failed("abandoned", None, "pay", "", cause=Cause.DISCONNECTED)
    assert final_line(lost, {Cause.DISCONNECTED: "weg"}) == "⊘ pay — weg"
    assert final_line(lost, {Cause.IDLE: "still"}) == final_line(lost)
    with pytest.raises(ValueError, match="texts has 'idel'"):
        final_line(lost, {"idel": "still"})


def test_some_texts_of_your_own() -> None:
    """What a table leaves out is English; a key is a member or its word."""
    texts = complete({Cause.IDLE: "not run (no answer)", "quiet": "hold on ({seconds})"})
    assert texts["idle"] == "not run (no answer)"
    assert texts[Cause.DISCONNECTED] == ENGLISH[Cause.DISCONNECTED]
    assert quiet_line(9.0, texts) == "hold on (9)"
    assert ENGLISH[Cause.IDLE] != texts[Cause.IDLE]


def test_a_text_for_nothing_is_refused() -> None:
    """A misspelt key would never be told, so it is an error that names it."""
    with pytest.raises(ValueError, match="texts has 'disconected'"):
        complete({"disconected": "connection lost"})


def test_a_name_cannot_break_the_line() -> None:
    """The name of a tool that was never offered is the model's own text."""
    told = line(BlockState.PREPARING, None, "a\n\x1b[2J\u202eb" + "c" * 500, ENGLISH)
    assert told.startswith("◌ a··[2J·bccc")
    assert told.endswith("c — preparing")
    assert len(told) < 110


def test_every_state_has_its_row_and_its_sign() -> None:
    """The tables by state are whole."""
    assert set(BLOCK_TRANSITIONS) == set(BlockState)
    assert set(SIGNS) == set(BlockState)
    assert set(EXTERNAL_INPUTS) == set(ExternalState)


def test_every_open_state_can_be_ended() -> None:
    """Where a person expects more, an end of everything leads to a stated end, and only there."""
    ended = {state for state, row in BLOCK_TRANSITIONS.items() if BlockInput.ENDED in row}
    assert ended == OPEN
    assert not {BLOCK_TRANSITIONS[state][BlockInput.ENDED] for state in OPEN} & OPEN


@pytest.mark.parametrize("state", BlockState)
@pytest.mark.parametrize("given", BlockInput)
def test_a_step_that_the_table_lacks_is_refused(state: BlockState, given: BlockInput) -> None:
    """Every state takes every input as the table says, or says what it would have taken."""
    expected = BLOCK_TRANSITIONS[state].get(given)
    if expected is None:
        possible = "possible: " + (", ".join(BLOCK_TRANSITIONS[state]) or "nothing")
        with pytest.raises(ValueError, match=possible):
            advance_block(state, given)
    else:
        assert advance_block(state, given) is expected


@pytest.mark.parametrize("asked_again", [False, True])
def test_only_an_invalid_call_waits(asked_again: bool) -> None:
    """Where the model is asked again, an invalid call waits; all others come to their end."""
    given, why = judge_outcome(WRONG, asked_again=asked_again)
    assert (given, why) == (BlockInput.HELD if asked_again else BlockInput.REFUSED, INVALID)
    assert judge_outcome(dispatchable("t"), asked_again=asked_again) == (BlockInput.VALID, None)
    for cause in Cause:
        given, why = judge_outcome(
            Failed("abandoned", None, None, "", cause=cause), asked_again=asked_again
        )
        cancelled = cause is Cause.CANCELLED
        assert given is (BlockInput.CANCELLED if cancelled else BlockInput.REFUSED)
        assert why is cause
