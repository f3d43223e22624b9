import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.forecasting.inference.config import Config

SIZES = {"context_length": 24, "prediction_length": 6}


@pytest.mark.parametrize(
    ("model", "head"),
    [
        ("nhits", heads.QuantileHead),
        ("deepar", heads.StudentTHead),
        ("last_value", heads.PointHead),
    ],
)
def test_the_head_by_default_is_one_that_the_architecture_takes(model, head):
    assert isinstance(Config(model=model, **SIZES).resolved_head, head)


def test_a_built_model_has_its_own_sizes():
    config = Forecaster(zoo.build("nlinear", 24, 12, 1)).config
    assert (config.context_length, config.prediction_length) == (24, 12)
