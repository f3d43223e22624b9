"""The public names, which are imported on first use."""

from .base import Head as Head, centered_log_steps as centered_log_steps
from .counts import (
    CountHead as CountHead,
    HurdleNegativeBinomialHead as HurdleNegativeBinomialHead,
    NegativeBinomialHead as NegativeBinomialHead,
    PoissonHead as PoissonHead,
)
from .lookup import get as get, names as names, of as of
from .losses import (
    CRPS as CRPS,
    KnownTargets as KnownTargets,
    NegativeLogLikelihood as NegativeLogLikelihood,
    Pinball as Pinball,
)
from .mixture import MixtureHead as MixtureHead
from .normal import NormalHead as NormalHead
from .point import PointError as PointError, PointHead as PointHead
from .quantile import GivenQuantiles as GivenQuantiles, QuantileHead as QuantileHead
from .samples import Samples as Samples
from .student_t import StudentTHead as StudentTHead
from .tweedie import TweedieHead as TweedieHead
