"""Data frames, panels, splits, scaling, windows and teacher-forcing pairs."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "array_windows": (
            "random_sequences",
            "sliding_windows",
            "teacher_forcing_pairs",
            "window_dataset",
        ),
        "covariates": ("Covariates",),
        "frames": ("check_frame",),
        "missing": ("fill_gaps",),
        "panel": ("Panel", "read_panel"),
        "panel_windows": ("Windows",),
        "parquet": (),
        "scaling": ("StandardScaler", "WindowScaler"),
        "splits": ("chronological_split",),
        "tables.reader": ("read_csv", "read_table"),
        "time.clock": ("Clock",),
        "time.seasons": ("season_of", "seasons_of"),
        "window_index": ("training_cuts",),
    },
)
