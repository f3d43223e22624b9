"""Draw what a forecast of kerastrans-zero is the sum of, docs/images/explanation.png.

python -m tools.site.draw_explanation
"""

from pathlib import Path

import kerastrans
from kerastrans import datasets, plotting

PATH = Path(__file__).parents[2] / "docs" / "images" / "explanation.png"


def main():
    frame = datasets.load("air_passengers")
    options = {"model_options": {"season": None}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", 12, **options)
    figure = plotting.plot_explanation(forecaster.explain(frame), frame, unit="thousands")
    figure.savefig(PATH, dpi=110)


if __name__ == "__main__":
    main()
