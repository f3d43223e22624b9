"""The part of a Forecaster that leaves the process: config, files, exports."""

import json
from pathlib import Path
from typing import Any, Self

from kerastrans.export import export
from kerastrans.forecasting.inference import preset_files
from kerastrans.forecasting.inference.model import fresh
from kerastrans.forecasting.inference.model_card import facts_of
from kerastrans.forecasting.inference.serialization import of_format_1, read, written
from kerastrans.forecasting.inference.state import Fitted
from kerastrans.forecasting.training.fine_tuning import published
from kerastrans.utils.files import load_model, new_folder, read_json
from kerastrans.utils.model_files import without_optimizer
from kerastrans.utils.types import PathLike

FORMAT = 2  # of forecaster.json; files of format 1 have no number
NAMES = ("model.keras", "forecaster.json")


class Stored:
    """How a `Forecaster` is written and read; its constructor and `fit` are there."""

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments as a dict of what JSON holds; `from_config` reads it.

        Raises:
            ValueError: A loss or a builder that Keras cannot write: register it with
                `keras.saving.register_keras_serializable`.
        """
        return written(self._given.arguments())

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A forecaster, not trained, of what `get_config` returned."""
        return cls(**read(config))

    def clone(self) -> Self:
        """A forecaster with the same arguments that is not trained.

        A model that came built is built anew, with new weights. One with published weights keeps
        them, and forecasts at once.

        Raises:
            ValueError: The published weights are gone, since `fit` has trained them.
        """
        arguments = self._given.arguments()
        if self.card is not None:
            fitted = published(self.fitted)
            clone = type(self)(**{**arguments, "model": fitted.model})
            clone.fitted = fitted
            return clone
        if self.config.is_built:
            arguments["model"] = fresh(self.config.model, self.config.seed)
        return type(self)(**arguments)

    def save(self, path: PathLike, *, optimizer: bool = True) -> None:
        """Write the forecaster to a new folder: model.keras and forecaster.json.

        Args:
            path: Folder to write, which must not exist.
            optimizer: bool, whether the optimizer's state is kept, to go on training where it
                stopped; without it the file is a third of the size.

        Raises:
            FileExistsError: `path` exists.
            RuntimeError: Not trained.
            ValueError: A loss that Keras cannot write.
        """
        with new_folder(path) as folder:
            self.write_files(folder, optimizer)

    def save_to_preset(
        self,
        folder: PathLike,
        *,
        licence: str | None = None,
        metrics: Any = None,
        dataset: str | None = None,
    ) -> None:
        """Write a preset: what `save` writes without the optimizer, checksums, and a model card.

        `kerastrans.zoo.from_preset` reads it back, `kerastrans.upload_preset` publishes it. The
        card is a README.md with the metadata that the Hugging Face hub reads, to be completed.

        Args:
            folder: Folder to write, which must not exist; its name is the preset's.
            licence: str, the hub's name of a licence, such as "apache-2.0"; by default that of the
                published weights, if the forecaster began with such, or else none is stated.
            metrics: Mapping from names of scores to numbers, such as a row of
                `kerastrans.backtesting.score`; those that are not finite are left out.
            dataset: str, name of the data that `metrics` are of.

        Raises:
            FileExistsError: `folder` exists.
            RuntimeError: Not trained.
            ValueError: Not the name of a licence.
            ValueError: Scores that are no numbers; one of `metrics` and `dataset` alone.

        Example:
            >>> import tempfile
            >>> from kerastrans import zoo
            >>> forecaster = zoo.from_preset("nhits_air_passengers_12")
            >>> with tempfile.TemporaryDirectory() as parent:
            ...     forecaster.save_to_preset(f"{parent}/passengers", licence="apache-2.0")
            ...     zoo.from_preset(f"{parent}/passengers").prediction_length
            12
        """
        facts = facts_of(self, licence, metrics, dataset)
        preset_files.write(self, folder, **facts)

    def write_files(self, folder: Path, optimizer: bool) -> None:
        """Write model.keras and forecaster.json into a folder that is there."""
        fitted = self._trained()
        arguments = self.config.arguments()
        if self.config.architecture is None:  # model.keras holds all that built it
            arguments |= {"model": None, "head": None, "alias": self.alias}
            for name in self.config.hyperparameters:
                del arguments[name]
        content = {"format": FORMAT, "config": written(arguments), "fitted": fitted.to_dict()}
        text = json.dumps(content, indent=2) + "\n"
        model = fitted.model if optimizer else without_optimizer(fitted.model)
        model.save(folder / NAMES[0])
        (folder / NAMES[1]).write_text(text)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a forecaster back: every method gives what it gave before.

        Raises:
            FileNotFoundError: No forecaster at `path`.
            ValueError: A damaged file, a newer format, or a model that holds code.
        """
        path = Path(path)
        if not (path / NAMES[1]).is_file():
            raise FileNotFoundError(f"{path} holds no forecaster.")
        content = read_json(path / NAMES[1], {"config": dict})
        number = content.get("format", 1)
        if number not in (1, FORMAT):
            raise ValueError(f"{path} has format {number}, this version reads up to {FORMAT}.")
        if number == FORMAT:
            content = read_json(path / NAMES[1], {"config": dict, "fitted": dict})
        model = load_model(path / NAMES[0])
        try:
            if number == 1:
                arguments, state = of_format_1(content, model)
            else:
                arguments, state = read(content["config"]), content["fitted"]
            if arguments["model"] is None:
                arguments["model"] = model
            loaded = cls(**arguments)
            loaded.fitted = Fitted.from_dict(model, state)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path / NAMES[1]} is damaged: {error!r}.") from None
        return loaded

    def export(self, path: PathLike, **kwargs: Any) -> Path:
        """Write what takes raw histories outside of Python, see `kerastrans.export.export`.

        NaN in a history is a missing value, before the start of a short series too; covariates
        enter encoded, as `metadata` describes. Conformal intervals stay in Python. It sees a
        context alone: where that hardly moves, `predict` has the scale of the whole series.

        Args:
            path: To write, which must not exist: a name that ends in .onnx or .tflite, or that of
                a SavedModel's folder.
            **kwargs: Of the format, such as `quantize` for .tflite.

        Raises:
            RuntimeError: Not trained.
            ValueError: A model or a `fill` that cannot be exported.
            FileExistsError: `path` exists.
        """
        fitted = self._trained()
        if self.config.fill is not None:
            raise ValueError(
                f"fill={self.config.fill!r} and export exclude each other: train with fill=None."
            )
        facts = self.metadata
        return export(fitted.model, path, scaler=self.config.scaler, metadata=facts, **kwargs)

    @property
    def metadata(self) -> dict[str, Any]:
        """What an exported or served model says of itself beyond its shapes."""
        fitted = self._trained()
        covariates = fitted.covariates.to_dict()
        facts = {
            "architecture": self.config.architecture,
            "channels": list(fitted.channels or ["y"]),
            "frequency": fitted.freq,
        }
        if any(covariates.values()):
            facts["covariates"] = covariates
        if self.config.calendar:
            facts["calendar"] = list(fitted.clock.calendar_names)
        return facts
