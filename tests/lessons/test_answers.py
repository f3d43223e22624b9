"""Answers as students write them: the wrong ones are refused, most by name, the right ones pass."""

import keras
import numpy as np
import pytest
from keras import ops

import kerastrans
from kerastrans import lessons
from kerastrans.lessons.course import find_exercise


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sinusoids(length, dim, base=10000.0, first=0, factor=1, functions=(np.sin, np.cos)):
    table = np.zeros((length, dim))
    for row in range(length):
        for i in range(0, dim, 2):
            angle = (row + first) / base ** (factor * i / dim)
            table[row, i], table[row, i + 1] = (function(angle) for function in functions)
    return table


def lookup_or_raise(error):
    def lookup(table, length):
        if length > len(table):
            raise error
        return table[:length]

    return lookup


def lookup_with_assert(table, length):
    assert length <= len(table)
    return table[:length]


def turned(dim, steps, sign=1):
    table, shift = sinusoids(200, dim), sign * steps
    before = table[max(0, -shift) :][:40]
    return np.linalg.lstsq(before, table[max(0, shift) :][:40], rcond=None)[0]


@np.errstate(over="ignore")
def weights_by_mask(scores, mask, axis=-1):
    """A softmax after which the weights of hidden keys are multiplied by 0 and shared out."""
    e = np.exp(scores - np.where(mask, scores, -np.inf).max(-1, keepdims=True, initial=-1e9))
    e = np.where(mask, e, 0)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


@np.errstate(all="ignore")
def unshifted(scores, mask):
    e = np.exp(scores) * mask
    total = e.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    return e / total


@np.errstate(all="ignore")
def small_sums_are_one(scores, mask):
    e = np.exp(scores) * mask
    return e / np.maximum(e.sum(axis=-1, keepdims=True), 1)


@np.errstate(all="ignore")
def shifted_by_hidden(scores, mask):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = e.sum(axis=-1, keepdims=True)
    return np.where(total > 0, e / total, 0)


def masked_scores(q, k, mask, scale):
    return np.where(mask, np.einsum("qd,kd->qk", q, k) / scale, -1e9)


class Heads(keras.layers.Layer):
    """Multi-head self-attention by einsum; the subclasses have one fault each."""

    names = ("query", "key", "value")

    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.key_dim = num_heads, key_dim

    def widths(self, d_model):
        return self.num_heads * self.key_dim, d_model

    def build(self, shape):
        width, output = self.widths(shape[-1])
        self.dense = {name: keras.layers.Dense(width) for name in self.names}
        for name in self.names:
            self.dense[name].build(shape)
        self.out = keras.layers.Dense(output)
        self.out.build((*shape[:-1], width))

    def split(self, x):
        return ops.reshape(x, (x.shape[0], x.shape[1], self.num_heads, -1))

    def weigh(self, scores):
        return ops.softmax(scores / self.key_dim**0.5, axis=-1)

    def join(self, x):  # (batch, time, heads, width)
        return self.out(ops.reshape(x, (x.shape[0], x.shape[1], -1)))

    def call(self, x):
        q, k, v = (self.split(self.dense[name](x)) for name in ("query", "key", "value"))
        weights = self.weigh(ops.einsum("bqhd,bkhd->bhqk", q, k))
        return self.join(ops.einsum("bhqk,bkhd->bqhd", weights, v))

    def get_config(self):
        return {**super().get_config(), "num_heads": self.num_heads, "key_dim": self.key_dim}


def heads(**changed):
    return type("MultiHeadAttention", (Heads,), changed)


def by_keras_attention(self, x):
    q, k, v = (self.split(self.dense[name](x)) for name in ("query", "key", "value"))
    return self.join(ops.nn.dot_product_attention(q, k, v))


class Positions(keras.layers.Layer):
    first, swapped = 0, False

    def __init__(self, max_len, dim, **kwargs):
        super().__init__(**kwargs)
        self.max_len, self.dim = max_len, dim

    def table(self, length):
        return sinusoids(length, self.dim, first=self.first).astype("float32")

    def call(self, inputs):
        return inputs + self.table(inputs.shape[1])

    def get_config(self):
        return {**super().get_config(), "max_len": self.max_len, "dim": self.dim}


def positions(**changed):
    return type("PositionalEncoding", (Positions,), changed)


def moments(x, axis=-1):
    return x.mean(axis=axis, keepdims=True), x.var(axis=axis, keepdims=True)


def normalised(x, axis):
    mean, variance = moments(x, axis)
    return (x - mean) / np.sqrt(variance + 0.001)


