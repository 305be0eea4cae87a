"""Reports on the records of settled calls: shares, recovery and waits, as text, JSON or HTML."""

from finalcall.cli.report.command import add_parser

__all__ = ["add_parser"]
