"""Step-by-step execution of a functional model's graph: generation, samplers and inspection."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "generation": ("generate", "generate_steps", "generate_tokens"),
        "inspection": ("attention_scores", "variable_importances"),
        "samplers": ("BeamSampler", "GreedySampler", "RandomSampler"),
        "sampling": ("generate_samples",),
    },
)
