// Has the front ends' own packages read what the bridges send. In a directory of its own:
//   npm install ai @ag-ui/client @ag-ui/core
//   cp .../tests/front_ends/* . && node check.mjs
// Read so with ai 5.0.277 and 6.0.326, @ag-ui/client 1.0.0. It fails on a part that a schema
// refuses, on an order that a reader refuses, and on a call that is left without an end.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { readUIMessageStream, uiMessageChunkSchema } from "ai";

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf-8"));
const fail = (scenario, why) => {
  console.error(`${scenario}: ${why}`);
  process.exitCode = 1;
};

const schema = typeof uiMessageChunkSchema === "function" ? uiMessageChunkSchema() : uiMessageChunkSchema;
const ENDS = ["input-available", "output-available", "output-error"];

for (const [scenario, parts] of Object.entries(read("ui_message_stream.json"))) {
  for (const part of parts) {
    const { success, error } = await schema.validate(part);
    if (!success) fail(scenario, `${part.type}: ${error}`);
  }
  const stream = new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(structuredClone(part));
      controller.close();
    },
  });
  const errors = [];
  let message;
  const states = readUIMessageStream({ stream, onError: (error) => errors.push(error.message) });
  for await (const state of states) message = state;
  const told = parts.filter((part) => part.type === "error").map((part) => part.errorText);
  if (errors.join() !== told.join()) fail(scenario, `errors: ${errors}`);
  const calls = message.parts.filter((part) => part.type.startsWith("tool-"));
  const open = calls.filter((part) => !ENDS.includes(part.state));
  if (open.length) fail(scenario, `no end: ${JSON.stringify(open)}`);
  console.log(`ui  ${scenario}:`, calls.map((part) => `${part.state} ${part.errorText ?? ""}`).join("; "));
}

const { enforceEvents, verifyEvents, defaultApplyEvents } = await import("@ag-ui/client");
const { from, lastValueFrom, toArray } = await import("rxjs");

for (const [scenario, events] of Object.entries(read("ag_ui.json"))) {
  const passed = await lastValueFrom(from(events).pipe(enforceEvents(false), verifyEvents(false), toArray()));
  if (!isDeepStrictEqual(passed, events)) fail(scenario, "an event or a field of one was dropped");
  const ended = new Set(events.filter((one) => one.type === "TOOL_CALL_END").map((one) => one.toolCallId));
  const open = events.filter((one) => one.type === "TOOL_CALL_START" && !ended.has(one.toolCallId));
  if (open.length) fail(scenario, `no end: ${JSON.stringify(open)}`);
  const input = { threadId: "thread", runId: "run", messages: [], tools: [], context: [], state: {} };
  const agent = { messages: [], state: {} };
  const changes = defaultApplyEvents(input, from(events), agent, []);
  const all = await lastValueFrom(changes.pipe(toArray()));
  const messages = all.map((one) => one.messages).filter(Boolean).at(-1) ?? [];
  console.log(`agui ${scenario}:`, messages.map((one) => `${one.role}(${one.toolCalls?.length ?? one.content})`).join(" "));
}
