"""The public names, which are imported on first use."""

from . import array_windows as array_windows
from .array_windows import (
    random_sequences as random_sequences,
    sliding_windows as sliding_windows,
    teacher_forcing_pairs as teacher_forcing_pairs,
    window_dataset as window_dataset,
)
from . import covariates as covariates
from .covariates import Covariates as Covariates
from . import frames as frames
from .frames import check_frame as check_frame
from . import missing as missing
from .missing import fill_gaps as fill_gaps
from . import panel as panel
from .panel import Panel as Panel, read_panel as read_panel
from . import panel_windows as panel_windows
from .panel_windows import Windows as Windows
from . import parquet as parquet
from . import scaling as scaling
from .scaling import StandardScaler as StandardScaler, WindowScaler as WindowScaler
from . import splits as splits
from .splits import chronological_split as chronological_split
from .tables import reader as reader
from .tables.reader import read_csv as read_csv, read_table as read_table
from .time import clock as clock
from .time.clock import Clock as Clock
from .time import seasons as seasons
from .time.seasons import season_of as season_of, seasons_of as seasons_of
from . import window_index as window_index
from .window_index import training_cuts as training_cuts
