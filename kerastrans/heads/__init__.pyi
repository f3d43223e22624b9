"""Written by tools/checks/stubs.py from kerastrans/heads/__init__.py."""

from kerastrans.heads.base import Head as Head, centered_log_steps as centered_log_steps
from kerastrans.heads.counts import CountHead as CountHead, HurdleNegativeBinomialHead as HurdleNegativeBinomialHead, NegativeBinomialHead as NegativeBinomialHead, PoissonHead as PoissonHead
from kerastrans.heads.lookup import get as get, names as names, of as of
from kerastrans.heads.losses import CRPS as CRPS, KnownTargets as KnownTargets, NegativeLogLikelihood as NegativeLogLikelihood, Pinball as Pinball
from kerastrans.heads.mixture import MixtureHead as MixtureHead
from kerastrans.heads.normal import NormalHead as NormalHead
from kerastrans.heads.point import PointError as PointError, PointHead as PointHead
from kerastrans.heads.quantile import GivenQuantiles as GivenQuantiles, QuantileHead as QuantileHead
from kerastrans.heads.samples import Samples as Samples
from kerastrans.heads.student_t import StudentTHead as StudentTHead
from kerastrans.heads.tweedie import TweedieHead as TweedieHead
