"""What commands that forecast are given: a trained forecaster, or published weights."""

import contextlib
from pathlib import Path

from kerastrans.cli.options import DOOR, FORECASTER, given
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers

TEXT = "folder that train or Forecaster.save wrote; a preset; published weights such as fracast_0"
DEFAULT = "kerastrans_zero"
HORIZON = {
    "--prediction-length": {
        **FORECASTER["--prediction-length"],
        "help": "steps to forecast, of published weights alone (default: a season of the data)",
    },
}


def read_facts(options):
    """Names of the covariates and the frequency of what was trained, without Keras.

    Args:
        options: parsed, with `trained` and perhaps what `HORIZON` names.

    Returns:
        Dict: "covariates", list of the names of columns; "freq".

    Raises:
        ValueError: nothing that was trained, or a damaged file.
        ValueError: a forecaster with a number of steps, which it has of its own.
    """
    from kerastrans.forecasting.presets.sources import opened

    trained, steps = options.trained, given(options, HORIZON)
    check_positive_integers(**steps)
    if _is_published(trained):
        return {"covariates": [], "freq": None}
    folder = Path(trained)
    with contextlib.nullcontext(folder) if folder.is_dir() else opened(trained) as folder:
        facts = _facts_in(folder)
    if steps:
        raise ValueError(f"{trained} has its own number of steps: leave out --prediction-length.")
    return facts


def load(options, frame=None):
    """The forecaster.

    Args:
        options: parsed, see `read_facts`.
        frame: DataFrame that it is to forecast, if there is one: published weights forecast a
            season of it where no number of steps was given.

    Raises:
        ValueError: published weights, and neither a number of steps nor a frame.
    """
    if _is_published(options.trained):
        return _load_published(options, frame)
    start_keras()
    from kerastrans.forecasting.presets.catalog import load_trained

    return load_trained(options.trained)


def _load_published(options, frame):
    freq, steps = given(options, DOOR).get("freq"), given(options, HORIZON).get("prediction_length")
    if steps is None:
        if frame is None:
            raise ValueError(
                f"{options.trained} forecasts any number of steps: give --prediction-length."
            )
        from kerastrans.cli.split import Series

        steps = Series.of(frame, freq=freq).sizes["prediction_length"]
    start_keras()
    from kerastrans.forecasting.presets.pretrained import from_pretrained

    return from_pretrained(options.trained, steps, freq=freq)


def _is_published(trained):
    """Whether it is a folder with a checkpoint, or the name of one."""
    from kerastrans.forecasting.presets.sources import WEIGHTS, published
    from kerastrans.models.pretrained.hub import NAME

    if Path(trained).exists():
        return Path(trained, WEIGHTS).is_file()
    return trained in published() or NAME.fullmatch(trained) is not None


def _facts_in(folder):
    from kerastrans.utils.files import read_json

    path = folder / "forecaster.json"
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no trained forecaster: no finished run of `kerastrans train`, no "
            "folder of `Forecaster.save`, no preset, no published weights."
        )
    content = read_json(path, {})
    stored = content.get("fitted", content)
    try:
        columns = [stored["covariates"][kind] for kind in ("past", "future")]
        covariates = [column["name"] for kind in columns for column in kind]
        clock = stored["clock"]
        return {"covariates": covariates, "freq": clock and clock["freq"]}
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error!r}.") from None
