"""How long training, forecasting, decoding and importing take, beside others."""
