"""Chronos-T5: a language model of binned values with sampled forecasts (Ansari et al., 2024).

Paper: https://arxiv.org/abs/2403.07815
Code: https://github.com/amazon-science/chronos-forecasting
Weights: https://huggingface.co/amazon/chronos-t5-small
"""

import functools

import numpy as np

from kerastrans.models.pretrained.arrays import DECILES, compile_by_name, few_sizes
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import assign
from kerastrans.models.pretrained.chronos.t5_network import build_networks, read_configuration
from kerastrans.models.pretrained.chronos.tokens import ValueTokens

ARCHITECTURE = "T5ForConditionalGeneration"
TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")


def reads(config):
    """Return whether a configuration is one of Chronos-T5."""
    return ARCHITECTURE in (config.get("architectures") or ()) and "chronos_config" in config


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    own, t5 = read_configuration(config)
    parts, layout = build_networks(t5)
    assign(tensors, layout, ignored=TIED)
    return ChronosT5(parts, own, t5["decoder_start_token_id"])


class ChronosT5(PretrainedModel):
    """Chronos-T5 with its published weights, see `PretrainedModel`.

    The model samples paths token by token, from the most likely tokens at each step, and returns
    quantiles and mean of these paths. For a horizon beyond the trained one, the median of the paths
    is appended to the history. All series use the same random numbers, so that the forecast of a
    series does not depend on its neighbours. A functional model is not available: `build` raises
    ValueError.

    Attributes:
        num_samples: int, number of paths to sample.
        seed: int, seed of the random numbers.

    Source: Ansari et al. (2024), "Chronos: Learning the language of time series", TMLR.
    """

    rows_at_once = 16

    def __init__(self, parts, own, start):
        super().__init__(parts["decoder"], DECILES, own["context_length"])
        self.horizon = own["prediction_length"]
        self.num_samples = own["num_samples"]
        self.seed = 0
        self.top_k = own["top_k"]
        self.temperature = own["temperature"]
        self.start = start
        self.end = own["eos_token_id"]
        limits = (own["tokenizer_kwargs"]["low_limit"], own["tokenizer_kwargs"]["high_limit"])
        end = self.end if own.get("use_eos_token", True) else None
        sizes = (own["n_tokens"], own["n_special_tokens"])
        self.values = ValueTokens(*limits, *sizes, own["pad_token_id"], end)
        self._run = {name: compile_by_name(part) for name, part in parts.items()}

    def build(self, context_length, prediction_length, num_channels=1, covariates=None):
        raise ValueError("chronos_t5 samples its forecasts: it has no functional model.")

    def summary(self, found, levels):
        quantiles = np.quantile(found, levels, axis=1)
        return {"quantiles": np.moveaxis(quantiles, 0, -1), "mean": found.mean(axis=1)}

    def padded_length(self, length):
        return min(few_sizes(length), self.max_context)

    def run(self, rows, prediction_length):
        return self.sample(rows, prediction_length)

    def sample(self, history, prediction_length):
        """Sample paths `(batch, num_samples, prediction_length)` of histories `(batch, time)`."""
        generator = np.random.default_rng(self.seed)
        blocks, done = [], 0
        while done < prediction_length:
            steps = min(self.horizon, prediction_length - done)
            uniform = generator.random((self.num_samples, steps))
            tokens, visible, scale = self.encode(history)
            drawn = self.generate(tokens, visible, steps, functools.partial(self._draw, uniform))
            paths = self.values.decode(drawn.reshape(-1, self.num_samples, steps), scale)
            blocks.append(paths)
            done += steps
            # For an even number of paths the lower of the middle two, as in the authors' code.
            middle = np.sort(paths, axis=1)[:, (self.num_samples - 1) // 2]
            history = np.concatenate([history, middle], axis=1)
        return np.concatenate(blocks, axis=-1)

    def encode(self, history):
        """Return tokens, mask and scale of the last part of histories, see `ValueTokens.encode`."""
        return self.values.encode(history[:, -self.max_context :])

    def memory(self, tokens, visible):
        """Return the states of the encoder, `(batch, time, d_model)`."""
        return self._run["encoder"](tokens=tokens, visible=visible)

    def states(self, tokens, memory, visible):
        """Return the states of the decoder, `(batch, time, d_model)`, of the tokens so far."""
        return self._run["decoder"](tokens=tokens, memory=memory, visible=visible)

    def logits(self, states):
        """Return the logits `(batch, time, vocab_size)` of states."""
        return self._run["head"](states=states)

    def generate(self, tokens, visible, steps, choose, copies=None):
        """Generate tokens `(batch * copies, steps)`, one step after another.

        Args:
            tokens: `(batch, time)`, tokens of the history.
            visible: Boolean `(batch, time)`, mask of the history.
            steps: int, number of tokens to generate.
            choose: Function of logits `(batch * copies, vocab_size)` and the number of the step
                that returns tokens. The logit of the end token is minus infinity.
            copies: int, number of rows per history; by default `num_samples`.
        """
        copies = copies or self.num_samples
        memory = np.repeat(self.memory(tokens, visible), copies, axis=0)
        visible = np.repeat(visible, copies, axis=0)
        generated = np.full((len(memory), steps + 1), self.start, "int32")
        for i in range(steps):
            states = self.states(generated[:, :steps], memory, visible)[:, i : i + 1]
            logits = self.logits(states)[:, 0]
            logits[:, self.end] = -np.inf
            generated[:, i + 1] = choose(logits, i)
        return generated[:, 1:]

    def _draw(self, uniform, logits, step):
        """Sample one token per row from the most likely tokens.

        Args:
            uniform: `(num_samples, steps)`, random numbers in [0, 1).
            logits: `(batch * num_samples, vocab_size)`.
            step: int, number of the step.
        """
        count = min(self.top_k, logits.shape[-1])
        likeliest = np.argsort(-logits, axis=-1, kind="stable")[:, :count]
        chosen = np.take_along_axis(logits, likeliest, axis=-1).astype("float64")
        weights = np.exp((chosen - chosen[:, :1]) / self.temperature)
        # Invert the cumulative distribution of each row at its random number.
        cumulated = np.cumsum(weights, axis=-1)
        places = np.tile(uniform[:, step], len(logits) // len(uniform)) * cumulated[:, -1]
        index = np.minimum((cumulated <= places[:, None]).sum(axis=-1), count - 1)
        return np.take_along_axis(likeliest, index[:, None], axis=-1)[:, 0]