def post_norm(x, norm, attend, feed_forward):
    y = norm(x + attend(x))
    return norm(y + feed_forward(y))


def in_two_sums(x, norm, attend, feed_forward):
    total = x.copy()
    for sublayer in (attend, feed_forward):
        total += sublayer(norm(total))
    return total


def mask_by_loops(lengths, size, visible=lambda q, k, n: k <= q and k < n):
    rows = [[[visible(q, k, n) for k in range(size)] for q in range(size)] for n in lengths]
    return np.array(rows)


def window_by_loops(size, width, visible=lambda q, k, width: 0 <= q - k < width):
    return np.array([[visible(q, k, width) for k in range(size)] for q in range(size)])


def cut_and_compare(model, inputs):
    """The cut test: outputs of the first steps do not change without the later ones."""
    full = model(inputs, training=False)
    return any(
        not np.allclose(model.predict(inputs[:, :n], verbose=0), full[:, :n])
        for n in range(1, inputs.shape[1])
    )


def leaks(model, inputs, copy=np.copy, seen=lambda y, step: y[:, :step], steps=None):
    before = model(inputs, training=False)
    for step in steps or range(1, inputs.shape[1]):
        changed = copy(inputs)
        changed[:, step:] = changed[:, step:] * 2 + 1
        if not np.allclose(seen(model(changed), step), seen(before, step)):
            return True
    return False


def both_after_the_change(model, inputs):
    changed = inputs
    changed[:, 3:] += 1
    return bool(np.abs(model(changed) - model(inputs)).max() > 0)


def generated(call, start=None, last=slice(-1, None), keep=slice(1, None)):
    """The loop of generation, by one way to call the model."""

    def generate(model, history, num_steps):
        steps = np.zeros_like(history[:, :1]) if start is None else start(history)
        for _ in range(num_steps):
            out = np.asarray(call(model, [history, steps]))
            steps = np.concatenate([steps, out[:, last]], axis=1)
        return steps[:, keep]

    return generate


def predict(model, inputs):
    return model.predict(inputs, verbose=0)


def encoded(words, vocabulary, n, cut=None, end="<eos>", refuse=ValueError):
    tokens = [vocabulary.get(word, vocabulary["<unk>"]) for word in words][:cut]
    tokens = [*tokens, vocabulary[end]] if end else tokens
    if refuse and len(tokens) > n:
        raise refuse("too long")
    return np.array((tokens + [0] * n)[:n])


def attended(query, keys, values, scale=True):
    scores = query @ keys.T / (query.shape[-1] ** 0.5 if scale else 1)
    return softmax(scores) @ values


def with_cache(query, key, value, cache, front=False, scale=True):
    keys, values = (
        np.concatenate([new, old] if front else [old, new])
        for old, new in zip(cache, (key, value), strict=True)
    )
    return attended(query, keys, values, scale), keys, values


def differ(first, second, spread, times=3):
    return bool(abs(sum(first) / 3 - sum(second) / 3) > times * spread(first, second))


def sample_spread(first, second):
    return np.sqrt(np.mean([np.var(first, ddof=1), np.var(second, ddof=1)]))


def targets_by_loops(series, horizon, first=1):
    time = series.shape[1] - horizon
    return np.array([[row[t + first :][:horizon] for t in range(time)] for row in series])


def windows_by_loops(series, context, horizon, gap=0, step=1, end=1):
    starts = range(0, len(series) - context - horizon + end, step)
    contexts = [series[i : i + context] for i in starts]
    targets = [series[i + context + gap :][:horizon] for i in starts]
    return np.array(contexts), np.array(targets)


def scaled_error(y, forecasts, rows, season, size=abs):
    pairs = zip(rows[season:], rows, strict=False)
    scale = np.mean([size(later - earlier) for later, earlier in pairs])
    return np.mean(size(np.subtract(y, forecasts))) / scale


def fed_back(one_step, history, n, keep=slice(1, None), front=False, feed=True):
    outputs = np.zeros((len(history), 0))
    for _ in range(n):
        step = one_step(history)[:, None]
        outputs = np.append(outputs, step, axis=1)
        if feed:
            parts = [step, history[:, keep]] if front else [history[:, keep], step]
            history = np.hstack(parts)
    return outputs


def pinball_by_cases(y, forecasts, q, above=None, below=None):
    d = np.subtract(y, forecasts)
    return np.mean(np.where(d > 0, (above or q) * d, -(below or 1 - q) * d))


def on_a_circle(hours, period=24, turn=2 * np.pi):
    return np.array([[np.sin(h / period * turn), np.cos(h / period * turn)] for h in hours])


