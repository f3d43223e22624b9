"""Conformal intervals of a model, for all series and for groups of series."""

from dataclasses import dataclass, field, replace

import numpy as np

from kerastrans.forecasting.conformal.group_intervals import GroupIntervals
from kerastrans.forecasting.conformal.offsets import windows_needed
from kerastrans.utils.user_warnings import warn_user


@dataclass(frozen=True)
class ConformalIntervals(GroupIntervals):
    """Offsets of the intervals of a model, for all series and for groups of series.

    Create them with `ConformalIntervals.fit(scores, ...)` or `Forecaster.calibrate`. The attributes
    of `GroupIntervals` are the offsets of all series; groups that were not calibrated use them too.

    Attributes:
        by: "unique_id" or a static column that defines the groups; None without groups.
        groups: Dict of group -> its `GroupIntervals`.
        sizes: Dict of series -> `(num_channels,)`, factors to multiply its offsets by: mean
            absolute residuals in units of the scale of a window. None for factors of 1.
        scales: `(2, num_channels)`, smallest and largest scale of the errors of a window that was
            calibrated on; None in files of version 0.3.

    Source: Romano et al. (2019), theorem 2, for separate offsets of the bounds; Lei et al. (2018),
    section 5.2, for sizes.

    Example:
        >>> from kerastrans.forecasting.conformal.offsets import conformity_scores
        >>> errors = np.random.default_rng(2).normal(size=(100, 1, 1))
        >>> scores = {80: conformity_scores(errors, 0.0, 0.0, 1.0)}
        >>> intervals = ConformalIntervals.fit(scores, np.arange(100))
        >>> intervals.symmetric[80], intervals.effective_origins
        (True, 100)
        >>> intervals.offsets[80].round(1)  # 1.3 for a normal distribution
        array([[[1.2, 1.2]]])
    """

    by: str | None = None
    groups: dict = field(default_factory=dict)
    sizes: dict | None = None
    scales: np.ndarray | None = None

    @classmethod
    def fit(cls, scores, times, method="split", rate=None, *, symmetric=None, by=None, groups=None):
        """Return the intervals of calibration scores.

        Args:
            scores: Dict of level -> `(windows, prediction_length, num_channels, 2)`, scores of
                windows that the model was not trained on, in temporal order, see
                `conformity_scores`.
            times: `(windows,)`, see `adaptive_offsets`.
            method: "split" or "adaptive".
            rate: float, step size of "adaptive", as a share of the 90 % quantile of the absolute
                scores; by default `2 / sqrt(origins)`. The root follows from the theory. Among
                numerators of 0.5, 1, 2 and 4, 2 had the smallest mean error of coverage, for 80 and
                95 %, on the validation parts of the benchmark series: 3.2 % (5.1 % for "split").
            symmetric: bool, whether both bounds have the same offset. By default True if the scores
                are not skewed, see `are_skewed`, or there are too few windows or effective origins
                for two offsets (9 for 80 %, 39 for 95 %).
            by: str, column that defines the groups.
            groups: `(windows,)`, group of each window, or None.

        Raises:
            ValueError: If there are too few windows for a level, in total or in a group, or the
                method is unknown.
        """
        options = {"method": method, "rate": rate, "symmetric": symmetric}
        fitted = super().fit(scores, times, **options)
        members = {}
        for name in sorted({name for name in groups if name is not None} if by else ()):
            rows = np.flatnonzero(groups == name)
            group_scores = {level: score[rows] for level, score in scores.items()}
            try:
                members[name] = GroupIntervals.fit(group_scores, times[rows], **options)
            except ValueError as error:
                raise ValueError(f"group {name!r} of by={by!r}: {error}") from None
        return replace(fitted, by=by, groups=members)

    def first_steps(self, prediction_length):
        """Return the intervals of the first steps; later ones have those of the last step."""
        groups = {name: x.first_steps(prediction_length) for name, x in self.groups.items()}
        return replace(super().first_steps(prediction_length), groups=groups)

    def widths(self, levels, groups):
        """Return the offsets of windows whose outcomes are not known.

        Args:
            levels: Percents of the intervals.
            groups: `(windows,)`, group of each window.

        Returns:
            Dict of level -> offsets `(windows, prediction_length, num_channels, 2)`.
        """
        members = [self.groups.get(name, self) for name in groups]
        return {level: np.stack([x.offsets[level] for x in members]) for level in levels}

    def follow(self, scores, times, groups=None):
        """Return the offsets of later windows, each updated with the outcomes known by then.

        Args:
            scores: Scores of later windows, as in `fit`.
            times: As in `fit`.
            groups: As in `fit`.

        Returns:
            Dict of level -> offsets with the shape of the scores, and the intervals after the last
            window.
        """
        # The offsets of all series first; then those of the windows of each group replace them.
        offsets, later = super().follow(scores, times)
        if self.groups:
            offsets = {level: values.copy() for level, values in offsets.items()}  # writable
        members = dict(self.groups)
        for name, member in self.groups.items():
            rows = np.flatnonzero(groups == name)
            if len(rows):
                group_scores = {level: score[rows] for level, score in scores.items()}
                group_offsets, members[name] = member.follow(group_scores, times[rows])
                for level, values in group_offsets.items():
                    offsets[level][rows] = values
        return offsets, replace(later, groups=members)

    def warn_if_few_origins(self):
        """Warn if there are fewer independent origins than a level requires."""
        parts = {"": self} | {f" in group {x!r}": part for x, part in self.groups.items()}
        where, part = min(parts.items(), key=lambda item: item[1].effective_origins)
        unsupported = [x for x in self.offsets if part.effective_origins < windows_needed(x)]
        if unsupported:
            level = unsupported[-1]
            warn_user(
                f"{level:g} % requires {windows_needed(level)} calibration origins that do not "
                f"overlap, got {part.effective_origins}{where}: coverage may be far off. Use more "
                "windows, or a step of prediction_length."
            )

    @classmethod
    def from_dict(cls, config):
        """Return the intervals of a dict that `to_dict` returned."""
        groups, sizes = config["groups"], config["sizes"]
        return replace(
            super().from_dict(config),
            by=config["by"],
            groups={name: GroupIntervals.from_dict(group) for name, group in groups.items()},
            sizes=sizes and {name: np.asarray(values) for name, values in sizes.items()},
            scales=None if config.get("scales") is None else np.asarray(config["scales"]),
        )
