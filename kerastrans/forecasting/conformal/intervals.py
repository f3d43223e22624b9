"""Conformal intervals of one model: of all series, and of groups of them."""

from dataclasses import dataclass, field, replace

import numpy as np

from kerastrans.forecasting.conformal.group_intervals import GroupIntervals
from kerastrans.forecasting.conformal.offsets import windows_needed
from kerastrans.utils.user_warnings import warn_user


@dataclass(frozen=True)
class ConformalIntervals(GroupIntervals):
    """Offsets of the intervals of one model, of all series and of groups of them.

    Make them with `ConformalIntervals.fit(scores, ...)`, or by `Forecaster.calibrate`. Those of all
    series are the attributes of `GroupIntervals`; a group that was not calibrated has them too.

    Attributes:
        by: "unique_id" or a static column, what the groups are; None without groups.
        groups: dict of group -> its `GroupIntervals`.
        sizes: dict of series -> `(num_channels,)`, what its offsets are multiplied by, its mean
            absolute residual in units of a window's scale; None for 1.

    Source: Romano et al. (2019), theorem 2, for an offset of each bound; Lei et al. (2018), section
    5.2, for sizes.

    Example:
        >>> from kerastrans.forecasting.conformal.offsets import conformity_scores
        >>> errors = np.random.default_rng(2).normal(size=(100, 1, 1))
        >>> scores = {80: conformity_scores(errors, 0.0, 0.0, 1.0)}
        >>> intervals = ConformalIntervals.fit(scores, np.arange(100))
        >>> intervals.symmetric[80], intervals.effective_origins
        (True, 100)
        >>> intervals.offsets[80].round(1)  # of a normal distribution 1.3
        array([[[1.2, 1.2]]])
    """

    by: str | None = None
    groups: dict = field(default_factory=dict)
    sizes: dict | None = None

    @classmethod
    def fit(cls, scores, times, method="split", rate=None, *, symmetric=None, by=None, groups=None):
        """From calibration scores `{level: (windows, prediction_length, num_channels, 2)}`.

        Args:
            scores: of windows that the model was not trained on, in the order of time, see
                `conformity_scores`.
            times: `(windows,)`, see `adaptive_offsets`.
            method: "split" or "adaptive".
            rate: float, step size of "adaptive", as a share of the 90 % quantile of the scores'
                sizes; by default `2 / sqrt(origins)`. The root is that of the theory; of 0.5, 1, 2
                and 4 over it, 2 gave the smallest mean error of coverage, of 80 and 95 %, on the
                validation parts of the benchmarks' series: 3.2 % (of "split" 5.1 %).
            symmetric: bool, whether both bounds move alike; by default where the scores are not
                skewed, see `are_skewed`, or where the windows are too few for two offsets.
            by: str, what the groups are.
            groups: `(windows,)`, the group of each; None where it has none.

        Raises:
            ValueError: too few windows for a level, or of a group for it; an unknown method.
        """
        options = {"method": method, "rate": rate, "symmetric": symmetric}
        fitted = super().fit(scores, times, **options)
        members = {}
        for name in sorted({name for name in groups if name is not None} if by else ()):
            rows = np.flatnonzero(groups == name)
            own = {level: score[rows] for level, score in scores.items()}
            try:
                members[name] = GroupIntervals.fit(own, times[rows], **options)
            except ValueError as error:
                raise ValueError(f"group {name!r} of by={by!r}: {error}") from None
        return replace(fitted, by=by, groups=members)

    def widths(self, levels, groups):
        """Offsets of windows whose outcomes are not known, dict of level -> as scores.

        Args:
            levels: percents.
            groups: `(windows,)`, the group of each.
        """
        members = [self.groups.get(name, self) for name in groups]
        return {level: np.stack([x.offsets[level] for x in members]) for level in levels}

    def follow(self, scores, times, groups=None):
        """Offsets of windows whose outcomes become known one after the other.

        Args:
            scores: as in `fit`, of later windows.
            times: as in `fit`.
            groups: as in `fit`.

        Returns:
            `({level: offsets as the scores}, the intervals after the last window)`.
        """
        widths, later = super().follow(scores, times)
        widths = {level: width.copy() for level, width in widths.items()} if self.groups else widths
        members = dict(self.groups)
        for name, member in self.groups.items():
            rows = np.flatnonzero(groups == name)
            if len(rows):
                own = {level: score[rows] for level, score in scores.items()}
                own, members[name] = member.follow(own, times[rows])
                for level, width in own.items():
                    widths[level][rows] = width
        return widths, replace(later, groups=members)

    def warn_of_few(self):
        """Warn where a level asks for more independent origins than calibrated."""
        parts = {"": self} | {f" in group {x!r}": part for x, part in self.groups.items()}
        where, part = min(parts.items(), key=lambda item: item[1].effective_origins)
        few = [x for x in self.offsets if part.effective_origins < windows_needed(x)]
        if few:
            warn_user(
                f"{few[-1]:g} % needs {windows_needed(few[-1])} calibration origins that do not "
                f"overlap, got {part.effective_origins}{where}: coverage may be far off. Give more "
                "windows, or a step of prediction_length.",
            )

    @classmethod
    def from_dict(cls, config):
        """The intervals of what `to_dict` returned, in this version or an earlier one."""
        groups, sizes = config.get("groups", {}), config.get("sizes")
        return replace(
            super().from_dict(config),
            by=config.get("by"),
            groups={name: GroupIntervals.from_dict(group) for name, group in groups.items()},
            sizes=sizes and {name: np.asarray(values) for name, values in sizes.items()},
        )
