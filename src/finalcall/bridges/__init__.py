"""A turn told in what existing front ends read: AG-UI's events, or Vercel's UI message stream."""

from finalcall.bridges.ag_ui import AGUI
from finalcall.bridges.bridge import Part, SensitiveChoice
from finalcall.bridges.server_sent import to_sse
from finalcall.bridges.ui_message_stream import UIMessageStream

__all__ = ["AGUI", "Part", "SensitiveChoice", "UIMessageStream", "to_sse"]
