"""How a parity case of Reverso is called."""

from tests.helpers.calls.blocks import forecasts


def call(model, inputs):
    return {"forecast": forecasts(model, inputs, "mean")}
