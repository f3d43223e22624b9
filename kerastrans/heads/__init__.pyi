"""Written by tools/checks/stubs.py from kerastrans/heads/__init__.py."""

from kerastrans.heads.base import Head as Head, centered_log_steps as centered_log_steps
from kerastrans.heads.counts import CountHead as CountHead
from kerastrans.heads.given_quantiles import GivenQuantiles as GivenQuantiles
from kerastrans.heads.hurdle import HurdleNegativeBinomialHead as HurdleNegativeBinomialHead
from kerastrans.heads.lookup import get as get, names as names, of as of
from kerastrans.heads.losses import CRPS as CRPS, KnownTargets as KnownTargets, NegativeLogLikelihood as NegativeLogLikelihood, Pinball as Pinball
from kerastrans.heads.mixture import MixtureHead as MixtureHead
from kerastrans.heads.negative_binomial import NegativeBinomialHead as NegativeBinomialHead
from kerastrans.heads.normal import NormalHead as NormalHead
from kerastrans.heads.point import PointHead as PointHead
from kerastrans.heads.point_error import PointError as PointError
from kerastrans.heads.poisson import PoissonHead as PoissonHead
from kerastrans.heads.quantile import QuantileHead as QuantileHead
from kerastrans.heads.samples import Samples as Samples
from kerastrans.heads.student_t import StudentTHead as StudentTHead
from kerastrans.heads.tweedie import TweedieHead as TweedieHead
