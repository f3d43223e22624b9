"""The lesson's Transformer with the signature of a custom model builder."""

from kerastrans.models.transformer import build_transformer_model


def lesson_transformer(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=32,
    num_heads=2,
    key_dim=16,
    ff_dim=64,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    dropout=0.0,
    decoder_noise=1.0,
):
    """Build the encoder-decoder Transformer, trained by teacher forcing and decoded step by step.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, ignored; the model can forecast any number of steps.
        num_channels: int, number of values at each step.
        d_model: int, width inside the model.
        num_heads: int, number of attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks.
        num_decoder_blocks: int, number of decoder blocks.
        dropout: float in [0, 1), dropout rate.
        decoder_noise: float, standard deviation of the noise on the decoder's inputs in training.

    Returns:
        Keras model.
    """
    return build_transformer_model(
        (context_length, num_channels),
        d_model=d_model,
        num_heads=num_heads,
        key_dim=key_dim,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        dropout=dropout,
        decoder_noise=decoder_noise,
    )
