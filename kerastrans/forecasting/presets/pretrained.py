"""Published weights as a forecaster that predicts without training, and can be fine-tuned."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerastrans.data.covariates import Covariates
from kerastrans.data.time.frequency import offset_of
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.config import fine_tuning_optimizer
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.training.fine_tuning import TRAINABLE, count_trainable
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.grouped_model import GroupedModel
from kerastrans.models.pretrained.licences import summary
from kerastrans.models.pretrained.shipped import options_for, resolve_checkpoint
from kerastrans.utils.types import PathLike
from kerastrans.utils.validation import (
    check_at_most,
    check_choice,
    check_column_names,
    check_positive_integers,
)

FIXED = ("model", "head", "scaler", "fill", "calendar")  # options set by the published model


def from_pretrained(
    source: PathLike,
    prediction_length: int,
    context_length: int | str | None = None,
    *,
    joint: Sequence[str] = (),
    model_options: dict[str, Any] | None = None,
    trainable: str = "all",
    lora_rank: int = 8,
    past: Sequence[str] = (),
    future: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    freq: str | None = None,
    revision: str | None = None,
    verbose: bool = True,
    **options: Any,
) -> Forecaster:
    """Return a `Forecaster` with published weights, which predicts without `fit`.

    It reads long and wide frames of any frequency, and forecasts each series, or each column of a
    wide frame, separately, from its last `context_length` steps. The point forecast is that of the
    authors' package: the median, or a mean of the quantiles (FlowState, PatchTST-FM), with the
    median in "<alias>-median". `fit` fine-tunes the weights; the forecaster then requires the
    frequency of these data.

    Args:
        source: "kerastrans_zero_2", which is part of the package; a folder with a published
            checkpoint, `config.json` and `model.safetensors`; or its name on the Hugging Face hub,
            such as "amazon/chronos-bolt-small", which requires `pip install ".[hub]"` and
            is downloaded once.
        prediction_length: int, number of steps to forecast.
        context_length: int, number of steps of history; by default 512, or 1,024 for
            kerastrans-zero and 2,048 for Fracast, TinyCast and Reverso, but at most as many as the
            model reads; "max" for these, as the authors' packages read by default.
        joint: Names of the columns of wide frames that are forecast together, for a model that
            attends across variates (Chronos-2, Toto); by default each column is forecast
            separately.
        model_options: Dict of options of the authors' package, such as `{"scale_factor": 24 / 7}`
            for FlowState, `{"block_length": 768}` for Toto or
            `{"use_continuous_quantile_head": False}` for TimesFM, see `option_names` of the models
            in `kerastrans.models.pretrained`. kerastrans-zero 2 has the `season` of the clock of
            each frame: a day for steps of five minutes to an hour, a year for steps of months.
            `{"season": 1}` forecasts as for values without a season, and `{"season": None}` by
            nothing but the network.
        trainable: Weights that `fit` trains: "all"; "lora", adapters of rank `lora_rank` for each
            dense layer, which are finally added to the weights; or "head", the layers after the
            last attention.
        lora_rank: int, rank of the adapters.
        past: Names of columns that are known for the past, for a model with covariates:
            kerastrans-zero, Chronos-2 and Toto. They are normalised by the model. They are
            also used in `fit`.
        future: Names of columns that are also known for the steps to forecast.
        categories: Dict of the columns in `past` and `future` that hold texts -> their texts, for
            kerastrans-zero; other texts count as unknown. For another model, encode a
            category as columns of 0 and 1.
        freq: str, pandas frequency of the frames, if it cannot be inferred from the time stamps;
            for arrays and exported files, which have none, also to choose the season.
        revision: str, commit, branch or tag on the hub; by default the newest. The `card` of the
            forecaster has the commit, the licence, the source and the checksum.
        verbose: bool, whether to print the card in one line.
        **options: Additional arguments of `Forecaster`. The optimizer is by default Adam with a
            learning rate of 1e-4 and gradients clipped to a norm of 1; the alias is the name of the
            folder.

    Raises:
        FileNotFoundError: If the folder or file does not exist, or the name is neither on the hub
            nor in the cache.
        ImportError: If a name on the hub is given without `huggingface_hub`.
        ValueError: If the licence of the weights forbids commercial use.
        ValueError: If the checkpoint is damaged, or the model is unknown, see
            `kerastrans.models.pretrained.load`.
        ValueError: If a size is below 1, or the context is longer than the model reads.
        ValueError: If covariates, `joint` or options are given for a model without them, or
            categories for a column that is not a covariate.
        ValueError: If `freq` is not a frequency, or an option is set by the published model.
    """
    check_choice("trainable", trainable, TRAINABLE)
    check_column_names(past=past, future=future, joint=joint)
    check_positive_integers(lora_rank=lora_rank, prediction_length=prediction_length)
    _check_not_set(options)
    if not isinstance(model_options, dict | None):
        raise ValueError(f"model_options must be a dict of options, got {model_options!r}.")
    if freq is not None:
        offset_of(freq)  # raises
    folder, card = resolve_checkpoint(source, revision)
    if model_options is None:
        model_options = options_for(card["name"], freq)
    pretrained = load(folder).with_options(**model_options)
    if joint and not isinstance(pretrained, GroupedModel):
        raise ValueError(f"{pretrained.network.name} forecasts each series separately: no joint.")
    length = _resolve_context(pretrained, context_length)
    if context_length not in (None, "max"):
        card["context_length"] = int(length)
    covariates, num_channels = _covariates(past, future, categories or {}), len(joint) or 1
    model = pretrained.build(length, prediction_length, num_channels, covariates.sizes())
    card["parameters"] = count_trainable(model)
    if model_options:
        # NumPy's numbers as Python's, which JSON has.
        card["options"] = {name: np.asarray(x).item() for name, x in model_options.items()}
    card["trainable_parameters"] = count_trainable(model, trainable, lora_rank)
    options = {"optimizer": fine_tuning_optimizer(), **options}
    options |= {"past": past, "future": future}
    options.setdefault("alias", card["name"].rpartition("/")[2])
    forecaster = Forecaster(model, length, prediction_length, scaler=None, **options)
    tuning = {"trainable": trainable, "lora_rank": lora_rank}
    parts = forecaster.config, model, None, covariates, tuple(joint) or None
    forecaster.fitted = FittedState(*parts, given_freq=freq, **tuning, card=card)
    if verbose:
        print(summary(card))
    return forecaster


def _check_not_set(options):
    """Raise ValueError for an argument of `Forecaster` that the published model sets."""
    if "static" in options:
        raise ValueError(
            "from_pretrained takes no static covariates: published weights learn the effect of a "
            "covariate from its changes within a series, and these never change."
        )
    for name in sorted(set(FIXED) & set(options)):
        raise ValueError(f"from_pretrained takes no {name!r}: the published model sets it.")


def _resolve_context(pretrained, context_length):
    """Return the number of steps of the context, for None and "max" too."""
    longest = pretrained.max_context
    if context_length is None:
        context_length = pretrained.default_context
    elif context_length == "max":
        context_length = longest
    check_positive_integers(context_length=context_length)
    check_at_most(context_length=context_length, **{"the longest that it reads": longest})
    return context_length


def _covariates(past, future, categories):
    """Return the `Covariates` with these names and the encodings of the given categories."""
    if not isinstance(categories, Mapping):
        raise ValueError(f"categories must be a dict of lists of texts, got {categories!r}.")
    unknown = sorted(set(categories) - {*past, *future})
    if unknown:
        raise ValueError(f"categories of {unknown}, which are neither past nor future covariates.")
    for name, texts in categories.items():
        is_list = isinstance(texts, Collection) and not isinstance(texts, str)
        if not is_list or not len(texts) or not all(isinstance(x, str) and x for x in texts):
            raise ValueError(f"categories of {name!r} must be a list of texts, got {texts!r}.")
    covariates = Covariates.named(past=past, future=future)
    texts = {name: tuple(sorted(set(x))) for name, x in categories.items()}
    parts = {
        kind: tuple(replace(x, categories=texts.get(x.name)) for x in getattr(covariates, kind))
        for kind in ("past", "future")
    }
    return replace(covariates, **parts)
