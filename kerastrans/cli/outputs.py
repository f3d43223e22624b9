"""Output files of commands, checked before the work and written completely or not at all."""

from kerastrans.utils.files import new_files
from kerastrans.utils.validation import check_new

MAX_ROWS = 60  # maximum number of rows of a printed table
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")


def check_outputs(*paths):
    """Check the paths of all outputs of a command; None for an output that is not requested.

    Raises:
        FileExistsError: If an output exists.
        FileNotFoundError: If its folder does not exist.
        ValueError: If two outputs are the same file.
    """
    paths = [path for path in paths if path is not None]
    places = [path.resolve() for path in paths]
    if len(set(places)) < len(places):
        raise ValueError(f"two outputs have the same name: {paths[0]}.")
    for path in paths:
        check_new(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no such folder: {path.parent}.")


def check_picture(path, *others):
    """Raise ValueError unless the suffix is that of a picture; then check as `check_outputs`.

    Args:
        path: Path of the picture, or None.
        *others: Paths of other outputs of the command, or None.
    """
    if path is not None and path.suffix.lower() not in PICTURES:
        raise ValueError(f"a picture's name must end in {', '.join(PICTURES)}, got {path.name!r}.")
    check_outputs(path, *others)


def write_table(frame, path, plot=None, draw=None):
    """Write a frame as CSV and its picture: both, or none if an error occurs.

    Args:
        frame: DataFrame.
        path: CSV file to write, or None to print the frame.
        plot: Picture file to write, or None.
        draw: Function that returns the figure.
    """
    outputs = [output for output in (path, plot) if output is not None]
    with new_files(*outputs) as unfinished:
        if path is not None:
            frame.to_csv(unfinished[0], index=False)
        if plot is not None:
            draw().savefig(unfinished[-1], dpi=100)
    if path is None:
        print(frame.to_string(index=False, max_rows=MAX_ROWS, float_format="{:.6g}".format))
    else:
        print(f"{len(frame)} rows: {path}")
    if plot is not None:
        print(f"picture: {plot}")
