"""Chronos-2: joint forecasts of groups of series with covariates (Ansari et al., 2025).

Paper: https://arxiv.org/abs/2510.15821
Code: https://github.com/amazon-science/chronos-forecasting
Weights: https://huggingface.co/amazon/chronos-2
"""

from keras import ops

from kerastrans.models.pretrained.checkpoint import assign
from kerastrans.models.pretrained.chronos.v2_network import build_network, read_core, read_own
from kerastrans.models.pretrained.chronos.v2_rollout import GroupForecast
from kerastrans.models.pretrained.grouped_model import GroupedModel
from kerastrans.models.pretrained.scaling import few_patches

ARCHITECTURE = "Chronos2Model"


def reads(config):
    """Return whether a configuration is one of Chronos-2."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    own = read_own(config)
    network, layout = build_network(read_core(config), own)
    assign(tensors, layout)
    return Chronos2(network, own)


class Chronos2(GroupedModel):
    """Chronos-2 with its published weights, see `PretrainedModel`.

    The series of a group, the variates of a target and its covariates, are forecast together. Every
    series is normalised by its observed values and cut into patches of time, value and mask; known
    future values are in the patches of the future. Blocks attend along time and, at each time,
    along the series of the group. The horizon determines the number of future patches, so the first
    steps of a short and of a long forecast differ.

    For a longer horizon than the native one, each decile is appended to the history as a separate
    path, see `kerastrans.models.pretrained.chronos.v2_rollout.GroupForecast`.

    Source: Ansari et al. (2025), "Chronos-2: From univariate to universal forecasting".
    """

    equivariance = "affine"

    def __init__(self, network, own):
        super().__init__(network, own["quantiles"], own["context_length"])
        self.groups = GroupForecast(network, own)

    def quantiles(self, history, prediction_length, known=None):
        x = self.groups.quantiles(history, prediction_length, known)
        return ops.transpose(x, (0, 1, 3, 2))

    def padded_length(self, length):
        return few_patches(length, self.groups.patch_length, self.max_context)
