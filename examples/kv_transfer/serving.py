"""Answers prompts on two PEs: PE 0 reads them, PE 1 writes the continuation.

PE 1 owns the cache that it decodes from, in symmetric memory, and assigns its pages to the layers
and blocks of each prompt. PE 0 runs the model over the prompt, a block of tokens at a time, and as
soon as a layer has the keys and values of a block, they go to their page at PE 1 by one put with
signal. PE 1 waits for the signals of the pages. In the meantime PE 0 works on the next prompt, so
that one PE reads while the other one writes.

If the weights are tensors on a GPU, so are the pages, each PE's on its own GPU. PE 0 puts a page on
the CUDA stream that has computed it, and the CUDA stream of PE 1 waits for its signal.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import shmem
from model import Array, Cache, Shape, Weights, decode, package_of, prefill


@dataclass
class Answers:
    """The answers to prompts, and when their parts happened, in seconds of time.monotonic."""

    logits: list[Array] = field(default_factory=list)  # of each prompt, (tokens, vocabulary)
    # (prompt, time) of each page sent, of each page arrived, and of each prompt answered.
    sent: list[tuple[int, float]] = field(default_factory=list)
    arrived: list[tuple[int, float]] = field(default_factory=list)
    decoded: list[tuple[int, float]] = field(default_factory=list)


def _pool(s: Shape, pages: int) -> tuple[int, ...]:
    """The shape of a pool of pages (model.Cache)."""
    return pages, 2, s.heads, s.page, s.width // s.heads


def _zeros(shape: tuple[int, ...], like: Array) -> Array:
    return np.zeros(shape, like.dtype) if package_of(like) is np else like.new_zeros(shape)


def alone(s: Shape, w: Weights, prompts: list[Array], n: int) -> Answers:
    """The answers of one process, without communication: n tokens for each prompt."""
    out = Answers()
    blocks = s.context // s.page
    for prompt in prompts:
        where = np.arange(s.layers * blocks).reshape(s.layers, blocks)
        cache = Cache(_zeros(_pool(s, where.size), w["token"]), where)
        known = len(prompt) - 1
        prefill(s, w, prompt[:known], cache, lambda layer, block: None)
        out.logits.append(decode(s, w, int(prompt[known]), known, n, cache))
    return out


def together(s: Shape, w: Weights, prompts: list[Array], n: int) -> Answers:
    """The answers of two PEs; PE 1 has the logits. Each prompt is whole blocks and one token."""
    blocks = s.context // s.page
    each = s.layers * blocks
    device = "cpu" if package_of(w["token"]) is np else "cuda"
    pool = shmem.zeros(_pool(s, each * len(prompts)), "f4", device=device)
    arrived = shmem.zeros(len(pool), "u8", device=device)  # by page: 1 when PE 0 has sent it
    where = shmem.zeros((len(prompts), s.layers, blocks), "int64", device=device)
    asked = shmem.zeros(len(prompts), "u8", device=device)  # by prompt: 1 when where has its pages
    out = Answers()
    # On a GPU, puts and waits are queued on torch's current stream, among its kernels.
    stream = None if device == "cpu" else "current"
    if shmem.my_pe() == 0:
        _read(s, w, prompts, pool, arrived, where, asked, out, stream)
    else:
        _write(s, w, prompts, n, pool, arrived, where, asked, out, stream)
    if stream is not None:
        package_of(pool).cuda.synchronize()
    shmem.barrier_all()
    return out


def _read(s: Shape, w: Weights, prompts: list[Array], pool: Array, arrived: Array, where: Array,
          asked: Array, out: Answers, stream: str | None) -> None:  # fmt: skip
    """PE 0: runs the model over each prompt, and puts each page into PE 1's pool."""
    for i, prompt in enumerate(prompts):
        shmem.signal_wait_until(asked, "==", 1, index=i)
        mine = np.empty(where.shape[1:], "i8")
        shmem.get(mine, where[i], pe=0)
        cache = Cache(pool, mine)

        def send(layer: int, block: int, i: int = i, mine: Array = mine) -> None:
            page = int(mine[layer, block])
            # A page has the same number here and at the peer, because it is in symmetric memory.
            shmem.put_signal_nbi(
                pool[page], pool[page], arrived, 1, pe=1, index=page, stream=stream
            )
            out.sent.append((i, time.monotonic()))

        prefill(s, w, prompt[:-1], cache, send)


def _write(s: Shape, w: Weights, prompts: list[Array], n: int, pool: Array, arrived: Array,
           where: Array, asked: Array, out: Answers, stream: str | None) -> None:  # fmt: skip
    """PE 1: assigns pages to all prompts, and answers each prompt when its pages have arrived."""
    # Pages are assigned in random order, as by a cache that has been in use for a while.
    order = np.random.default_rng(7).permutation(len(pool)).reshape(where.shape)
    for i in range(len(prompts)):
        shmem.put_signal(where[i], order[i], asked, 1, pe=0, index=i)
    for i, prompt in enumerate(prompts):
        known = len(prompt) - 1
        for block in range(known // s.page):
            for layer in range(s.layers):
                page = int(order[i, layer, block])
                shmem.signal_wait_until(arrived, "==", 1, index=page, stream=stream)
                out.arrived.append((i, time.monotonic()))
        logits = decode(s, w, int(prompt[known]), known, n, Cache(pool, order[i]))
        out.logits.append(logits)
        out.decoded.append((i, time.monotonic()))
