"""A small causal transformer of characters in numpy, with its gradients by hand.

The weights are one vector, of which every matrix is a view: a layer's weights lie together, so that
a range of layers is a slice that one put can move. `forward` and `backward` take such a range.
Serving runs the same layers over a cache of keys and values, a page of tokens at a time (`prefill`)
or one token at a time (`decode`).

Every function makes the same calls of numpy in the same order wherever it runs, so that results
agree to the last bit between processes. The functions of serving use only names that numpy and
torch share, and run on a GPU when the weights are tensors there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # or, in serving, a tensor of torch
Weights = dict[str, Array]


@dataclass(frozen=True)
class Shape:
    """Sizes of a model: width is divisible by heads, context by page."""

    vocabulary: int
    context: int = 128  # tokens that one text can have
    width: int = 64
    heads: int = 4
    layers: int = 4
    page: int = 16  # tokens whose keys and values are one page

    def table(self, first: int, last: int) -> list[tuple[str, tuple[int, ...]]]:
        """The weights of layers [first, last): the embedding belongs to the first layer,
        the head to the last one."""
        d, out = self.width, []
        for i in range(first, last):
            if i == 0:
                out += [("token", (self.vocabulary, d)), ("place", (self.context, d))]
            out += [(f"{i}.norm1", (d,)), (f"{i}.qkv", (d, 3 * d)), (f"{i}.out", (d, d))]
            out += [(f"{i}.norm2", (d,)), (f"{i}.up", (d, 4 * d)), (f"{i}.down", (4 * d, d))]
            if i == self.layers - 1:
                out += [("norm", (d,)), ("head", (d, self.vocabulary))]
        return out

    def size(self, first: int, last: int) -> int:
        return sum(prod(shape) for _, shape in self.table(first, last))

    def views(self, flat: Array, first: int, last: int) -> Weights:
        """The weights of layers [first, last) as views of flat, a vector of exactly these."""
        out, at = {}, 0
        for name, shape in self.table(first, last):
            out[name] = flat[at : at + prod(shape)].reshape(shape)
            at += prod(shape)
        return out

    def start(self, seed: int) -> Array:
        """A vector of all weights before the training, the same for the same seed."""
        rng = np.random.default_rng(seed)
        flat = np.empty(self.size(0, self.layers), "f4")
        for name, view in self.views(flat, 0, self.layers).items():
            if view.ndim == 1:
                view[...] = 1
                continue
            # These two add to the residual sum: the deeper the model, the smaller their terms.
            last = name.endswith((".out", ".down"))
            spread = 0.08 if name in ("token", "place") else len(view) ** -0.5
            view[...] = rng.normal(0, spread / (2 * self.layers) ** (0.5 * last), view.shape)
        return flat


def package_of(x: Array) -> Any:
    """numpy, or torch for its tensors."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


# ---------------------------------------------------------------------- training


def _norm(x: Array, gain: Array) -> tuple[Array, Array]:
    """Each row of x divided by its root mean square, times gain; and the factors 1 / root."""
    scale = 1 / package_of(x).sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return x * scale * gain, scale


def _norm_back(dy: Array, x: Array, gain: Array, scale: Array, dgain: Array) -> Array:
    """The gradient of x from that of _norm's result, dy. Adds the gradient of gain to dgain."""
    dgain += (dy * x * scale).sum(0)
    dy = dy * gain
    return scale * dy - x * scale**3 * (dy * x).mean(-1, keepdims=True)


