"""What every test module shares: how much Hypothesis explores."""

from __future__ import annotations

import os

from hypothesis import settings

# The suite is a gate: the same commit gives the same answer. `HYPOTHESIS_PROFILE=exploring` looks
# for what the fixed examples do not show.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("exploring", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
