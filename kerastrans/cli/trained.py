"""What commands that forecast are given: a trained forecaster, or published weights."""

from pathlib import Path

from kerastrans.cli.options import DOOR, FORECASTER, given
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers

TEXT = "folder that train or Forecaster.save wrote; a preset; published weights such as fracast_0"
HORIZON = {
    "--prediction-length": {
        **FORECASTER["--prediction-length"],
        "help": "steps to forecast, of published weights alone",
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
        ValueError: published weights without a number of steps, or a forecaster with one.
    """
    from kerastrans.forecasting.preset_files import opened

    trained, steps = options.trained, given(options, HORIZON)
    check_positive_integers(**steps)
    if _is_published(trained):
        if not steps:
            raise ValueError(f"{trained} forecasts any number of steps: give --prediction-length.")
        return {"covariates": [], "freq": None}
    if steps:
        raise ValueError(f"{trained} has its own number of steps: leave out --prediction-length.")
    folder = Path(trained)
    if folder.is_dir():
        return _facts_in(folder)
    with opened(trained) as folder:
        return _facts_in(folder)


def load(options):
    """The forecaster."""
    start_keras()
    if _is_published(options.trained):
        from kerastrans.forecasting.pretrained import from_pretrained

        freq = given(options, DOOR).get("freq")
        return from_pretrained(options.trained, options.prediction_length, freq=freq)
    from kerastrans.forecasting.presets import load_trained

    return load_trained(options.trained)


def _is_published(trained):
    """Whether it is a folder with a checkpoint, or the name of one."""
    from kerastrans.forecasting.preset_files import FOLDER
    from kerastrans.models.pretrained.checkpoint import WEIGHTS
    from kerastrans.models.pretrained.hub import NAME

    if Path(trained).exists():
        return Path(trained, WEIGHTS).is_file()
    return (FOLDER / trained / WEIGHTS).is_file() or NAME.fullmatch(trained) is not None


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
