"""Files of a preset: names, checksums, and writing a trained forecaster as a preset."""

import json
from pathlib import Path

from kerastrans.forecasting.inference.model_card import readme
from kerastrans.utils.files import new_folder, sha256_of

CARD = "card.json"
README = "README.md"
CONTENT = ("model.keras", "forecaster.json")
FORMAT = 1  # format of the folder of a preset; cards of another format are refused


def write(forecaster, folder, **facts):
    """Write a trained forecaster as a preset: a new folder with its files and their card.

    Args:
        forecaster: `Forecaster`; its weights are written, but not the state of its optimizer.
        folder: Path of the folder, which must not exist; its name is that of the preset.
        **facts: Facts for the card: data, split, settings, metrics, command, versions ...

    Raises:
        FileExistsError: If `folder` exists.
        RuntimeError: If the forecaster is not trained.
    """
    from kerastrans.forecasting.inference.serialization import write_files  # imports Keras

    with new_folder(folder) as unfinished:
        write_files(forecaster.config, forecaster.fitted, unfinished, optimizer=False)
        checksums = {name: sha256_of(unfinished / name) for name in CONTENT}
        content = {"format": FORMAT, "name": Path(folder).name, **facts, "sha256": checksums}
        (unfinished / CARD).write_text(json.dumps(content, indent=2) + "\n")
        (unfinished / README).write_text(readme(content), encoding="utf-8")


def check_sha256(path, checksum):
    """Raise ValueError unless a file has this checksum, or the checksum is None."""
    if checksum is not None and checksum != sha256_of(path):
        raise ValueError(f"{path} has sha256 {sha256_of(path)}, expected {checksum}.")
