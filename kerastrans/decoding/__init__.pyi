"""The public names, which are imported on first use."""

from . import generation as generation
from .generation import (
    generate as generate,
    generate_steps as generate_steps,
    generate_tokens as generate_tokens,
)
from . import inspection as inspection
from .inspection import (
    attention_scores as attention_scores,
    variable_importances as variable_importances,
)
from . import samplers as samplers
from .samplers import (
    BeamSampler as BeamSampler,
    GreedySampler as GreedySampler,
    RandomSampler as RandomSampler,
)
from . import sampling as sampling
from .sampling import generate_samples as generate_samples
