"""Draw the forecast on the front page, docs/images/forecast.png.

python -m tools.site.draw_front_page
"""

from pathlib import Path

import kerastrans
from kerastrans import datasets, plotting

PATH = Path(__file__).parents[2] / "docs" / "images" / "forecast.png"


def forecast_of(flights):
    """Return the forecast that is drawn: no airport has fewer than 0 departures."""
    options = {"bounds": (0, None), "verbose": False}
    return kerastrans.from_pretrained("kerastrans_zero_2", 24, **options).predict(flights)


def main():
    flights = datasets.load("nyc_departures")
    title = "kerastrans_zero_2: 24 hours ahead, without training"
    forecast = forecast_of(flights)
    plotting.plot_fan(forecast, flights, title=title, unit="departures per hour").savefig(PATH)


if __name__ == "__main__":
    main()
