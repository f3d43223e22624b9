"""`kerastrans datasets`, `zoo` and `presets`: what there is, listed without Keras."""

import json
from pathlib import Path

from kerastrans.cli.outputs import check_outputs
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers

SIZES = {"context-length": 96, "prediction-length": 96, "num-channels": 7}  # of the papers' tables


def add_commands(add):
    """Add the commands; `add(name, run, text)` makes a parser."""
    datasets = add("datasets", run_datasets, "list the named series, or save one as CSV")
    datasets.add_argument("name", nargs="?", help="series to load")
    datasets.add_argument("--output", type=Path, help="CSV file to write")

    zoo = add("zoo", run_zoo, "list the architectures, or describe one")
    zoo.add_argument("name", nargs="?", help="architecture to describe")
    zoo.add_argument("--tag", help="list only those with this tag")
    for size, default in SIZES.items():
        text = "for the number of weights (default: %(default)s)"
        zoo.add_argument(f"--{size}", type=int, metavar="INT", default=default, help=text)

    presets = add("presets", run_presets, "list the trained presets, or show a card")
    presets.add_argument("name", nargs="?", help="preset whose card to show")


def run_datasets(options):
    """Print a table of the datasets, or one of them."""
    from kerastrans import datasets

    if options.name is None:
        for name in datasets.names():
            known = datasets.info(name)
            print(
                f"{name:15} {known.rows:6} x {known.channels:<2} {known.series or 1:3} series  "
                f"{known.frequency:16}  {_where(known):14}  {known.description} ({known.licence})"
            )
        return
    check_outputs(options.output)
    frame = datasets.load(options.name)
    if options.output is None:
        print(frame)
        return
    from kerastrans.utils.files import new_file

    with new_file(options.output) as unfinished:
        frame.to_csv(unfinished)
    print(f"{len(frame)} rows: {options.output}")


def _where(dataset):
    """Where the files of a `kerastrans.datasets.Dataset` come from."""
    if not any("sha256" in file for file in dataset.files):
        return "in the package"
    return "download" if all("url" in file for file in dataset.files) else "folder"


def run_zoo(options):
    """Print a table of the architectures, or one of them and its size."""
    from kerastrans.models import registry

    if options.name is None:
        for name in registry.names(options.tag):
            known = registry.info(name)
            paper = f"{known.title} ({known.source}, {known.year})"
            channels = "mixed" if known.mixes_channels else "apart"
            print(f"{name:18} {paper:46} channels {channels}  {known.summary}")
        return
    known = registry.info(options.name)
    size = {name.replace("-", "_"): getattr(options, name.replace("-", "_")) for name in SIZES}
    check_positive_integers(**size)
    defaults, paper = (
        ", ".join(f"{key}={value!r}" for key, value in values.items())
        for values in (known.defaults, known.paper)
    )
    start_keras()
    steps = f"{size['context_length']} -> {size['prediction_length']} steps"
    print(
        f"{known.title} ({known.source}, {known.year}): {known.summary}\n"
        f"inputs: {', '.join(known.inputs)}\n"
        f"hyperparameters: {defaults or 'none'}\n"
        f"size of the paper: {paper or 'the same'}\n"
        f"weights: {known.count_params(**size):,} for {steps} of {size['num_channels']} channels\n"
        f"zoo.build({known.name!r}, {', '.join(map(str, size.values()))})"
    )


def run_presets(options):
    """Print a table of the presets, or the card of one."""
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
