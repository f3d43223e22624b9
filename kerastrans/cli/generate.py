"""`kerastrans generate`."""

import warnings
from pathlib import Path

from kerastrans.cli.options import finite
from kerastrans.cli.outputs import check_outputs, write_table
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers


def add_commands(add):
    """Add the command; `add(name, run, text)` makes a parser."""
    generate = add(
        "generate", run_generate, "continue a sequence of plain numbers with a .keras model"
    )
    generate.add_argument("model", type=Path, help=".keras file of an encoder-decoder model")
    generate.add_argument("sequence", type=Path, help="CSV file: a header, one row per time step")
    generate.add_argument("--num-steps", type=int, required=True, help="values to generate")
    generate.add_argument(
        "--start-token", type=finite, help="what the decoder sees first (default: the last row)"
    )
    generate.add_argument("--output", type=Path, required=True, help="CSV file to write")


def run_generate(options):
    """Read the sequence, then load the model."""
    import pandas as pd

    check_outputs(options.output)
    check_positive_integers(num_steps=options.num_steps)
    if not options.model.is_file():
        raise FileNotFoundError(f"no such file: {options.model}.")
    sequence = read_sequence(options.sequence)
    start_keras()
    from kerastrans.decoding.generation import generate
    from kerastrans.utils.files import load_model
    from kerastrans.utils.validation import check_finite_output

    model = load_model(options.model)
    history = sequence.to_numpy("float32")[None]
    values = generate(model, history, options.num_steps, options.start_token)[0]
    check_finite_output(values)
    columns = sequence.columns if values.shape[1] == sequence.shape[1] else None
    write_table(pd.DataFrame(values, columns=columns), options.output)


def read_sequence(path):
    """The frame of a CSV file of numbers, one row a step.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no table; a column that is not of numbers, a missing or infinite value.
    """
    import numpy as np
    import pandas as pd

    from kerastrans.utils.files import first_line

    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a field too many, not dropped
            frame = pd.read_csv(path, index_col=False)
    except (ValueError, pd.errors.ParserWarning) as error:
        raise ValueError(f"cannot read {path}: {first_line(error)}.") from None
    texts = list(frame.select_dtypes(exclude="number"))
    if texts:
        raise ValueError(f"{path}: columns must be numeric, {texts} are not.")
    with np.errstate(over="ignore"):
        at_fault = np.argwhere(~np.isfinite(frame.to_numpy("float32")))
    if len(at_fault):
        row, column = at_fault[0]
        raise ValueError(
            f"{path}, row {row + 1}: {frame.columns[column]!r} must be a number that float32 "
            f"holds, got {frame.iloc[row, column]}."
        )
    return frame
