"""From bytes to native events: server-sent events, JSON lines or array, AWS event stream.

Sans I/O: whoever has the bytes feeds them, in any cut. No provider is known here.
"""
