import inspect

import keras
import pytest

import kerastrans
from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.models.patchtst import ResidualAttention

INPUTS = keras.Input((6, 8))
ONE_BLOCK = {"num_encoder_blocks": 1, "num_decoder_blocks": 1}


@pytest.mark.parametrize(
    ("call", "spelt", "names"),
    [
        (
            lambda: kerastrans.transformer_encoder(INPUTS, 2, 4, 16, 0.0, name="a"),
            "transformer_encoder: name the arguments, num_heads=2, key_dim=4, ff_dim=16, dropout",
            "a_self_attention",
        ),
        (
            lambda: kerastrans.transformer_decoder(INPUTS, None, 2, key_dim=4, ff_dim=8, name="b"),
            "transformer_decoder: name the argument, num_heads=2; version 0.5 will not accept it",
            "b_self_attention",
        ),
        (
            lambda: kerastrans.build_transformer_model((6, 8), 4, 2, 16, **ONE_BLOCK).output,
            "build_transformer_model: name the arguments, key_dim=4, num_heads=2, ff_dim=16; ver",
            "encoder_0_self_attention",
        ),
        (
            lambda: kerastrans.build_seq2seq_transformer(9, 9, 8, 2, 16, **ONE_BLOCK).output,
            "build_seq2seq_transformer: name the arguments, d_model=8, num_heads=2, ff_dim=16;",
            "encoder_0_self_attention",
        ),
        (
            lambda: CachedMultiHeadAttention(2, 4, 0.1, name="c")(INPUTS),
            "CachedMultiHeadAttention: name the arguments, num_heads=2, key_dim=4, dropout=0.1",
            "c",
        ),
    ],
)
def test_sizes_by_position_are_named_in_a_warning_at_the_callers_line(call, spelt, names):
    with pytest.warns(FutureWarning, match=spelt) as caught:
        outputs = call()
    assert {warning.filename for warning in caught} == {__file__}
    model = keras.Function(keras.utils.get_source_inputs(outputs), outputs)
    layer = next(x for x in model.operations if x.name == names)
    assert (layer.num_heads, layer.key_dim) == (2, 4)


def test_sizes_by_name_do_not_warn(recwarn):
    ResidualAttention(num_heads=2, key_dim=4)
    kerastrans.transformer_encoder(INPUTS, num_heads=2, key_dim=4, ff_dim=16)
    assert not [w for w in recwarn if issubclass(w.category, FutureWarning)]


@pytest.mark.filterwarnings("ignore:transformer_encoder")
def test_an_argument_given_twice_or_too_many_are_refused():
    with pytest.raises(TypeError, match="multiple values for keyword argument 'num_heads'"):
        kerastrans.transformer_encoder(INPUTS, 2, num_heads=2, key_dim=4, ff_dim=16)
    with pytest.raises(TypeError, match="takes 1 positional argument but"):
        kerastrans.transformer_encoder(INPUTS, 2, 4, 16, 0.1, "pre")


def test_sizes_have_one_order_in_every_signature():
    order = ["num_heads", "key_dim", "value_dim", "ff_dim"]
    order += ["num_encoder_blocks", "num_decoder_blocks", "dropout"]
    for function in (
        kerastrans.transformer_encoder,
        kerastrans.transformer_decoder,
        kerastrans.build_transformer_model,
        kerastrans.build_seq2seq_transformer,
        CachedMultiHeadAttention.__init__,
    ):
        parameters = inspect.signature(function).parameters
        sizes = [name for name in parameters if name in order]
        assert sizes == sorted(sizes, key=order.index)
        assert {parameters[name].kind for name in sizes} == {inspect.Parameter.KEYWORD_ONLY}
