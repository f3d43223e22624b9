"""Tables of scores that print their main columns."""

import pandas as pd

MAIN = ("skill", "p", "mae", "mase", "rmse", "crps", "coverage-80", "bias", "smape", "wql")
MAX_COLUMNS = 6


class ScoreFrame(pd.DataFrame):
    """DataFrame of scores that prints at most six main columns, and a single row as a column.

    All columns are in the frame; `to_string` writes them.

    Example:
        >>> scores = dict.fromkeys(["mae", "rmse", "mape", "smape", "bias", "mase", "rmsse"], 0.5)
        >>> ScoreFrame(scores, index=["all"])
               all
        mae    0.5
        mase   0.5
        rmse   0.5
        bias   0.5
        smape  0.5
        mape   0.5
        and 1 more: rmsse
    """

    @property
    def _constructor(self):
        return ScoreFrame

    def _shown(self):
        """Return the frame to print, and the names of the columns that are left out."""
        if len(self.columns) <= MAX_COLUMNS:
            return pd.DataFrame(self), []
        main = [name for name in MAIN if name in self]
        names = [*main, *(name for name in self if name not in main)]
        shown = pd.DataFrame(self)[names[:MAX_COLUMNS]]
        return shown.T if len(shown) == 1 else shown, names[MAX_COLUMNS:]

    def __repr__(self):
        shown, others = self._shown()
        more = f", and {len(others) - 5} others" if len(others) > 5 else ""
        note = f"\nand {len(others)} more: {', '.join(map(str, others[:5]))}{more}"
        # repr would leave out columns that do not fit into the width of a terminal.
        text = shown.to_string(max_rows=pd.get_option("display.max_rows"))
        return text + (note if others else "")

    def _repr_html_(self):
        shown, others = self._shown()
        note = f"<p>and {len(others)} more columns: {', '.join(map(str, others))}</p>"
        return shown._repr_html_() + (note if others else "")
