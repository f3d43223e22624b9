import pytest

from kerastrans import heads
from kerastrans.forecasting.config import Config

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
