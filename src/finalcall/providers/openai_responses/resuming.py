"""Holds a response that stopped in the middle as plain data, and goes on from there.

The data is a short stream of the response's own kind. Translating it again gives what was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from finalcall.events import AnomalyName
from finalcall.providers.base import Normaliser
from finalcall.providers.native import read_index, read_list, read_text
from finalcall.providers.openai_responses.normaliser import OpenAIResponsesNormaliser
from finalcall.providers.openai_responses.numbers import Seam


def hold(normaliser: Normaliser) -> dict[str, Any]:
    """What is needed to go on: the response's id, its last sequence number, and what it was.

    Args:
        normaliser: The one of the response.

    Raises:
        ValueError: The response cannot be continued.
    """
    assert isinstance(normaliser, OpenAIResponsesNormaliser)
    response, numbers = normaliser.response, normaliser.numbers
    if normaliser.ended or response.spliced:
        raise ValueError(
            "the response is over, or its stream was at fault: there is nothing to go on with; "
            "turn.outcomes says what became of its calls"
        )
    if not (response.response_id and numbers.numbered and numbers.highest is not None):
        raise ValueError(
            "the stream has given no response id, or events without a sequence number: the "
            "service cannot be asked to go on; send the request again"
        )
    return {
        "response_id": response.response_id,
        "sequence_number": numbers.highest,
        "anomalies": [{"name": one.name, "key": one.key} for one in normaliser.anomalies],
        "events": [response.stated(normaliser.usage), *normaliser.journal.events()],
    }


def go_on(normaliser: Normaliser, held: Mapping[str, Any]) -> None:
    """Let the stream go on where it stopped, once the events that were held are translated.

    Args:
        normaliser: It has translated them.
        held: What `hold` gave.

    Raises:
        ValueError: That is not what `hold` gave.
    """
    assert isinstance(normaliser, OpenAIResponsesNormaliser)
    response_id, number = read_text(held, "response_id"), read_index(held, "sequence_number")
    whole = response_id != "" and response_id == normaliser.response.response_id
    if number is None or not whole or normaliser.ended:
        raise ValueError(
            "the checkpoint is damaged: its events are not those of its response; send the "
            "request again"
        )
    normaliser.numbers.go_on_after(number)
    normaliser.seam = Seam(response_id, number)
    for anomaly in read_list(held, "anomalies"):
        name, key = read_text(anomaly, "name"), read_text(anomaly, "key")
        normaliser.anomaly(cast("AnomalyName", name), key or None)
