"""Several models as one."""

import keras
import numpy as np
import pytest

from kerastrans import zoo
from kerastrans.data.scaling import WindowScaler
from kerastrans.models.parts.ensemble import Member, build_ensemble, with_residuals
from kerastrans.utils.compilation import compile_inference

LEVELS = (0.1, 0.5, 0.9)


def member(weight, context_length, prediction_length, kind="standard"):
    from kerastrans.heads import QuantileHead

    head = QuantileHead(LEVELS, sees_missing=True)
    model = zoo.build("nlinear", context_length, prediction_length, 1, head=head)
    random = np.random.default_rng(context_length)
    model.set_weights([random.normal(0, 0.2, x.shape) for x in model.get_weights()])
    return Member(model, WindowScaler(kind), weight)


def compiled(model):
    """A function of histories, of windows whose least scales are 0."""
    run, names = compile_inference(model), [tensor.name for tensor in model.inputs]

    def call(history):
        unknown = np.zeros((len(history), 1, 1), "float32")
        return run(*(history if name == "history" else unknown for name in names))

    return call


@pytest.mark.parametrize(
    "horizon", [8, *(pytest.param(x, marks=pytest.mark.slow) for x in (1, 3, 12))]
)
def test_a_forecast_is_the_weighted_mean_and_does_not_depend_on_its_neighbours(horizon):
    members = [member(0.25, 12, horizon), member(0.75, 7, horizon, None)]
    run = compiled(build_ensemble(members, LEVELS))
    random = np.random.default_rng(0)
    # As many windows as steps, levels or steps of the context, in turn.
    for count in (8, 3, 12, horizon):
        history = random.normal(50, 9, (count, 12, 1)).astype("float32")
        history[0, 2] = np.nan
        found = run(history)
        alone = np.concatenate([run(row[None]) for row in history])
        np.testing.assert_allclose(found, alone, rtol=1e-5)
        wanted = 0
        for part in members:
            x = history[:, -part.model.input_shape[1] :].astype("float64")
            center, scale = part.scaler.statistics(x)
            outputs = keras.ops.convert_to_numpy(part.model((x - center) / scale))
            wanted += part.weight * (outputs * scale[..., None] + center[..., None])
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_residuals_are_added_to_points_at_each_step_and_level(tmp_path):
    points = zoo.build("last_value", 4, 2, 1)
    residuals = [[-1.0, 0.0, 1.0], [-2.0, 0.5, 3.0]]
    model = with_residuals(points, residuals, LEVELS)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    history = np.array([[[1.0], [2.0], [3.0], [4.0]]])
    for each in (model, loaded):
        found = keras.ops.convert_to_numpy(each(history))[0, :, 0]
        np.testing.assert_allclose(found, 4 + np.array(residuals))


def test_members_have_one_set_of_levels():
    with pytest.raises(ValueError, match=r"nlinear\w* forecasts no quantiles at \[0.2, 0.5\]"):
        build_ensemble([member(1.0, 8, 2)], (0.2, 0.5))
    with pytest.raises(ValueError, match=r"nlinear\w* forecasts no points"):
        build_ensemble([member(1.0, 8, 2)])


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 3, 8])
def test_points_are_combined_by_their_median_where_there_are_no_weights(horizon):
    members = [
        Member(zoo.build("last_value", length, horizon, 1), WindowScaler(kind))
        for length, kind in ((8, "standard"), (2, "mean_abs"), (3, None))
    ]
    members.append(Member(zoo.build("moving_average", 8, horizon, 1), WindowScaler()))
    run = compiled(build_ensemble(members))
    history = np.random.default_rng(0).normal(50, 9, (3, 8, 1)).astype("float32")
    found = run(history)
    assert found.shape == (3, horizon, 1)
    np.testing.assert_allclose(found, np.repeat(history[:, -1:], horizon, axis=1), rtol=1e-5)
