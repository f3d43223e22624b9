"""Written by tools/checks/stubs.py from kerastrans/decoding/__init__.py."""

from kerastrans.decoding import generation as generation
from kerastrans.decoding.generation import generate as generate, generate_steps as generate_steps, generate_tokens as generate_tokens
from kerastrans.decoding import inspection as inspection
from kerastrans.decoding.inspection import attention_scores as attention_scores, variable_importances as variable_importances
from kerastrans.decoding import samplers as samplers
from kerastrans.decoding.samplers import BeamSampler as BeamSampler, GreedySampler as GreedySampler, RandomSampler as RandomSampler
from kerastrans.decoding import sampling as sampling
from kerastrans.decoding.sampling import generate_samples as generate_samples
