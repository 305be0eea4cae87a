"""OpenAI Responses: raw streams, the `responses.stream()` helper, resumed streams, dicts, bytes."""

from finalcall.providers.openai_responses.normaliser import PROVIDER, OpenAIResponsesNormaliser

__all__ = ["PROVIDER", "OpenAIResponsesNormaliser"]
