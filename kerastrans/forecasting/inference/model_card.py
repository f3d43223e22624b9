"""Card of a preset: its facts, and the README.md that the Hugging Face hub reads."""

import json
import math
import re

LIBRARY, TASK = "kerastrans", "time-series-forecasting"
LICENCE = re.compile(r"[a-z0-9][a-z0-9.-]*")  # as the hub names licences
SETTINGS = ("context_length", "prediction_length", "past", "future", "calendar", "seed")


def facts_of(forecaster, licence=None, metrics=None, dataset=None):
    """Return the facts for the card, see `Forecaster.save_to_preset`."""
    from kerastrans.utils.environment import environment

    if (metrics is None) != (dataset is None):
        raise ValueError(
            "metrics and dataset must be given together: name the data that were scored."
        )
    fitted = forecaster._trained()
    config = fitted.config
    if licence is None and fitted.card is not None:
        licence = fitted.card["licence"].lower()
    if licence is not None and not LICENCE.fullmatch(licence):
        raise ValueError(f"licence must be a name such as 'apache-2.0', got {licence!r}.")
    scores = _numbers(metrics)
    given = config.arguments()
    settings = {name: given[name] for name in SETTINGS}
    return {
        "licence": licence,
        "data": {
            "name": dataset,
            "frequency": fitted.freq,
            "channels": list(fitted.channels or []),
        },
        "settings": {"architecture": config.architecture or forecaster.model.name, **settings},
        "parameters": forecaster.model.count_params(),
        "metrics": {forecaster.alias: scores},
        "base": fitted.card and fitted.card["name"],
        "versions": environment(),
    }


def _numbers(metrics):
    """Return the finite scores as a dict."""
    try:
        scores = {
            name: float(score) for name, score in dict(() if metrics is None else metrics).items()
        }
    except (TypeError, ValueError):
        kind = type(metrics).__name__
        message = f"metrics must map names to numbers, such as `score(...).iloc[0]`, got a {kind}."
        raise ValueError(message) from None
    return {name: score for name, score in scores.items() if math.isfinite(score)}


def readme(card):
    """Return the README.md of a preset: metadata for the hub, its facts, and how to load it.

    Args:
        card: Dict, the content of card.json.

    Returns:
        str. The values of the metadata are JSON, which is valid YAML.
    """
    metadata = {"library_name": LIBRARY, "pipeline_tag": TASK, **_metadata(card)}
    head = "\n".join(f"{key}: {json.dumps(value)}" for key, value in metadata.items())
    settings, data = card.get("settings", {}), card.get("data", {})
    sizes = [settings.get(key, "?") for key in ("context_length", "prediction_length")]
    facts = {
        "architecture": settings.get("architecture"),
        "steps": f"{sizes[0]} of history, {sizes[1]} forecast",
        "channels": ", ".join(data.get("channels") or ["one, `y`"]),
        "frequency": data.get("frequency"),
        "parameters": card.get("parameters"),
        "scored on": data.get("name"),
        "made by": f"{LIBRARY} {card.get('versions', {}).get(LIBRARY, '?')}",
    }
    lines = [f"| {name} | {value} |" for name, value in facts.items() if value is not None]
    table = "\n".join(["| | |", "|---|---|", *lines])
    return f"---\n{head}\n---\n\n# {card['name']}\n\n{table}\n{_scores(card)}\n{USE}"


def _metadata(card):
    """Return the metadata that the hub defines, if the card has them."""
    metadata = {"tags": ["keras", "time-series", "forecasting"]}
    if card.get("licence"):
        metadata["license"] = card["licence"]
    if card.get("base") and "/" in card["base"]:
        metadata["base_model"] = card["base"]
    scores = next(iter(card.get("metrics", {}).values()), {})  # the model's; then the naives'
    if scores:
        dataset = card["data"]["name"]
        result = {
            "task": {"type": TASK},
            "dataset": {"name": dataset, "type": re.sub(r"\W+", "_", dataset)},
            "metrics": [{"type": name, "value": score} for name, score in scores.items()],
        }
        metadata["metrics"] = list(scores)
        metadata["model-index"] = [{"name": card["name"], "results": [result]}]
    return metadata


def _scores(card):
    """Return a table of the scores of all models, or an empty string."""
    metrics = {name: scores for name, scores in card.get("metrics", {}).items() if scores}
    if not metrics:
        return ""
    names = list(dict.fromkeys(name for scores in metrics.values() for name in scores))
    rows = [["forecast", *names], ["---"] * (1 + len(names))]
    for model, scores in metrics.items():
        rows.append([model, *(f"{scores[x]:.4g}" if x in scores else "" for x in names)])
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


USE = """```python
import kerastrans

forecaster = kerastrans.zoo.from_preset("hf://user/name")  # or its folder
forecaster.predict(frame)  # long (unique_id, ds, y), or a column for each channel
```
"""
