"""LangChain's `AIMessageChunk`: what `model.stream()` yields, as objects or dumped to dicts."""

from finalcall.providers.langchain.normaliser import (
    PROVIDER,
    STOP_REASONS,
    VOCABULARIES,
    LangChainNormaliser,
    recognises,
)

__all__ = ["PROVIDER", "STOP_REASONS", "VOCABULARIES", "LangChainNormaliser", "recognises"]
