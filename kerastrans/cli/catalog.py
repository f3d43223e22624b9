"""`kerastrans datasets`, `zoo` and `presets`: catalogues, printed without importing Keras."""

import json
from pathlib import Path

from kerastrans.cli.options import COLUMNS, COUNT, add_options, flags, given, option
from kerastrans.cli.outputs import Outputs
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers

# Arguments of `kerastrans.zoo.names`.
FILTERS = {
    "--tag": option("list only those with these tags", COLUMNS),
    "--filter": option("list only these names, such as '*former'", dest="pattern"),
    "--tier": option("list only those of this tier: 'start with', 'classics' or 'for comparison'"),
    "--license": option("list only those whose published code has it, such as MIT"),
    "--max-parameters": option("list only those with at most so many weights", COUNT),
}
SIZE = {"--size": option("size of the architecture to describe, or list only those with this size")}
LENGTHS = {"context_length": 96, "prediction_length": 96, "num_channels": 7}  # as in papers' tables


def add_commands(add):
    """Add the commands; `add(name, run, text)` creates a parser."""
    datasets = add("datasets", run_datasets, "list the named series, or save one as CSV")
    datasets.add_argument("name", nargs="?", help="series to load")
    datasets.add_argument("--output", type=Path, help="CSV file to write")

    zoo = add("zoo", run_zoo, "list the architectures, or describe one")
    zoo.add_argument("name", nargs="?", help="architecture to describe")
    add_options(zoo, FILTERS, SIZE)
    for length, default in LENGTHS.items():
        text = "for the number of weights (default: %(default)s)"
        zoo.add_argument(f"--{length.replace('_', '-')}", **option(text, COUNT, default=default))

    presets = add("presets", run_presets, "list the trained presets, or show a card")
    presets.add_argument("name", nargs="?", help="preset whose card to show")


def run_datasets(options):
    """Print a table of the datasets, or print or save one of them."""
    from kerastrans import datasets

    name, output = options.name, options.output
    if name is None:
        if output is not None:
            raise ValueError("--output requires the name of the series to save.")
        for name in datasets.names():
            dataset = datasets.info(name)
            size = f"{dataset.rows:6} x {dataset.channels:<2} {dataset.series or 1:3} series"
            print(
                f"{name:15} {size}  {dataset.frequency:16}  {_file_source(dataset):14}  "
                f"{dataset.description} ({dataset.licence})"
            )
        return
    Outputs(output)
    frame = datasets.load(name)
    if output is None:
        print(frame)
        return
    from kerastrans.data.frames import is_wide
    from kerastrans.utils.files import new_file

    with new_file(output) as unfinished:
        frame.to_csv(unfinished, index=is_wide(frame))
    print(f"{len(frame)} rows: {output}")


def _file_source(dataset):
    """Return the source of a `kerastrans.datasets.Dataset`: package, download or folder."""
    if not any("sha256" in file for file in dataset.files):
        return "in the package"
    return "download" if all("url" in file for file in dataset.files) else "folder"


def run_zoo(options):
    """Print a table of the architectures, or one of them with its number of weights."""
    from kerastrans.models import registry

    asked, filters, size = options.name, given(options, FILTERS), given(options, SIZE)
    lengths = {name: getattr(options, name) for name in LENGTHS}
    if asked is None:
        if "max_parameters" in filters:
            start_keras()
        for name in registry.names(**filters, **size, **lengths):
            architecture = registry.info(name)
            paper = f"{architecture.title} ({architecture.source}, {architecture.year})"
            channels = "mixed" if architecture.mixes_channels else "apart"
            tier = architecture.tier
            print(f"{name:23} {paper:46} {tier:14}  channels {channels}  {architecture.summary}")
        return
    if filters:
        given_flags = ", ".join(flags(FILTERS)[name] for name in filters)
        raise ValueError(f"leave out {given_flags}, or the name {asked}: only lists are filtered.")
    architecture = registry.info(asked)
    check_positive_integers(**lengths)
    size = size.get("size")
    if size is not None:
        registry.check_size(asked, size)
    chosen = architecture.sizes[size or "laptop"]
    hyperparameters, paper = (
        ", ".join(f"{key}={value!r}" for key, value in values.items())
        for values in ({**architecture.defaults, **chosen}, architecture.paper)
    )
    given_size = f", size={size!r}" if size else ""
    start_keras()
    steps = f"{lengths['context_length']} -> {lengths['prediction_length']} steps"
    weights = architecture.count_params(**lengths, **chosen)
    print(
        f"{architecture.title} ({architecture.source}, {architecture.year}): "
        f"{architecture.summary}\n"
        f"license of the published code: {architecture.license or 'none recorded'}\n"
        f"inputs: {', '.join(architecture.inputs)}\n"
        f"hyperparameters: {hyperparameters or 'none'}\n"
        f"size of the paper: {paper or 'the same'}\n"
        f"sizes: {', '.join(architecture.sizes)}\n"
        f"weights: {weights:,} for {steps} of {lengths['num_channels']} channels\n"
        f"zoo.build({architecture.name!r}, {', '.join(map(str, lengths.values()))}{given_size})"
    )


def run_presets(options):
    """Print a table of the presets, or the card of one."""
    from kerastrans.forecasting import presets
    from kerastrans.forecasting.presets.sources import published_names

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
    for name in published_names():
        print(f"{name:28} published weights, forecast any series without training")
