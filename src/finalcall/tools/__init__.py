"""The tools of a request: read from any provider's list, compiled once, written in any shape."""

from finalcall.tools.display import Display
from finalcall.tools.tool import Check, Tool
from finalcall.tools.toolset import ToolSet, ToolsLike

__all__ = ["Check", "Display", "Tool", "ToolSet", "ToolsLike"]
