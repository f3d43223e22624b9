"""The command line. Nothing heavy is imported before a command runs: `--help` answers at once."""

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path

from kerastrans.forecasting.settings import Settings
from kerastrans.utils.validation import check_new


def main(arguments=None):
    """Run `kerastrans`; returns 0, 2 for bad input, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow's start-up notes
    try:
        options.run(options)
    except KeyboardInterrupt:
        print("kerastrans: interrupted; a training run goes on with --resume", file=sys.stderr)
        return 130
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        if options.traceback:
            raise
        print(f"kerastrans: error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="kerastrans", description="Sequence forecasting with Keras Transformers."
    )
    parser.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = _command(commands, "demo", _demo, "train, forecast, draw and export on a real series")
    demo.add_argument("--output", type=Path, help="folder to write (default: saved_models/demo-N)")

    train = _command(commands, "train", _train, "train the Transformer on a series")
    train.add_argument("data", help=fields(Settings)[0].metadata["help"])
    train.add_argument("--output", type=Path, required=True, help="folder to write")
    train.add_argument("--resume", action="store_true", help="go on with the run in --output")
    _add_settings(train)

    forecast = _command(commands, "forecast", _forecast, "forecast what comes behind a series")
    forecast.add_argument("trained", help="folder that train or a Forecaster wrote, or a preset")
    forecast.add_argument("data", help=fields(Settings)[0].metadata["help"])
    forecast.add_argument("--output", type=Path, required=True, help="CSV file to write")
    forecast.add_argument("--plot", type=Path, help="PNG file to write")

    generate = _command(
        commands, "generate", _generate, "continue a sequence of plain numbers with a .keras model"
    )
    generate.add_argument("model", type=Path, help=".keras file of an encoder-decoder model")
    generate.add_argument("sequence", type=Path, help="CSV file: a header, one row per time step")
    generate.add_argument("--num-steps", type=int, required=True, help="values to generate")
    generate.add_argument(
        "--start-token", type=float, help="what the decoder sees first (default: the last row)"
    )
    generate.add_argument("--output", type=Path, required=True, help="CSV file to write")

    export = _command(commands, "export", _export, "export a run, or a preset, for other runtimes")
    export.add_argument("trained", help="folder that train or a Forecaster wrote, or a preset")
    export.add_argument(
        "output", type=Path, help="file.onnx or file.tflite, or folder of a SavedModel, to write"
    )

    sets = _command(commands, "datasets", _datasets, "list the named series, or save one as CSV")
    sets.add_argument("name", nargs="?", help="series to load")
    sets.add_argument("--output", type=Path, help="CSV file to write")

    zoo = _command(commands, "zoo", _zoo, "list the architectures, or describe one")
    zoo.add_argument("name", nargs="?", help="architecture to describe")
    for size, default in (("context-length", 96), ("prediction-length", 96), ("num-channels", 7)):
        text = "for the number of weights (default: %(default)s)"
        zoo.add_argument(f"--{size}", type=int, metavar="INT", default=default, help=text)

    serve = _command(commands, "serve", _serve, "serve a preset over HTTP (extra: serve)")
    serve.add_argument("trained", help="preset, or folder that a Forecaster wrote")
    serve.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    serve.add_argument("--port", type=int, default=8501, help="port (default: %(default)s)")

    trained = _command(commands, "presets", _presets, "list the trained presets, or show a card")
    trained.add_argument("name", nargs="?", help="preset whose card to show")
    return parser


def _command(commands, name, run, text):
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.set_defaults(run=run)
    return command


def _add_settings(parser):
    """One option per setting, with its type, default and help."""
    for setting in fields(Settings)[1:]:  # the first is the data, an argument of its own
        option = {"default": setting.default, "help": setting.metadata["help"]}
        if setting.type is tuple:
            option |= {"type": _number, "nargs": 3, "metavar": ("TRAIN", "VALIDATION", "TEST")}
        else:
            option |= {"type": setting.type, "metavar": setting.type.__name__.upper()}
        if setting.default is not None:
            option["help"] += " (default: %(default)s)"
        parser.add_argument(f"--{setting.name.replace('_', '-')}", **option)


def _number(text):
    """A row count, or a fraction."""
    return int(text) if text.isdigit() else float(text)


def _demo(options):
    import numpy as np

    from kerastrans.export import export_savedmodel, run_savedmodel
    from kerastrans.forecasting import runs

    folder = options.output or _next_folder(Path("saved_models"), "demo")
    check_new(folder)
    settings = Settings(data="nyc_departures")
    run = runs.train(settings, folder)
    print(f"\n{(folder / 'report.txt').read_text()}")

    export_savedmodel(
        run.model,
        folder / "savedmodel",
        scaler=run.scaler,
        prediction_length=settings.prediction_length,
    )
    frame = runs.load_series(settings.data)
    here = runs.forecast(run, frame).to_numpy()
    history = frame.to_numpy("float32")[None, -settings.context_length :]
    there = run_savedmodel(folder / "savedmodel", history)[0]
    difference = float(np.abs(here - there).max())
    print(f"SavedModel, in a process without kerastrans: largest difference {difference:.1e}")
    if not np.allclose(here, there, rtol=1e-4, atol=1e-4 * float(run.scaler.std.max())):
        raise RuntimeError("the exported model forecasts something else than the trained one.")
    print(f"everything is in {folder}: forecast.png, report.txt, report.json, savedmodel/, ...")


def _train(options):
    from kerastrans.forecasting import runs

    settings = Settings(**{f.name: getattr(options, f.name) for f in fields(Settings)})
    runs.train(settings, options.output, resume=options.resume)
    print(f"\n{(options.output / 'report.txt').read_text()}\nwritten to {options.output}")


def _forecast(options):
    from kerastrans.evaluation import plotting
    from kerastrans.forecasting import runs
    from kerastrans.forecasting.forecaster import Forecaster

    _check_new_files(options.output, options.plot)
    frame = runs.load_series(options.data)
    trained = _load_trained(options.trained)
    if isinstance(trained, Forecaster):
        found = trained.predict(frame)
        found.to_csv(options.output, index=False)
        first, last = found["ds"].min(), found["ds"].max()
    else:
        found = runs.forecast(trained, frame)
        found.to_csv(options.output)
        first, last = found.index[0], found.index[-1]
    print(f"{len(found)} rows from {first} to {last}: {options.output}")
    if not options.plot:
        return
    if isinstance(trained, Forecaster):
        figure = plotting.plot_fan(found, frame)
    else:
        history = frame[trained.columns].iloc[-trained.settings.context_length :]
        figure = plotting.plot_forecast(history, {"Transformer": found})
    figure.savefig(options.plot, dpi=100)
    print(f"picture: {options.plot}")


def _generate(options):
    import pandas as pd

    from kerastrans.decoding.generation import generate
    from kerastrans.utils.files import load_model

    _check_new_files(options.output)
    for path in (options.model, options.sequence):
        if not path.is_file():
            raise FileNotFoundError(f"no such file: {path}.")
    sequence = pd.read_csv(options.sequence)
    texts = list(sequence.select_dtypes(exclude="number"))
    if texts:
        raise ValueError(f"{options.sequence}: columns must be numeric, {texts} are not.")
    model = load_model(options.model)
    values = generate(
        model, sequence.to_numpy("float32")[None], options.num_steps, options.start_token
    )[0]
    columns = sequence.columns if values.shape[1] == sequence.shape[1] else None
    pd.DataFrame(values, columns=columns).to_csv(options.output, index=False)
    print(f"{len(values)} steps: {options.output}")


def _export(options):
    from kerastrans.export import export
    from kerastrans.forecasting.forecaster import Forecaster

    check_new(options.output)
    trained = _load_trained(options.trained)
    if isinstance(trained, Forecaster):
        trained.export(options.output)
    else:
        facts = {"channels": trained.columns}
        steps = trained.settings.prediction_length
        export(
            trained.model,
            options.output,
            scaler=trained.scaler,
            prediction_length=steps,
            metadata=facts,
        )
    print(f"written: {options.output}")


def _load_trained(source):
    """The `Run` or the `Forecaster` of a folder, or of a preset."""
    from kerastrans.forecasting import presets, runs

    folder = Path(source)
    if (folder / "settings.json").is_file():
        return runs.load_run(folder)
    known = (presets.CARD, "forecaster.json")
    if folder.is_dir() and not any((folder / name).is_file() for name in known):
        raise FileNotFoundError(
            f"{folder} holds no finished run of `kerastrans train`, no forecaster and no preset."
        )
    return presets.load_trained(source)


def _datasets(options):
    from kerastrans import datasets

    if options.name is None:
        for name in datasets.names():
            known = datasets.info(name)
            where = "in the package" if known.url is None else "download"
            print(
                f"{name:16} {known.rows:6} x {known.channels}  {known.frequency:8} {where:15} "
                f"{known.description} ({known.licence})"
            )
        return
    _check_new_files(options.output)
    frame = datasets.load(options.name)
    if options.output:
        frame.to_csv(options.output)
        print(f"{len(frame)} rows: {options.output}")
    else:
        print(frame)


def _zoo(options):
    from kerastrans import zoo

    if options.name is None:
        for name in zoo.names():
            known = zoo.info(name)
            paper = f"{known.title} ({known.source}, {known.year})"
            channels = "mixed" if known.mixes_channels else "apart"
            print(f"{name:18} {paper:46} channels {channels}  {known.summary}")
        return
    known = zoo.info(options.name)
    size = (options.context_length, options.prediction_length, options.num_channels)
    weights = known.count_params(*size)
    defaults = ", ".join(f"{key}={value!r}" for key, value in known.defaults.items())
    print(
        f"{known.title} ({known.source}, {known.year}): {known.summary}\n"
        f"inputs: {', '.join(known.inputs)}\n"
        f"hyperparameters: {defaults or 'none'}\n"
        f"weights: {weights:,} for {size[0]} -> {size[1]} steps of {size[2]} channels\n"
        f"zoo.build({known.name!r}, {', '.join(map(str, size))})"
    )


def _presets(options):
    import json

    from kerastrans.forecasting import presets

    if options.name is not None:
        print(json.dumps(presets.card(options.name), indent=2))
        return
    for name in presets.names():
        card = presets.card(name)
        settings, (_, errors), (_, naive) = card["settings"], *list(card["metrics"].items())[:2]
        size = f"{settings['context_length']} -> {settings['prediction_length']} steps"
        print(
            f"{name:28} {size:17} {card['data']['frequency']:8} "
            f"MAE {errors['mae']:.3f}, seasonal naive {naive['mae']:.3f}"
        )


def _serve(options):
    from kerastrans.forecasting.forecaster import Forecaster
    from kerastrans.serving import serve

    forecaster = _load_trained(options.trained)
    if not isinstance(forecaster, Forecaster):
        raise ValueError(f"{options.trained} is a run of `kerastrans train`: serve a Forecaster.")
    serve(forecaster, Path(options.trained).name, options.host, options.port)


def _check_new_files(*paths):
    """FileExistsError rather than a file written over; FileNotFoundError for its folder."""
    for path in filter(None, paths):
        check_new(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no such folder: {path.parent}.")


def _next_folder(parent, stem):
    number = 1
    while (parent / f"{stem}-{number}").exists():
        number += 1
    return parent / f"{stem}-{number}"


if __name__ == "__main__":
    sys.exit(main())
