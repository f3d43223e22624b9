"""Frames, splits, scaling, windows and teacher-forcing pairs."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "clock": ("Clock",),
        "covariates": ("Covariates",),
        "csv_reader": ("read_csv",),
        "frames": ("check_frame",),
        "cuts": ("training_cuts",),
        "gaps": ("fill_gaps",),
        "panel": ("Panel", "read_panel"),
        "panel_windows": ("Windows",),
        "partitions": (),
        "scaling": ("StandardScaler", "WindowScaler"),
        "seasons": ("season_of", "seasons_of"),
        "splits": ("chronological_split",),
        "windows": (
            "random_sequences",
            "sliding_windows",
            "teacher_forcing_pairs",
            "window_dataset",
        ),
    },
)
