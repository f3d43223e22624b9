"""`kerastrans generate`."""

from pathlib import Path

from kerastrans.cli.options import FORMAT, add_options, finite, given
from kerastrans.cli.outputs import Outputs
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers


def add_commands(add):
    """Add the command; `add(name, run, text)` creates a parser."""
    generate = add(
        "generate", run_generate, "continue a sequence of plain numbers with a .keras model"
    )
    generate.add_argument("model", type=Path, help=".keras file of an encoder-decoder model")
    generate.add_argument("sequence", type=Path, help="CSV file: a header, one row per time step")
    generate.add_argument("--num-steps", type=int, required=True, help="values to generate")
    generate.add_argument(
        "--start-token", type=finite, help="first decoder input (default: the last row)"
    )
    generate.add_argument("--output", type=Path, required=True, help="CSV file to write")
    add_options(generate, FORMAT)


def run_generate(options):
    """Read the sequence, load the model, and write the generated values."""
    import pandas as pd

    path, num_steps, outputs = options.model, options.num_steps, Outputs(options.output)
    check_positive_integers(num_steps=num_steps)
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}.")
    sequence = read_sequence(options.sequence, **given(options, FORMAT))
    start_keras()
    from kerastrans.decoding.generation import generate
    from kerastrans.utils.files import load_model
    from kerastrans.utils.validation import check_finite_output

    history = sequence.to_numpy("float32")[None]
    values = generate(load_model(path), history, num_steps, options.start_token)[0]
    check_finite_output(values)
    columns = sequence.columns if values.shape[1] == sequence.shape[1] else None
    outputs.write(pd.DataFrame(values, columns=columns))


def read_sequence(path, **file_format):
    """Return the frame of a file of numbers with one row per step.

    Args:
        path: Path of the file.
        **file_format: Arguments of `read_numbers`, the options in `FORMAT`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not a table, a column is not numeric, or a value is missing or
            beyond the range of float32.
    """
    import numpy as np

    from kerastrans.data.tables.reader import read_numbers

    frame = read_numbers(path, **file_format)
    with np.errstate(over="ignore"):
        invalid = np.argwhere(~np.isfinite(frame.to_numpy("float32")))
    if len(invalid):
        row, column = invalid[0]
        raise ValueError(
            f"{path}, row {row + 1}: {frame.columns[column]!r} must be a number in the range of "
            f"float32, got {frame.iloc[row, column]}."
        )
    return frame
