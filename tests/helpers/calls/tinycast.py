"""How a parity case of TinyCast is called."""

from tests.helpers.calls.blocks import forecasts


def call(model, inputs):
    return {"quantiles": forecasts(model, inputs, "quantiles")}
