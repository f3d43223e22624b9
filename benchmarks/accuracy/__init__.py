"""How good forecasts, intervals and translations are, beside published and naive ones."""
