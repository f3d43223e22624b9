"""Draw the forecast on the front page, docs/images/forecast.png.

python -m tools.site.draw_front_page
"""

from pathlib import Path

import kerastrans
from kerastrans import datasets, plotting

PATH = Path(__file__).parents[2] / "docs" / "images" / "forecast.png"


def main():
    flights = datasets.load("nyc_departures")
    options = {"model_options": {"season": 24}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", 24, **options)
    title = "kerastrans_zero_2: 24 hours ahead, without training"
    forecast = forecaster.predict(flights)
    plotting.plot_fan(forecast, flights, title=title, unit="departures per hour").savefig(PATH)


if __name__ == "__main__":
    main()
