"""Compiled programs of a model, kept with it and left out of copies, pickles and files."""

_KEY = "_kerastrans_runtime"


class Runtime:
    """Compiled graphs of a Keras model, and models that have its weights for other inputs.

    All states that share the model share them. Keras copies, pickles and saves a model by its
    config and weights, so that a copy begins with an empty one.

    Attributes:
        graphs: Dict of what a graph depends on -> compiled function and the names of its inputs.
        models: Dict of what a model was derived for -> the model.
        pretrained: Tuple of the published weights of the model, or of None; () if not yet known.
    """

    def __init__(self):
        self.graphs, self.models, self.pretrained = {}, {}, ()


def runtime_of(model):
    """Return the `Runtime` of a Keras model."""
    return vars(model).setdefault(_KEY, Runtime())


def derive_model(model, key, build):
    """Return a model derived from another one, with the present weights of that one.

    Args:
        model: Keras model.
        key: Hashable, what the derived model depends on.
        build: Function that returns the derived model, whose weights are those of `model` in order.
    """
    models = runtime_of(model).models
    if key not in models:
        models[key] = build()
    elif models[key] is not model:
        for target, source in zip(models[key].weights, model.weights, strict=True):
            target.assign(source)
    return models[key]
