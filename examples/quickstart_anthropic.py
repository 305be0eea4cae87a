"""The shortest agent on the anthropic client: look at the verdict first, run only what may run.

`ANTHROPIC_API_KEY` names your key; `ANTHROPIC_BASE_URL` may name another server.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import anthropic

from finalcall import Dispatchable, TextDelta, ToolSet, Turn

STEPS = 10  # messages of the model: a loop needs a bound


def create_ticket(project: str, title: str, priority: Literal["low", "urgent"] = "low") -> str:
    """Open a ticket for the team that owns a project."""
    return f"opened {project}-17 ({priority}): {title}"


TOOLS = ToolSet([create_ticket])


def run(question: str) -> str:
    """Answer one question.

    Returns:
        The last verdict: `"done"`, or `"fail"` where the person has to decide.
    """
    messages: list[Any] = [{"role": "user", "content": question}]
    with anthropic.Anthropic() as client:
        for _ in range(STEPS):
            stream = client.messages.create(
                model="claude-sonnet-5-5",
                max_tokens=1024,
                messages=messages,
                tools=TOOLS.to("anthropic"),
                stream=True,
            )
            with Turn(stream, tools=TOOLS, raises=False) as turn:
                for event in turn:
                    if isinstance(event, TextDelta):
                        print(event.text, end="", flush=True)
            print(f" [{turn.verdict}]")
            match turn.verdict:
                case "dispatch" | "correct":  # invalid calls are answered for you
                    messages += turn.history(
                        {
                            outcome: create_ticket(**outcome.parsed)
                            for outcome in turn.outcomes
                            if isinstance(outcome, Dispatchable)
                        }
                    )
                case "resume":  # the provider wants its message back
                    messages += turn.history()
                case "done" | "fail":
                    for block in turn.blocks:
                        print(block.line())
                    return turn.verdict
    return "fail"


if __name__ == "__main__":
    sys.exit(run(" ".join(sys.argv[1:]) or "What is the weather like in Lund?") != "done")
