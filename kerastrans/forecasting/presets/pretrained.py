"""Published weights as a forecaster that needs no training, and can be trained further."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from kerastrans.data.covariates import Covariates
from kerastrans.data.time.frequency import offset_of
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.presets.sources import FOLDER
from kerastrans.forecasting.training.fine_tuning import TRAINABLE, count_trainable
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.hub import locate
from kerastrans.models.pretrained.licences import card_of, summary
from kerastrans.utils.types import PathLike
from kerastrans.utils.validation import (
    check_at_most,
    check_choice,
    check_columns,
    check_positive_integers,
)

# What is in the package, by the name of its card.
SHIPPED = {"fracast_0": "ztxtech/fracast-0", "kerastrans_zero": "kerastrans_zero"}
FIXED = ("model", "head", "scaler", "fill", "calendar")  # what the published model decides


def from_pretrained(
    source: PathLike,
    prediction_length: int,
    context_length: int | None = None,
    *,
    trainable: str = "all",
    lora_rank: int = 8,
    past: Sequence[str] = (),
    future: Sequence[str] = (),
    freq: str | None = None,
    revision: str | None = None,
    verbose: bool = True,
    **options: Any,
) -> Forecaster:
    """A `Forecaster` with published weights: it forecasts at once, without `fit`.

    It reads frames of any frequency, long or wide, and forecasts each series, or each column of a
    wide frame, by itself; of a series longer than the context it reads the last part. `fit` trains
    the weights further, from then on at the frequency of these data.

    Args:
        source: "kerastrans_zero" or "fracast_0", which come with the package; a folder with a
            checkpoint as it was published, `config.json` and `model.safetensors`; or its name on
            the Hugging Face hub, such as "amazon/chronos-bolt-small", which needs
            `pip install "kerastrans[hub]"`, and is downloaded once.
        prediction_length: int, steps to forecast.
        context_length: int, steps of history; by default 512, or as many as the model reads, and
            1,024 of "kerastrans_zero".
        trainable: What `fit` trains: "all" weights; "lora", adapters of `lora_rank` beside each
            dense layer, which are added to the weights in the end; or "head", the layers after the
            last attention.
        lora_rank: int, of the adapters.
        past: Names of columns of numbers that are known for the past, for a model that takes
            covariates, as Chronos-2 and Toto do. They are read as they are, and normalised by the
            model; a category is given as columns of 0 and 1. They take part in `fit` too.
        future: Names of columns that are also known for the steps to forecast.
        freq: str, pandas frequency of the frames, where their time stamps do not tell it.
        revision: str, commit, branch or tag on the hub; the newest by default. The commit that was
            read is in the forecaster's `card`, beside licence, source and checksum.
        verbose: bool, whether the card is printed in one line.
        **options: More arguments of `Forecaster`. The optimizer is by default Adam with a rate of
            1e-4 and gradients clipped to a norm of 1; the alias is the name of the folder.

    Raises:
        FileNotFoundError: No such folder or file; no such name, or no network and no copy of it.
        ImportError: A name, and no `huggingface_hub`.
        ValueError: Weights whose licence forbids commercial use.
        ValueError: A checkpoint that is damaged or of no known model, see
            `kerastrans.models.pretrained.load`.
        ValueError: A size below 1, or a context longer than the model reads.
        ValueError: Covariates for a model that takes none.
        ValueError: Not a frequency. An option that the published model decides.
    """
    check_choice("trainable", trainable, TRAINABLE)
    check_columns(past=past, future=future)
    check_positive_integers(lora_rank=lora_rank, prediction_length=prediction_length)
    for name in sorted(set(FIXED) & set(options)):
        raise ValueError(f"from_pretrained takes no {name!r}: the published model decides it.")
    folder, card = find(source, revision)
    pretrained = load(folder)
    longest = pretrained.max_context
    if context_length is None:
        context_length = min(pretrained.usual_context, longest)
    check_positive_integers(context_length=context_length)
    check_at_most(context_length=context_length, **{"the longest that it reads": longest})
    covariates = Covariates.named(past=past, future=future)
    model = pretrained.build(context_length, prediction_length, 1, covariates.sizes())
    if freq is not None:
        offset_of(freq)  # raises
    card["parameters"] = model.count_params()
    card["trainable_parameters"] = count_trainable(model, trainable, lora_rank)
    options = {"optimizer": keras.optimizers.Adam(1e-4, clipnorm=1.0), **options}
    options |= {"past": past, "future": future}
    options.setdefault("alias", card["name"].rpartition("/")[2])
    forecaster = Forecaster(model, context_length, prediction_length, scaler=None, **options)
    tuning = {"trainable": trainable, "lora_rank": lora_rank}
    forecaster.fitted = FittedState(
        forecaster.config, model, None, covariates, given_freq=freq, **tuning, card=card
    )
    if verbose:
        print(summary(card))
    return forecaster


def find(source, revision=None):
    """The folder of published weights and their card, see `from_pretrained`."""
    if source in SHIPPED and not Path(source).is_dir():
        folder, card = locate(FOLDER / source, revision)
        return folder, card | card_of(SHIPPED[source])
    return locate(source, revision)
