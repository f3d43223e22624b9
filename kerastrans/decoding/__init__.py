"""A functional model's graph run step by step: generation, samplers, inspection."""

import keras  # noqa: F401  first, so that `kerastrans._register` finds no module half imported
