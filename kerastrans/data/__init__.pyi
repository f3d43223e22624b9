"""Written by tools/make_stubs.py from kerastrans/data/__init__.py."""

from kerastrans.data import clock as clock
from kerastrans.data.clock import Clock as Clock
from kerastrans.data import covariates as covariates
from kerastrans.data.covariates import Covariates as Covariates
from kerastrans.data import csv_reader as csv_reader
from kerastrans.data.csv_reader import read_csv as read_csv
from kerastrans.data import frames as frames
from kerastrans.data.frames import check_frame as check_frame
from kerastrans.data import cuts as cuts
from kerastrans.data.cuts import training_cuts as training_cuts
from kerastrans.data import gaps as gaps
from kerastrans.data.gaps import fill_gaps as fill_gaps
from kerastrans.data import panel as panel
from kerastrans.data.panel import Panel as Panel, read_panel as read_panel
from kerastrans.data import panel_windows as panel_windows
from kerastrans.data.panel_windows import Windows as Windows
from kerastrans.data import partitions as partitions
from kerastrans.data import scaling as scaling
from kerastrans.data.scaling import StandardScaler as StandardScaler, WindowScaler as WindowScaler
from kerastrans.data import seasons as seasons
from kerastrans.data.seasons import season_of as season_of, seasons_of as seasons_of
from kerastrans.data import splits as splits
from kerastrans.data.splits import chronological_split as chronological_split
from kerastrans.data import windows as windows
from kerastrans.data.windows import random_sequences as random_sequences, sliding_windows as sliding_windows, teacher_forcing_pairs as teacher_forcing_pairs, window_dataset as window_dataset
