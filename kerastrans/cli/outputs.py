"""Files that commands write: checked before the work, written whole or not at all."""

import contextlib

from kerastrans.utils.files import new_file
from kerastrans.utils.validation import check_new

MAX_ROWS = 60  # of a table on the screen
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")


def check_outputs(*paths):
    """FileExistsError rather than a file written over; FileNotFoundError for its folder."""
    for path in filter(None, paths):
        check_new(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no such folder: {path.parent}.")


def check_picture(path):
    """ValueError unless a picture can be written under this name; as `check_outputs`."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise ValueError(f"a picture's name ends in {', '.join(PICTURES)}, got {path.name!r}.")
    check_outputs(path)


def write_table(frame, path, plot=None, draw=None):
    """Write a frame as CSV and its picture: both, or on an error none.

    Args:
        frame: DataFrame.
        path: CSV file, or None to print the frame.
        plot: picture file, or None.
        draw: function that returns the figure.
    """
    with contextlib.ExitStack() as stack:
        if path is not None:
            frame.to_csv(stack.enter_context(new_file(path)), index=False)
        if plot is not None:
            draw().savefig(stack.enter_context(new_file(plot)), dpi=100)
    if path is None:
        print(frame.to_string(index=False, max_rows=MAX_ROWS, float_format="{:.6g}".format))
    else:
        print(f"{len(frame)} rows: {path}")
    if plot is not None:
        print(f"picture: {plot}")
