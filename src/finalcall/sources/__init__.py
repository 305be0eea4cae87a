"""How a turn reads its stream: what is read where, how a wait is bounded, how all of it is closed.

`choosing` looks at what the caller holds and picks a source. `direct` reads in the caller's own
thread and bounds each read of the `connection`; `pumped` reads in a thread of its own, with a
`handover` between the two. An asynchronous turn has a `reader`, a task of its own under
`asyncio_reader` or `trio_reader`, and reads a synchronous stream as `threaded`. All of them tell
the clocks by `waiting`, hear bytes by `transport` and `hooks`, make requests by `opening` and end
with `closing`.
"""