def _softmax(x: Array) -> Array:
    p = package_of(x)
    e = p.exp(x - p.amax(x, -1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _split(x: Array, batch: int, heads: int) -> Array:
    """(batch * tokens, width) as (batch, heads, tokens, width of a head)."""
    return x.reshape(batch, -1, heads, x.shape[1] // heads).swapaxes(1, 2)


def _join(x: Array) -> Array:
    """The inverse of _split."""
    batch, heads, tokens, each = x.shape
    return x.swapaxes(1, 2).reshape(batch * tokens, heads * each)


def embed(w: Weights, tokens: Array, first: int = 0) -> Array:
    """The input of the first layer for tokens whose first one is at position first of its text."""
    place = w["place"][first : first + tokens.shape[-1]]
    return (w["token"][tokens] + place).reshape(-1, place.shape[1])


def embed_back(g: Weights, tokens: Array, dx: Array) -> None:
    """Adds the gradients of the embedding to g; dx is that of embed's result."""
    dx = dx.reshape(*tokens.shape, -1)
    np.add.at(g["token"], tokens, dx)
    g["place"][: tokens.shape[1]] += dx.sum(0)


def forward(s: Shape, w: Weights, x: Array, batch: int, layers: range) -> tuple[Array, list[Any]]:
    """x after some layers, and the data that `backward` needs of them.

    n1 and n2 are the results of _norm, r1 and r2 its factors, a the attention, o its output.
    """
    tokens = len(x) // batch
    # Added to the scores of a token for later tokens, it makes their attention 0.
    later = np.triu(np.full((tokens, tokens), -1e9, x.dtype), 1)
    root = x.dtype.type((s.width // s.heads) ** -0.5)
    saved = []
    for i in layers:
        n1, r1 = _norm(x, w[f"{i}.norm1"])
        q, k, v = (_split(y, batch, s.heads) for y in np.split(n1 @ w[f"{i}.qkv"], 3, 1))
        a = _softmax(q @ k.transpose(0, 1, 3, 2) * root + later)
        o = _join(a @ v)
        mid = x + o @ w[f"{i}.out"]
        n2, r2 = _norm(mid, w[f"{i}.norm2"])
        up = np.maximum(n2 @ w[f"{i}.up"], 0)
        saved.append((x, n1, r1, q, k, v, a, o, mid, n2, r2, up))
        x = mid + up @ w[f"{i}.down"]
    return x, saved


def backward(
    s: Shape, w: Weights, g: Weights, dx: Array, batch: int, layers: range, saved: list[Any]
) -> Array:
    """Adds the gradients of the layers to g, and returns that of their input.

    dx is the gradient of their output. A name dy is the gradient of y, named as in forward.
    """
    root = dx.dtype.type((s.width // s.heads) ** -0.5)
    for i in reversed(layers):
        x, n1, r1, q, k, v, a, o, mid, n2, r2, up = saved[i - layers.start]
        g[f"{i}.down"] += up.T @ dx
        dup = dx @ w[f"{i}.down"].T * (up > 0)
        g[f"{i}.up"] += n2.T @ dup
        dx = dx + _norm_back(dup @ w[f"{i}.up"].T, mid, w[f"{i}.norm2"], r2, g[f"{i}.norm2"])
        g[f"{i}.out"] += o.T @ dx
        do = _split(dx @ w[f"{i}.out"].T, batch, s.heads)
        da = do @ v.transpose(0, 1, 3, 2)
        ds = a * (da - (da * a).sum(-1, keepdims=True)) * root
        parts = (ds @ k, ds.transpose(0, 1, 3, 2) @ q, a.transpose(0, 1, 3, 2) @ do)
        dqkv = np.concatenate([_join(y) for y in parts], 1)
        g[f"{i}.qkv"] += n1.T @ dqkv
        dx = dx + _norm_back(dqkv @ w[f"{i}.qkv"].T, x, w[f"{i}.norm1"], r1, g[f"{i}.norm1"])
    return dx


def loss(w: Weights, g: Weights, x: Array, targets: Array, share: float) -> tuple[float, Array]:
    """The mean loss of a part of a batch, and the gradient of the input x of the last norm.

    Adds the gradients of that norm and of the head to g. All gradients are multiplied by share,
    the part's share of the batch: those of all parts add up to those of the batch's mean loss.
    """
    n, scale = _norm(x, w["norm"])
    p = _softmax(n @ w["head"])
    rows = np.arange(len(p)), targets.reshape(-1)
    value = -float(np.log(p[rows]).mean())
    p[rows] -= 1
    p *= p.dtype.type(share / len(p))
    g["head"] += n.T @ p
    return value, _norm_back(p @ w["head"].T, x, w["norm"], scale, g["norm"])


class Adam:
    """The optimizer Adam for a vector of weights.

    It treats each element by itself, so each PE can make the steps of only the layers that it has.
    """

    def __init__(self, flat: Array, steps: int, rate: float = 8e-3) -> None:
        self.flat, self.steps, self.rate, self.step = flat, steps, rate, 0
        self.mean, self.square = np.zeros_like(flat), np.zeros_like(flat)

    def move(self, gradient: Array) -> None:
        """Makes one step. The rate rises during the first 20 steps, and falls until the last."""
        self.step += 1
        warm = min(1.0, self.step / 20)
        rate = self.rate * warm * (0.05 + 0.95 * (1 - self.step / (self.steps + 1)))
        self.mean += np.float32(0.1) * (gradient - self.mean)
        self.square += np.float32(0.02) * (gradient * gradient - self.square)
        mean = self.mean / np.float32(1 - 0.9**self.step)
        square = self.square / np.float32(1 - 0.98**self.step)
        self.flat -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-8))


# ----------------------------------------------------------------------- serving


class Cache:
    """Keys and values of one text, in pages of a pool.

    The pool has the shape (pages, 2, heads, tokens of a page, width of a head): keys are at 0 of
    the second axis, values at 1. A block is as many tokens of the text as a page has.
    where[layer, block] is the number of the page with a block's keys and values for a layer.
    """

    def __init__(self, pool: Array, where: Array) -> None:
        self.pool, self.where = pool, where

    def write(self, layer: int, first: int, k: Array, v: Array) -> None:
        """Stores keys and values of tokens from position first on, which are in one block."""
        tokens = self.pool.shape[3]
        page = self.pool[int(self.where[layer, first // tokens])]
        at = slice(first % tokens, first % tokens + k.shape[1])
        page[0, :, at], page[1, :, at] = k, v

    def read(self, layer: int, last: int) -> tuple[Array, Array]:
        """The keys and values of the tokens before position last, as (heads, tokens, width)."""
        blocks = -(-last // self.pool.shape[3])
        pages = self.pool[self.where[layer, :blocks].tolist()]
        pages = package_of(pages).moveaxis(pages, 0, 2)
        k, v = pages.reshape(2, pages.shape[1], -1, pages.shape[4])[:, :, :last]
        return k, v


def _extend(s: Shape, w: Weights, tokens: Array, first: int, cache: Cache,
            done: Callable[[int], None]) -> Array:  # fmt: skip
    """Runs all layers for tokens whose first one is at position first, and returns their output.

    Their keys and values are added to the cache, from which they also see the tokens before them.
    done(layer) is called when the cache has those of a layer.
    """
    root = (s.width // s.heads) ** -0.5
    x = embed(w, tokens, first)
    p, n = package_of(x), len(x)
    for i in range(s.layers):
        n1, _ = _norm(x, w[f"{i}.norm1"])
        q, k, v = (_split(y, 1, s.heads)[0] for y in p.hsplit(n1 @ w[f"{i}.qkv"], 3))
        cache.write(i, first, k, v)
        done(i)
        keys, values = cache.read(i, first + n)
        scores = q @ keys.swapaxes(1, 2) * root
        later = p.triu(p.full_like(scores[0], -1e9), first + 1)
        a = _softmax(scores + later)
        x = x + _join((a @ values)[None]) @ w[f"{i}.out"]
        n2, _ = _norm(x, w[f"{i}.norm2"])
        x = x + (n2 @ w[f"{i}.up"]).clip(0) @ w[f"{i}.down"]
    return x


def prefill(s: Shape, w: Weights, tokens: Array, cache: Cache,
            done: Callable[[int, int], None]) -> None:  # fmt: skip
    """Fills the cache for the whole blocks of tokens. Calls done(layer, block) after each page."""
    for block in range(len(tokens) // s.page):
        first = block * s.page
        _extend(s, w, tokens[first : first + s.page], first, cache, lambda i, b=block: done(i, b))


def decode(s: Shape, w: Weights, token: int, first: int, n: int, cache: Cache) -> Array:
    """The logits of the n tokens that follow token, which is at position first of the text.

    The likeliest token follows each time.
    """
    out = np.empty((n, s.vocabulary), "f4")
    for j in range(n):
        x = _extend(s, w, np.array([token]), first + j, cache, lambda i: None)
        logits = (_norm(x, w["norm"])[0] @ w["head"])[0]
        out[j] = logits if isinstance(logits, np.ndarray) else logits.cpu()
        token = int(out[j].argmax())
    return out
