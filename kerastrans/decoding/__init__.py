"""Step-by-step execution of a functional model's graph: generation, samplers and inspection."""

import keras  # noqa: F401  first: `kerastrans._register` must not meet half-imported modules
