"""What today's packages do when a model's stream goes wrong, beside the same agent on finalcall."""
