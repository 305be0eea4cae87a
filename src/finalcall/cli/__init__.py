"""The commands of `python -m finalcall`."""

from finalcall.cli.commands import main

__all__ = ["main"]
