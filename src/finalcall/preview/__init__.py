"""The display value of arguments that are still coming in. For screens only, never for dispatch."""

from finalcall.preview.changes import ChangeKind, Path, PreviewChange
from finalcall.preview.incremental import Preview, best_effort_partial
from finalcall.preview.masking import MASK
from finalcall.preview.value import PlainValue, PreviewValue

__all__ = [
    "MASK",
    "ChangeKind",
    "Path",
    "PlainValue",
    "Preview",
    "PreviewChange",
    "PreviewValue",
    "best_effort_partial",
]
