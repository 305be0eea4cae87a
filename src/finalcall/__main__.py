"""Runs the commands: `python -m finalcall`."""

from __future__ import annotations

import sys

from finalcall.cli import main

if __name__ == "__main__":
    sys.exit(main())
