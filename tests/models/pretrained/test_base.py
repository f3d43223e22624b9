"""What all ports share."""

import keras
import numpy as np

from kerastrans.models.pretrained.patchtst_fm import port as patchtst_fm
from tests.helpers.checkpoints import PATCHTST_FM, random_patchtst_fm


def test_missing_values_before_a_series_are_not_a_part_of_it():
    model = patchtst_fm.load(PATCHTST_FM, random_patchtst_fm(PATCHTST_FM))
    history = np.random.default_rng(0).normal(3, 2, (2, 9, 1)).astype("float32")
    history[:, 4] = np.nan
    padded = np.concatenate([np.full((2, 11, 1), np.nan, "float32"), history], axis=1)
    found, expected = (
        keras.ops.convert_to_numpy(model.build(x.shape[1], 5)(x)) for x in (padded, history)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)
