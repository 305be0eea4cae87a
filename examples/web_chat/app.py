"""A chat in the browser whose tool blocks fill in live, with a button for each fault.

Install `finalcall[anthropic,testing] starlette uvicorn`, run `python examples/web_chat/app.py` and
open the address that it prints. No key is needed: the model is a scripted server on this machine,
which puts the fault of the button into its stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import anthropic
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from finalcall import AsyncTurn, Dispatchable, Idle, TextDelta, ToolSet
from finalcall.blocks import Blocks, CallBlock
from finalcall.preview import Preview
from finalcall.testing import (
    FAULTS,
    FaultServer,
    NotApplicable,
    RecordedRequest,
    Reply,
    Script,
)
from finalcall.tools import Display

PAGE = Path(__file__).parent / "page.html"
PATIENCE = Idle(first=3.0, between=1.5, in_call=1.5, progress=3.0, quiet=0.5)
"""Seconds: far too short for a real model, and about right for somebody who tries buttons."""


def create_ticket(
    project: str, title: str, priority: Literal["low", "normal", "urgent"], access_code: str
) -> str:
    """Open a ticket for the team that owns a project."""
    return f"opened {project}-17 ({priority}): {title}" if access_code else "refused"


TOOLS = ToolSet(
    [create_ticket],
    display={
        "create_ticket": Display(
            label="Open a ticket",
            fields={"title": "What", "priority": "Priority", "access_code": "Access code"},
            sensitive=["access_code"],
        )
    },
)
REPLY = (
    Reply()
    .text("I'll open a ticket for the billing team now.")
    .call(
        "create_ticket",
        {
            "title": "The night run stopped after customer 1,204",
            "project": "BILLING",
            "priority": "urgent",
            "access_code": "tulip-4711",
        },
        fragments=30,
    )
)


# The model

WHOLE = REPLY.to_recording("anthropic").to_script()


def scripts() -> Iterator[tuple[str, Script]]:
    """The stream as it should be, then with each fault that means something for it."""
    yield "none", WHOLE
    for name, fault in FAULTS.items():
        with contextlib.suppress(NotApplicable):
            yield name, WHOLE.with_faults(fault)


SCRIPTS = dict(scripts())


def answer(request: RecordedRequest) -> Script:
    """What the scripted model sends: the first part of the path names what goes wrong in it."""
    return SCRIPTS[request.path.split("/")[1]]


# The chat


class Chat:
    """One message of the model on its way to one page."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._updates: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(maxsize=100)
        self._changed: dict[str, CallBlock] = {}
        self.task = asyncio.create_task(self._run())

    async def updates(self) -> AsyncIterator[bytes]:
        """What the page is told, as server-sent events. A page that goes away stops the message."""
        try:
            while (update := await self._updates.get()) is not None:
                yield b"data: %s\n\n" % json.dumps(update).encode()
        finally:
            self.task.cancel()

    async def _run(self) -> None:
        blocks = Blocks(tools=TOOLS)
        blocks.watch(self._note)
        try:
            async with anthropic.AsyncAnthropic(
                base_url=self._model, api_key="none", max_retries=0
            ) as client:
                await self._read(client, blocks)
        except asyncio.CancelledError:
            pass  # the Stop button: the turn has settled, and the page is told below
        except anthropic.APIError as error:
            await self._updates.put(
                {"note": f"The model could not be asked: {type(error).__name__}"}
            )
        blocks.end()
        await self._show(blocks)
        await self._updates.put({"over": True})
        await self._updates.put(None)

    async def _read(self, client: anthropic.AsyncAnthropic, blocks: Blocks) -> None:
        stream = await client.messages.create(
            model="claude-sonnet-5-5",
            max_tokens=1024,
            messages=[{"role": "user", "content": "The night run stopped. Tell billing."}],
            tools=TOOLS.to("anthropic"),
            stream=True,
        )
        async with AsyncTurn(
            stream,
            tools=TOOLS,
            preview=Preview,
            blocks=blocks,
            idle_timeout=PATIENCE,
            raises=False,
        ) as turn:
            async for event in turn:
                if isinstance(event, TextDelta):
                    await self._updates.put({"text": event.text})
                await self._show(blocks)
        if turn.verdict in ("dispatch", "correct"):
            for outcome in turn.outcomes:
                if isinstance(outcome, Dispatchable):
                    with blocks[outcome.key].running():
                        note = create_ticket(**outcome.parsed)
                    await self._updates.put({"note": note})
        elif turn.verdict == "fail":
            why = turn.ending.cause or f"it stopped for {turn.stop_reason.raw!r}"
            await self._updates.put({"note": f"The message failed: {why}"})

    def _note(self, block: CallBlock | None) -> None:
        if block is not None:
            self._changed[block.key] = block

    async def _show(self, blocks: Blocks) -> None:
        changed, self._changed = self._changed, {}
        for block in changed.values():
            await self._updates.put(
                {
                    "block": block.key,
                    "line": block.line(),
                    "state": block.state,
                    "open": block.open,
                    "fields": [[field.label, field.value] for field in block.fields()],
                }
            )
        await self._updates.put({"quiet": blocks.quiet_line()})


# The web


def create_app(model: str) -> Starlette:
    """The application; `model` is the address of the scripted model."""
    chats: dict[str, Chat] = {}

    async def page(_: Request) -> Response:
        return FileResponse(PAGE)

    async def faults(_: Request) -> Response:
        return JSONResponse([*SCRIPTS])

    async def chat(request: Request) -> Response:
        fault = request.query_params.get("fault", "none")
        if fault not in SCRIPTS:
            return JSONResponse({"error": f"no fault is called {fault!r}"}, status_code=404)
        made = chats[request.query_params["id"]] = Chat(f"{model}/{fault}")
        made.task.add_done_callback(lambda _: chats.pop(request.query_params["id"], None))
        return StreamingResponse(made.updates(), media_type="text/event-stream")

    async def stop(request: Request) -> Response:
        running = chats.get(request.query_params["id"])
        if running is not None:
            running.task.cancel()
        return Response(status_code=204)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/faults", faults),
            Route("/chat", chat),
            Route("/stop", stop, methods=["POST"]),
        ]
    )


def main() -> None:
    with FaultServer(answer) as model:
        uvicorn.run(create_app(model.base_url), host="127.0.0.1", port=8017, log_level="warning")


if __name__ == "__main__":
    print("open http://127.0.0.1:8017 (Ctrl-C ends it)")
    main()
