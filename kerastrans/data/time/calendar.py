"""Calendar features: the phase within an hour, a day, a week, a month and a year."""

import numpy as np
import pandas as pd

# Name -> (smallest step that leaves the feature out, function of time stamps to values in [0, 1]).
_CALENDAR = {
    "minute": ("1h", lambda t: t.minute / 60),
    "hour": ("1D", lambda t: (t.hour + t.minute / 60) / 24),
    "weekday": ("7D", lambda t: t.day_of_week / 7),
    "day": ("28D", lambda t: (t.day - 1) / t.days_in_month),
    "month": ("365D", lambda t: (t.day_of_year - 1) / 366),
}


def feature_names(step):
    """Return the names of the features that change between steps of `step` nanoseconds."""
    return [name for name, (limit, _) in _CALENDAR.items() if step < pd.Timedelta(limit).value]


def waves(times, names):
    """Return sine and cosine of each feature at local time stamps, `(time, 2 * names)`, float32."""
    angles = [2 * np.pi * _CALENDAR[name][1](times) for name in names]
    columns = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
    if not columns:
        return np.zeros((len(times), 0), "float32")
    return np.stack(columns, axis=-1).astype("float32")
