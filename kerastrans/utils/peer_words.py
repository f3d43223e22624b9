"""Arguments of other forecasting libraries, and what they are called here."""

from kerastrans.utils.validation import suggest

PEER_WORDS = {
    **dict.fromkeys(
        ("h", "horizon", "fh", "steps", "n", "output_chunk_length", "forecast_length"),
        "prediction_length",
    ),
    **dict.fromkeys(("input_size", "input_chunk_length", "lags", "n_lags"), "context_length"),
    **dict.fromkeys(("n_windows", "num_windows"), "windows"),
    **dict.fromkeys(("step_size", "stride"), "step"),
    **dict.fromkeys(("n_epochs", "num_epochs", "max_epochs", "max_steps"), "epochs"),
    **dict.fromkeys(("random_seed", "random_state"), "seed"),
    **dict.fromkeys(("likelihood", "distr_output"), "head"),
    "level": "levels",
    "retrain": "refit",
    "df": "frame",
    "X_df": "future",
    "futr_df": "future",
    "static_df": "static",
    "val_size": "validation_size",
    "futr_exog_list": "future",
    "hist_exog_list": "past",
    "scaler_type": "scaler",
}


def answer(name, known):
    """Return the end of an error about an unknown argument: what to write, or a known name.

    Args:
        name: str, the unknown argument.
        known: Names of the arguments.

    Example:
        >>> answer("h", ["frame", "prediction_length"])
        'use prediction_length.'
    """
    if PEER_WORDS.get(name) in known:
        return f"use {PEER_WORDS[name]}."
    return suggest(name, list(known))
