"""Draw the forecast on the front page, docs/images/forecast.png.

python -m tools.site.draw_front_page
"""

from pathlib import Path

import kerastrans
from kerastrans import datasets, plotting

PATH = Path(__file__).parents[2] / "docs" / "images" / "forecast.png"


def main():
    flights = datasets.load("nyc_departures")
    forecaster = kerastrans.from_pretrained("kerastrans_zero", 24, verbose=False)
    title = "kerastrans_zero: 24 hours ahead, without training"
    forecast = forecaster.predict(flights)
    plotting.plot_fan(forecast, flights, title=title, unit="departures per hour").savefig(PATH)


if __name__ == "__main__":
    main()
