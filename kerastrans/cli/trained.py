"""What commands that forecast are given: a run of `train`, a forecaster's folder, or a preset."""

from pathlib import Path

from kerastrans.cli.startup import start_keras

TEXT = "folder that train or Forecaster.save wrote, or a preset"


def read_facts(trained):
    """Names of the covariates and the frequency of a trained forecaster, without Keras.

    Args:
        trained: str, as given on the command line.

    Returns:
        Dict: "covariates", list of the names of columns; "freq".

    Raises:
        ValueError: nothing that was trained, or a damaged file.
    """
    from kerastrans.forecasting import presets
    from kerastrans.utils.files import read_json

    folder = Path(trained)
    if not folder.exists():
        presets.card(trained)  # an unknown name is refused here
        folder = presets.FOLDER / trained
    if folder.is_file():  # an archive
        return {"covariates": [], "freq": None}
    path = folder / "forecaster.json"
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no trained forecaster: no finished run of `kerastrans train`, no "
            "folder of `Forecaster.save`, no preset."
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


def load(trained):
    """The forecaster."""
    start_keras()
    from kerastrans.forecasting.presets import load_trained

    return load_trained(trained)