def patches_by_loops(windows, n):
    return np.array(
        [[row[i : i + n] for i in range(0, len(row), n)] for window in windows for row in window.T]
    )


def known(columns, kinds):
    return np.array([name for name in columns if columns[name] in kinds])


def scaled_rows(train, test, rows=None, axis=0):
    rows = train if rows is None else rows
    return tuple((x - rows.mean(axis)) / rows.std(axis) for x in (train, test))


def word_loss(p, tokens, pad, per_step=False, sign=-1):
    losses = [
        sign * p[i, j, token]
        for i, row in enumerate(tokens)
        for j, token in enumerate(row)
        if token != pad
    ]
    return sum(losses) / (tokens.size if per_step else len(losses))


def ngram_score(predicted, reference, k, clip=True, brevity=True, weight=lambda n, k: 0.5**n):
    score = np.exp(min(0, 1 - len(reference) / len(predicted))) if brevity else 1.0
    for n in range(1, k + 1):
        ours, theirs = (
            [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            for words in (predicted, reference)
        )
        hits = [min(ours.count(g), theirs.count(g)) if clip else ours.count(g) for g in set(ours)]
        hits = [h * (g in theirs) for h, g in zip(hits, set(ours), strict=True)]
        score *= (sum(hits) / len(ours)) ** weight(n, k)
    return score


def half_table(positions, dim, positions_type="float32", result_type="float16"):
    positions = positions.astype(positions_type).astype("float32")
    rates = 10000 ** (np.arange(0, dim, 2) / dim)
    table = np.zeros((len(positions), dim), "float32")
    table[:, ::2], table[:, 1::2] = (f(positions[:, None] / rates) for f in (np.sin, np.cos))
    return table.astype(result_type)


@np.errstate(over="ignore")
def through_half(gradient, scale, before=True, after=True):
    sent = np.float16(gradient * (scale if before else 1))
    return np.float32(sent) / (scale if after else 1)


def normed(x, epsilon=1e-6):
    return keras.layers.LayerNormalization(epsilon=epsilon)(x)


def with_residual(x, layer, dropout, norm=normed, keep=keras.layers.add):
    return keep([x, keras.layers.Dropout(dropout)(layer(norm(x)))])


def last_only(pair):
    return pair[1]


def one_block(x, memory, num_heads, key_dim, ff_dim, dropout, **changed):
    """A block in parts: attention to itself, to a memory if there is one, and two Dense layers."""
    given = {"norm": normed, "keep": [keras.layers.add] * 3, "activation": "relu", "self": {}}
    given |= {"cross": {}, "feed": True} | changed
    sizes = {"num_heads": num_heads, "key_dim": key_dim, "dropout": dropout}
    mixes, crosses = (keras.layers.MultiHeadAttention(**sizes) for _ in range(2))
    dense = [keras.layers.Dense(ff_dim, given["activation"]), keras.layers.Dropout(dropout)]
    feed_forward = keras.Sequential([*dense, keras.layers.Dense(x.shape[-1])])
    sublayers = [lambda y: mixes(y, y, y, **given["self"])]
    sublayers += [lambda y: crosses(y, memory, **given["cross"])] if memory is not None else []
    sublayers += [feed_forward] if given["feed"] else []
    for layer, keep in zip(sublayers, given["keep"], strict=False):
        x = with_residual(x, layer, dropout, given["norm"], keep)
    return x


def encoders(swapped=False, **changed):
    def transformer_encoder(inputs, num_heads, key_dim, ff_dim, dropout):
        sizes = (key_dim, num_heads) if swapped else (num_heads, key_dim)
        return one_block(inputs, None, *sizes, ff_dim, dropout, **changed)

    return transformer_encoder


def decoders(swapped=False, **changed):
    def transformer_decoder(inputs, memory, num_heads, key_dim, ff_dim, dropout):
        sizes = (key_dim, num_heads) if swapped else (num_heads, key_dim)
        changes = {"self": {"use_causal_mask": True}} | changed
        return one_block(inputs, memory, *sizes, ff_dim, dropout, **changes)

    return transformer_decoder


def models(encode=None, decode=None, embed=None, last=normed, swapped=False):
    encode, decode, embed = encode or encoders(), decode or decoders(), embed or embedded

    def build(shape, key_dim, num_heads, ff_dim, encoder_blocks, decoder_blocks, dropout):
        heads = (key_dim, num_heads) if swapped else (num_heads, key_dim)
        sizes = (*heads, ff_dim, dropout)
        history, steps = keras.Input(shape), keras.Input((None, shape[1]))
        x, y = embed(history), embed(steps)
        for _ in range(encoder_blocks):
            x = encode(x, *sizes)
        x = last(x)
        for _ in range(decoder_blocks):
            y = decode(y, x, *sizes)
        return keras.Model([history, steps], keras.layers.Dense(shape[1])(normed(y)))

    return build


def embedded(x):
    return kerastrans.PositionalEncoding(32, 64)(keras.layers.Dense(64)(x))


RIGHT = {
    "0.1": (
        lambda size: np.tri(size, dtype=bool),
        lambda size: np.array([[int(k <= q) for k in range(size)] for q in range(size)]),
        kerastrans.create_look_ahead_mask,
    ),
    "0.2": (encoders(), kerastrans.transformer_encoder),
    "0.3": (
        decoders(),
        decoders(self={"attention_mask": np.tri(4, dtype=bool)}),
        kerastrans.transformer_decoder,
    ),
    "0.4": (
        models(),
        models(kerastrans.transformer_encoder, kerastrans.transformer_decoder),
        kerastrans.build_transformer_model,
    ),
    "1.1": (sinusoids, lambda n, dim, base: sinusoids(2 * n, dim, base)[:n]),
    "1.2": (
        lookup_with_assert,
        lookup_or_raise(IndexError("too long")),
        lambda table, length: np.take(table, np.arange(length), axis=0),
        lambda table, length: table[np.arange(length)],
    ),
    "1.3": (turned,),
    "2.1": (
        lambda q, k, v, mask: softmax(masked_scores(q, k, mask, q.shape[1] ** 0.5)) @ v,
        lambda q, k, v, mask: (
            ops.convert_to_numpy(ops.softmax(q @ k.T / 8**0.5 - 1e9 * (1 - mask))) @ v
        ),
    ),
    "2.2": (
        weights_by_mask,
        lambda s, mask: softmax(np.where(mask, s, -1e9)) * mask.any(-1, keepdims=True),
    ),
    "2.3": (
        lambda q, k, w_q, w_k, w: np.array(
            [[w @ np.tanh(a @ w_q + b @ w_k) for b in k] for a in q]
        ),
    ),
    "2.4": (lambda d, h, k, v, o: 2 * (d * h * k + h * k) + d * h * v + h * v + h * v * o + o,),
    "2b.1": (
        positions(),
        positions(call=lambda self, x: x + self.table(self.max_len)[: x.shape[1]]),
    ),
    "2b.2": (heads(), heads(call=by_keras_attention)),
    "2b.3": (
        lambda x: normalised(x, -1),
        lambda x: ops.convert_to_numpy(keras.layers.LayerNormalization()(x)),
    ),
    "2b.4": (in_two_sums,),
    "3.2": (
        mask_by_loops,
        lambda n, size: mask_by_loops(n, size).astype(int),
        lambda n, size: np.tril(np.ones((size, size))) * (np.arange(size) < n[:, None])[:, None],
    ),
    "3.3": (
        window_by_loops,
        lambda size, width: np.tril(np.ones((size, size))) - np.tril(np.ones((size, size)), -width),
    ),
    "3.4": (cut_and_compare, leaks),
    "4.1": (
        lambda x: np.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1],
        lambda x: np.roll(x, 1, axis=1) * (np.arange(x.shape[1]) > 0)[:, None],
    ),
    "4.2": (
        generated(lambda model, inputs: model(inputs, training=False)),
        generated(lambda model, inputs: model.predict(inputs, batch_size=32, verbose=0)),
    ),
    "4.3": (lambda n: np.array([(left - 1) / left for left in range(n, 0, -1)]),),
    "4.4": (lambda n, back: np.fliplr(np.identity(n)) if back else np.identity(n),),
    "4b.2": (lambda n, width: int(np.ceil(2 * (n - 1) / (width - 1))),),
    "6.2": (
        encoded,
        lambda *case: encoded(*case, refuse=IndexError),
        lambda *case: encoded(*case, refuse=AssertionError),
    ),
    "7.2": (with_cache,),
    "9.1": (lambda x, n: x if x.shape[1] == n else lookup_or_raise(IndexError)([], 1),),
    "4b.1": (lambda *errors: differ(*errors, sample_spread),),
    "4b.3": (targets_by_loops,),
    "5.1": (windows_by_loops, lambda *case: list(windows_by_loops(*case))),
    "5.2": (scaled_error,),
    "5b.1": (fed_back,),
    "5b.2": (pinball_by_cases,),
    "5b.3": (lambda low, high, x: 1 - np.mean((x < low) | (x > high)),),
    "5c.1": (on_a_circle,),
    "5c.2": (patches_by_loops,),
    "5c.3": (
        lambda columns: [name for name, kind in columns.items() if kind != "measured"],
        lambda columns: known(columns, {"calendar", "planned", "weather forecast"}),
    ),
    "5d.1": (
        lambda c, t: any(set(a) & set(b) or max(a) > min(b) for a, b in zip(c, t, strict=True)),
    ),
    "5d.2": (scaled_rows,),
    "5d.3": (lambda e, b: (np.sum(b) - np.sum(e)) / np.sum(b),),
    "6.1": (word_loss,),
    "6.3": (ngram_score,),
    "6.4": (lambda source, target, d: d * target,),
    "7.1": (lambda n: sum(range(n + 1)),),
    "8.1": (half_table,),
    "8.2": (through_half,),
    "9.3": (lambda model, x, mean, std: mean + std * model((x - mean) / std),),
}

