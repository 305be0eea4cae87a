"""Tools of which a call must not be dispatched twice: how a set is told, and what that changes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from finalcall import ToolSet


class SendPayment(BaseModel):
    """Send money."""

    amount: int


def send_payment(amount: int) -> str:
    """Send money."""
    return f"sent {amount}"


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "integer"}}}
SPELLED: dict[str, tuple[Any, str]] = {
    "model": ([SendPayment], "SendPayment"),
    "callable": ([send_payment], "send_payment"),
    "anthropic": ([{"name": "send_payment", "input_schema": SCHEMA}], "send_payment"),
    "openai-chat": (
        [{"type": "function", "function": {"name": "send_payment", "parameters": SCHEMA}}],
        "send_payment",
    ),
    "custom": ([{"type": "custom", "name": "send_payment"}], "send_payment"),
    "mapping": ({"send_payment": SCHEMA}, "send_payment"),
    "tool": (list(ToolSet({"send_payment": SCHEMA})), "send_payment"),
}


@pytest.mark.parametrize("spelling", SPELLED)
def test_a_tool_of_any_spelling_can_be_marked(spelling: str) -> None:
    """The name marks the tool, and nothing that a provider is told or a check says changes."""
    tools, name = SPELLED[spelling]
    plain, marked = ToolSet(tools), ToolSet(tools, once=(name,))
    assert [(tool.name, tool.once) for tool in plain] == [(name, False)]
    assert [(tool.name, tool.once) for tool in marked] == [(name, True)]
    assert marked.to("openai-responses") == plain.to("openai-responses")
    assert marked.check(name, {"amount": "x"}).errors == plain.check(name, {"amount": "x"}).errors


def test_only_the_named_tools_are_marked() -> None:
    """The others, their order and their identity stay."""
    base = ToolSet({"poll": None, "pay": None, "refund": None}, once={"pay"})
    more = ToolSet([*base], once=["refund", "pay"])
    assert [(tool.name, tool.once) for tool in base] == [
        ("poll", False),
        ("pay", True),
        ("refund", False),
    ]
    assert [tool.once for tool in more] == [False, True, True]
    assert more.get("poll") is base.get("poll")
    assert more.get("pay") is base.get("pay")


@pytest.mark.parametrize(
    ("tools", "once", "error", "says"),
    [
        ({"pay": None}, ("paid",), ValueError, r"names 'paid'; expected .*\('pay'\)"),
        ([], ("b", "a"), ValueError, r"names 'a', 'b'; expected .*\(it has none\)"),
        (
            [{"type": "web_search_20250305", "name": "web_search"}],
            ("web_search",),
            ValueError,
            "names of client tools",
        ),
        ({"p": None}, "p", TypeError, "is a string; expected a collection"),
    ],
)
def test_a_mark_that_marks_nothing_raises(
    tools: Any, once: Any, error: type[Exception], says: str
) -> None:
    """A name that is no client tool's is found when the set is built, not when money is sent."""
    with pytest.raises(error, match=says):
        ToolSet(tools, once=once)
