"""The tools of a request, compiled once: what each accepts and how each provider is told of it.

What reads and compiles them is loaded when the first set is built: importing this costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from finalcall.events import CallKind
from finalcall.tools.tool import Check, Tool

if TYPE_CHECKING:
    from finalcall.tools.display import Display
    from finalcall.tools.shapes import Entry


@final
class ToolSet:
    """The tools offered in a request, in any provider's shape, compiled once and then unchanged.

    Reuse one over all turns; it is safe to share between threads. Entries that a service runs by
    itself (web search, code execution) are kept for `to()` and are no client tools.

    Attributes:
        name_set: The names of the client tools.
        custom_names: Those of them that take free text.
    """

    __slots__ = ("_entries", "_tools", "custom_names", "name_set")

    def __init__(
        self,
        tools: ToolsLike,
        *,
        fast: bool | None = None,
        once: Iterable[str] = (),
        display: Mapping[str, Display] | None = None,
    ) -> None:
        """Read and compile the tools.

        Args:
            tools: A list that may mix the tool entries of Anthropic, OpenAI Chat and Responses,
                Gemini, Bedrock, Mistral, Cohere, Ollama and MCP (dicts or the SDKs' objects),
                pydantic model classes, typed callables and `Tool`s; or a mapping of names to
                JSON Schemas, model classes or callables.
            fast: Let `jsonschema-rs` decide: `None` if it is installed, else as said.
            once: The names of tools of which a call must not be dispatched twice in a user turn
                (`Tool.once`). It changes nothing of what a provider is told.
            display: By tool name, what people see of a tool where its schema does not say it: its
                label, the fields to show and their order, and what must stay hidden.

        Raises:
            ValueError: An entry is in no known shape, a name comes twice, a schema is bad or
                refers to something outside of it, `once` or `display` names no tool of the set,
                or `display` no property of its tool.
            TypeError: `tools`, or what an entry groups, is neither a list nor a mapping; `tools`
                is a single tool; or `once` is a string.
        """
        from finalcall.tools.compiling import compile_tools, mark_once

        entries, compiled = compile_tools(tools, fast)
        self._entries: tuple[Entry, ...] = tuple(entries)
        self._tools: dict[str, Tool] = mark_once(compiled, once)
        if display:
            from finalcall.tools.displayed import apply_display

            self._tools = apply_display(self._tools, display)
        # Every turn keeps these: one set serves all of them.
        self.name_set: Final = frozenset(self._tools)
        self.custom_names: Final = frozenset(
            tool.name for tool in self if tool.kind is CallKind.CUSTOM
        )

    @classmethod
    def of(cls, tools: ToolsLike | None) -> ToolSet | None:
        """Give a `ToolSet` as it is, build one of anything else, and keep `None`."""
        return tools if tools is None or isinstance(tools, ToolSet) else cls(tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the client tools, in order."""
        return tuple(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolSet({', '.join(map(repr, self._tools))})"

    def get(self, name: str | None) -> Tool | None:
        """Give the client tool of that name, or `None`."""
        return self._tools.get(name) if name is not None else None

    def sensitive(self, name: str | None) -> frozenset[tuple[str, ...]]:
        """Give the paths of the sensitive values in a call's arguments.

        Where no tool of that name was offered, or the name was cut, the call may have been meant
        for any tool: what is sensitive for one of them is.

        Args:
            name: The name as the model wrote it, as far as it has arrived.
        """
        tool = self.get(name)
        if tool is not None:
            return tool.sensitive
        return frozenset[tuple[str, ...]]().union(*(each.sensitive for each in self))

    def check(self, name: str | None, args: object) -> Check:
        """Judge a call: its name first, then its arguments. Never raises.

        Args:
            name: The name as the model wrote it.
            args: The parsed JSON document, of any type.
        """
        tool = self.get(name)
        if tool is None:
            from finalcall.tools import violations

            return Check((violations.unknown_tool(name, self._tools),))
        return tool.check(args)

    def to(self, provider: str) -> list[dict[str, Any]]:
        """Write the list in a provider's shape, for its `tools` parameter.

        An entry that came in that shape goes out as it came (cache marks included); what another
        service would run itself is left out.

        Args:
            provider: For example `"anthropic"`, `"openai-chat"`, `"gemini"`, `"mcp"`.

        Returns:
            A fresh list. Changing it changes nothing here.

        Raises:
            ValueError: The provider is unknown (the text lists the known ones), or has no place
                for one of the tools.
        """
        from finalcall.tools import shapes

        return shapes.write(provider, self._entries)


ToolsLike: TypeAlias = ToolSet | Mapping[str, Any] | Iterable[Any]
"""What `ToolSet` can be built of."""
