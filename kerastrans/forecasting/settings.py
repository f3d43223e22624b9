"""What a training run is made of. Light to import: the command line takes its options from here."""

from dataclasses import dataclass, field

PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")


def _setting(default, text):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Settings:
    """Settings of `kerastrans.runs.train`; the defaults are the demo's, chosen on validation.

    Each field's `metadata["help"]` says what it is.
    """

    data: str = field(metadata={"help": "name of a dataset, or CSV file with a date column"})
    context_length: int = _setting(168, "steps of history")
    prediction_length: int = _setting(24, "steps to forecast")
    season: int = _setting(None, "rows in a period, for the baselines (default: by frequency)")
    sizes: tuple = _setting(None, "training, validation and test part (default: the dataset's)")
    d_model: int = _setting(32, "width inside the model")
    num_heads: int = _setting(2, "attention heads")
    key_dim: int = _setting(16, "width of an attention head")
    ff_dim: int = _setting(64, "width of the feed-forward networks")
    num_encoder_blocks: int = _setting(1, "depth of the encoder")
    num_decoder_blocks: int = _setting(1, "depth of the decoder")
    dropout: float = _setting(0.0, "dropout, in [0, 1)")
    decoder_noise: float = _setting(1.0, "noise on the decoder's inputs in training")
    norm: str = _setting("pre", "where the blocks normalise: pre or post")
    loss: str = _setting("mae", "a Keras loss")
    learning_rate: float = _setting(3e-3, "peak of the warm-up and cosine schedule")
    batch_size: int = _setting(32, "windows in a training step")
    epochs: int = _setting(12, "passes over the training windows")
    seed: int = _setting(0, "of weights, noise and order")
    precision: str = _setting("float32", "or mixed_float16, mixed_bfloat16")
