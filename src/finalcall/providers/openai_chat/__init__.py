"""OpenAI Chat Completions with its dialects: raw streams, the helper, LiteLLM, dicts, bytes."""

from finalcall.providers.openai_chat.normaliser import PROVIDER, ChatNormaliser
from finalcall.providers.openai_chat.stops import STOP_REASONS

__all__ = ["PROVIDER", "STOP_REASONS", "ChatNormaliser"]