WRONG = {
    "0.1": (
        lambda size: np.triu(np.ones((size, size), int), 1),
        lambda size: np.tri(size, k=-1),
        lambda size: np.tri(size).T,
        lambda size: np.where(np.tri(size), 0, -1e9),
        lambda size: np.ones((size, size)),
    ),
    "0.2": (
        encoders(swapped=True),
        encoders(norm=lambda x: normed(x, 1e-3)),
        encoders(norm=lambda x: x),
        encoders(keep=[last_only, keras.layers.add]),
        encoders(keep=[keras.layers.add, last_only]),
        encoders(activation=None),
        encoders(feed=False),
    ),
    "0.3": (
        decoders(swapped=True),
        decoders(self={}),
        decoders(self={"attention_mask": ~np.tri(4, dtype=bool)}),
        decoders(cross={"use_causal_mask": True}),
        decoders(keep=[keras.layers.add, last_only, keras.layers.add]),
        lambda x, memory, *sizes: decoders()(x, normed(memory), *sizes),
        lambda x, memory, *sizes: decoders()(x, x, *sizes),
        lambda x, memory, *sizes: encoders(self={"use_causal_mask": True})(x, *sizes),
    ),
    "0.4": (
        models(swapped=True),
        models(embed=lambda x: keras.layers.Dense(64)(kerastrans.PositionalEncoding(9, 3)(x))),
        models(embed=lambda x: keras.layers.Dense(64)(x)),
        models(last=lambda x: x),
        models(encode=lambda x, *sizes: x),
        models(decode=decoders(self={})),
    ),
    "1.1": (
        lambda *case: sinusoids(*case, functions=(np.cos, np.sin)),
        lambda *case: sinusoids(*case, first=1),
        lambda *case: sinusoids(*case, factor=2),
        lambda *case: sinusoids(*case, functions=(np.sin, np.sin)),
    ),
    "1.2": (
        lambda table, length: np.resize(table, (length, table.shape[1])),
        lambda table, length: table[: min(length, len(table))],
        lambda table, length: np.pad(table, ((0, 9), (0, 0)))[:length],
        lambda table, length: lookup_with_assert(table, length + 1),
    ),
    "1.3": (
        lambda dim, steps: turned(dim, steps, -1),
        lambda dim, steps: turned(dim, 1),
        lambda dim, steps: turned(dim, steps).T,
        lambda dim, steps: np.eye(dim) * steps,
    ),
    "2.1": (
        lambda q, k, v, mask: softmax(masked_scores(q, k, mask, v.shape[1] ** 0.5)) @ v,
        lambda q, k, v, mask: softmax(masked_scores(q, k, mask, 1)) / q.shape[1] ** 0.5 @ v,
        lambda q, k, v, mask: softmax(masked_scores(q, k, mask, q.shape[1] ** 0.5)),
        lambda q, k, v, mask: softmax(masked_scores(q, k, mask, q.shape[1] ** 0.5), axis=0) @ v,
        lambda q, k, v, mask: masked_scores(q, k, mask, q.shape[1] ** 0.5) @ v,
    ),
    "2.2": (
        small_sums_are_one,
        unshifted,
        shifted_by_hidden,
        lambda s, mask: softmax(np.where(mask, s, -1e9)),
        lambda s, mask: weights_by_mask(s, mask, axis=0),
    ),
    "2.3": (
        lambda q, k, w_q, w_k, w: np.tanh(q @ w_q)[:, None] @ w + np.tanh(k @ w_k) @ w,
        lambda q, k, w_q, w_k, w: ((q @ w_q)[:, None] + k @ w_k) @ w,
        lambda q, k, w_q, w_k, w: np.tanh((k @ w_k)[:, None] + q @ w_q) @ w,
        lambda q, k, w_q, w_k, w: np.tanh(((q @ w_q)[:, None] + k @ w_k) @ w),
    ),
    "2.4": (
        lambda d, h, k, v, o: 2 * d * h * k + d * h * v + h * v * o,
        lambda d, h, k, v, o: 2 * (d + 1) * k + (d + 1) * v + (v + 1) * o,
        lambda d, h, k, v, o: 2 * (d + 1) * h * k + (d + 1) * h * v,
        lambda d, h, k, v, o: 2 * (d + 1) * h * k + (d + 1) * h * v + (h * v + 1) * d,
    ),
    "2b.1": (
        positions(first=1),
        positions(call=lambda self, x: self.table(x.shape[1]) + 0 * x),
        positions(call=lambda self, x: x + sinusoids(x.shape[1], self.dim, factor=2)),
        positions(
            call=lambda self, x: (
                x + np.roll(self.table(x.shape[1]).reshape(-1, 2), 1, -1).reshape(x[0].shape)
            )
        ),
    ),
    "2b.2": (
        heads(widths=lambda self, d: (self.num_heads * self.key_dim,) * 2),
        heads(widths=lambda self, d: (d, d), weigh=lambda self, s: ops.softmax(s / 2)),
        heads(weigh=lambda self, s: ops.softmax(s / self.key_dim**0.5, axis=-2)),
        heads(weigh=lambda self, s: ops.softmax(s / (self.num_heads * self.key_dim) ** 0.5)),
        heads(weigh=lambda self, s: ops.softmax(s)),
        heads(names=("value", "key", "query")),
        heads(names=("key", "query", "value"), weigh=lambda self, s: ops.softmax(s / self.key_dim)),
    ),
    "2b.3": (
        lambda x: x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-3),
        lambda x: x / np.sqrt(moments(x)[1] + 1e-3),
        lambda x: normalised(x, 1),
        lambda x: normalised(x, 0),
        lambda x: normalised(x, (0, 1)),
        lambda x: (x - moments(x)[0]) / np.sqrt(moments(x)[1] + 1e-5),
    ),
    "2b.4": (
        lambda x, norm, attend, feed: attend(norm(x)) + feed(norm(attend(norm(x)))),
        lambda x, norm, attend, feed: feed(norm(x + attend(norm(x)))),
        lambda x, norm, attend, feed: feed(norm(attend(norm(x)))),
        lambda x, norm, attend, feed: x + attend(norm(x)),
        post_norm,
    ),
    "3.2": (
        lambda n, size: np.triu(np.ones((size, size), int), k=1),
        lambda n, size: mask_by_loops(n, size, lambda q, k, n: k > q or k >= n),
        lambda n, size: mask_by_loops(n, size, lambda q, k, n: k <= q and q < n),
        lambda n, size: mask_by_loops(n, size, lambda q, k, n: k < q and k < n),
        lambda n, size: mask_by_loops(n, size, lambda q, k, n: k <= q and k <= n),
        lambda n, size: np.tril(np.ones((size, size))),
    ),
    "3.3": (
        lambda *case: window_by_loops(*case, lambda q, k, width: 0 <= q - k <= width),
        lambda *case: window_by_loops(*case, lambda q, k, width: abs(q - k) < width),
        lambda *case: window_by_loops(*case, lambda q, k, width: 0 < q - k <= width),
        lambda *case: window_by_loops(*case, lambda q, k, width: 0 <= k - q < width),
        lambda *case: window_by_loops(*case, lambda q, k, width: q >= k),
    ),
    "3.4": (
        lambda *case: leaks(*case, copy=lambda x: x),
        lambda *case: leaks(*case, seen=lambda y, step: y[:, : step + 1]),
        lambda *case: leaks(*case, steps=[case[1].shape[1] - 1]),
        lambda *case: not leaks(*case),
        both_after_the_change,
        lambda *case: leaks(*case, steps=[1, 2]),
    ),
    "4.1": (
        lambda x: np.pad(x, ((0, 0), (1, 0), (0, 0))),
        lambda x: np.pad(x, ((0, 0), (0, 1), (0, 0)))[:, 1:],
        lambda x: np.concatenate([x[:, -1:], x[:, :-1]], axis=1),
        lambda x: np.pad(x[:-1], ((1, 0), (0, 0), (0, 0))),
    ),
    "4.2": (
        generated(predict, keep=slice(0, None)),
        generated(predict, last=slice(0, 1)),
        generated(predict, start=lambda history: history[:, -1:]),
        generated(predict, start=lambda history: np.zeros((1, 1, history.shape[-1]))),
        generated(predict, keep=slice(0, -1)),
    ),
    "4.3": (
        lambda n: np.array([1 - 1 / n] * n),
        lambda n: np.array([1 - 1 / k for k in range(1, n + 1)]),
        lambda n: np.array([1.0] * n),
        lambda n: np.array([1 / k for k in range(n, 0, -1)]),
        lambda n: np.array([1 - k / n for k in range(n)]),
    ),
    "4.4": (
        lambda n, back: np.identity(n),
        lambda n, back: np.identity(n) if back else np.fliplr(np.identity(n)),
        lambda n, back: np.ones((n, n)) / n,
        lambda n, back: np.tri(n),
    ),
    "4b.2": (
        lambda n, width: int(np.ceil((n - 1) / width)),
        lambda n, width: int(np.ceil((n - 1) / (width - 1))),
        lambda n, width: int(2 * (n - 1) / (width - 1)),
        lambda n, width: int(np.ceil(2 * n / (width - 1))),
    ),
    "6.2": (
        lambda words, vocabulary, n: encoded(words, vocabulary, n, cut=n - 1),
        lambda *case: encoded(*case, refuse=None),
        lambda *case: encoded(*case, end=None),
        lambda words, vocabulary, n: encoded([w for w in words if w in vocabulary], vocabulary, n),
        lambda words, vocabulary, n: np.append(encoded(words, vocabulary, n - 1, end=None), 2),
    ),
    "7.2": (
        lambda *case: with_cache(*case, front=True),
        lambda *case: with_cache(*case, scale=False),
        lambda q, k, v, cache: (attended(q, *cache), *with_cache(q, k, v, cache)[1:]),
        lambda q, k, v, cache: (v, k, v),
        lambda *case: with_cache(*case)[0],
    ),
    "9.1": (
        lambda x, n: x[:, -n:] if x.shape[1] >= n else lookup_or_raise(IndexError)([], 1),
        lambda x, n: x if x.shape[1] >= n else lookup_or_raise(ValueError)([], 1),
        lambda x, n: x if x.shape[1] <= n else lookup_or_raise(ValueError)([], 1),
        lambda x, n: x[:, :n],
    ),
    "4b.1": (
        lambda *errors: differ(*errors, sample_spread, times=1),
        lambda a, b: differ(a, b, lambda a, b: np.sqrt((np.var(a) + np.var(b)) / 2)),
        lambda a, b: differ(a, b, lambda a, b: np.sqrt(np.var(a, ddof=1) + np.var(b, ddof=1))),
        lambda a, b: differ(a, b, lambda a, b: max(np.std(a, ddof=1), np.std(b, ddof=1))),
        lambda a, b: np.mean(a) - np.mean(b) > 3 * sample_spread(a, b),
    ),
    "4b.3": (
        lambda *case: targets_by_loops(*case, first=0),
        lambda *case: targets_by_loops(*case, first=2),
        lambda series, horizon: np.array(
            [[row[-horizon:]] * (len(row) - horizon) for row in series]
        ),
        lambda series, horizon: targets_by_loops(series, 1),
    ),
    "5.1": (
        lambda *case: windows_by_loops(*case, gap=-1),
        lambda *case: windows_by_loops(*case, end=0),
        lambda *case: windows_by_loops(*case)[::-1],
        lambda series, context, n: windows_by_loops(series, context, n, step=n),
    ),
    "5.2": (
        lambda y, f, train, season: scaled_error(y, f, train, 1),
        lambda y, f, train, season: scaled_error(y, f, y, season),
        lambda *case: scaled_error(*case, size=np.square),
        lambda y, f, train, season: np.mean(np.abs(y - f)),
        lambda y, f, train, season: np.mean(np.abs(y - f)) / np.mean(np.abs(train)),
    ),
    "5b.1": (
        lambda *case: fed_back(*case, keep=slice(None, -1)),
        lambda *case: fed_back(*case, keep=slice(None, -1), front=True),
        lambda *case: fed_back(*case, feed=False),
        lambda *case: fed_back(*case, keep=slice(1, None), front=True),
    ),
    "5b.2": (
        lambda y, f, q: pinball_by_cases(y, f, q, above=1 - q, below=q),
        lambda y, f, q: pinball_by_cases(y, f, q, above=1, below=1),
        lambda y, f, q: pinball_by_cases(y, f, q) * len(y),
        lambda y, f, q: np.mean(np.where(y > f, q * (y - f), (1 - q) * (y - f))),
    ),
    "5b.3": (
        lambda low, high, x: np.mean((x > low) & (x < high)),
        lambda low, high, x: np.mean(x >= low),
        lambda low, high, x: np.mean((x < low) | (x > high)),
        lambda low, high, x: 100 * np.mean((x >= low) & (x <= high)),
    ),
    "5c.1": (
        lambda hours: on_a_circle(hours, period=23),
        lambda hours: on_a_circle(hours, period=1, turn=1),
        lambda hours: on_a_circle(hours, turn=1),
        lambda hours: np.fliplr(on_a_circle(hours)),
    ),
    "5c.2": (
        lambda w, n: w.reshape(-1, w.shape[1] // n, n),
        lambda w, n: patches_by_loops(w, w.shape[1] // n).swapaxes(1, 2),
        lambda w, n: patches_by_loops(w, n).swapaxes(1, 2),
    ),
    "5c.3": (
        lambda columns: list(columns),
        lambda columns: known(columns, ["calendar", "planned"]),
        lambda columns: known(columns, ["measured"]),
        lambda columns: known(columns, ["calendar"]),
    ),
    "5d.1": (
        lambda c, t: bool((c.max(axis=1) > t.min(axis=1)).any()),
        lambda c, t: bool((c[:, -1] >= t[:, 0]).all()),
        lambda c, t: bool(set(c.ravel()) & set(t.ravel())),
        lambda c, t: bool((c[:, -1] == t[:, 0]).any()),
    ),
    "5d.2": (
        lambda train, test: scaled_rows(train, test, np.concatenate([train, test])),
        lambda train, test: (scaled_rows(train, train)[0], scaled_rows(test, test)[0]),
        lambda train, test: scaled_rows(train, test, axis=None),
        lambda train, test: scaled_rows(train, test, test),
    ),
    "5d.3": (
        lambda e, b: np.mean(e) / np.mean(b),
        lambda e, b: 1 - np.mean(b) / np.mean(e),
        lambda e, b: np.mean(1 - e / b),
        lambda e, b: np.mean(b) - np.mean(e),
    ),
    "6.1": (
        lambda p, tokens, pad: word_loss(p, tokens, -1),
        lambda *case: word_loss(*case, per_step=True),
        lambda *case: word_loss(*case, sign=1),
        lambda p, tokens, pad: -p[..., pad].mean(),
    ),
    "6.3": (
        lambda *case: ngram_score(*case, clip=False),
        lambda *case: ngram_score(*case, brevity=False),
        lambda *case: ngram_score(*case, weight=lambda n, k: 1 / k),
        lambda *case: ngram_score(*case, weight=lambda n, k: 1),
    ),
    "6.4": (
        lambda source, target, d: source * d,
        lambda source, target, d: (source + target) * d,
        lambda source, target, d: target * d + target,
    ),
    "7.1": (
        lambda n: n,
        lambda n: n**2,
        lambda n: sum(range(n)),
        lambda n: 2**n,
    ),
    "8.1": (
        lambda *case: half_table(*case, positions_type="float16"),
        lambda *case: half_table(*case, result_type="float32"),
        lambda positions, dim: half_table(positions - 1, dim),
    ),
    "8.2": (
        lambda *case: through_half(*case, before=False, after=False),
        lambda *case: through_half(*case, after=False),
        lambda *case: through_half(*case, before=False),
        lambda gradient, scale: np.float32(np.float16(gradient * scale) / np.float16(scale)),
    ),
    "9.3": (
        lambda model, x, mean, std: model((x - mean) / std),
        lambda model, x, mean, std: (model((x - mean) / std) + mean) * std,
        lambda model, x, mean, std: (
            model((x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)) * std + mean
        ),
        lambda model, x, mean, std: model(x),
    ),
}


def rows(table):
    return [
        pytest.param(number, answer, id=f"{number}-{i}")
        for number, answers in table.items()
        for i, answer in enumerate(answers)
    ]


@pytest.mark.parametrize(("number", "answer"), rows(RIGHT))
def test_unusual_right_answers_pass(number, answer):
    verdict = lessons.check(number, answer)
    assert verdict, verdict


@pytest.mark.parametrize(("number", "answer"), rows(WRONG))
def test_wrong_answers_do_not_pass(number, answer):
    assert not lessons.check(number, answer)


def test_four_of_five_wrong_answers_are_named():
    named = [
        lessons.check(number, answer).message in find_exercise(number).mistakes
        for number, answers in WRONG.items()
        for answer in answers
    ]
    assert len(named) > 180
    assert sum(named) >= 0.8 * len(named)


def test_a_start_token_for_one_sequence_is_named():
    verdict = lessons.check("4.2", WRONG["4.2"][3])
    assert "each of the 2 histories needs its own start token" in verdict.message
