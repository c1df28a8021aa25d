"""Trains a model whose layers are split between the PEs, as a pipeline.

PE 0 has the first half of the layers and PE 1 the second; a single PE has all of them. A batch
passes through in parts: while PE 1 works on one, PE 0 works on the next. The output of PE 0's half,
and its gradient on the way back, move by put with signal into an array for that part; the signal is
the number of the step. No additional message has to announce that such an array may be written
again: the gradient of a part shows PE 0 that PE 1 has read the part, and the next step's part shows
PE 1 that PE 0 has read the gradient.
"""

from __future__ import annotations

import numpy as np
import shmem
from model import Adam, Array, Shape, Weights, backward, embed, embed_back, forward, loss

PARTS = 4  # parts of a batch
TEXTS = 2  # texts of a part


class Batches:
    """Batches of random pieces of a text, the same on every PE: (inputs, targets) of each part."""

    def __init__(self, tokens: Array, context: int, seed: int) -> None:
        self.tokens, self.context = tokens, context
        self.rng = np.random.default_rng(seed)

    def __next__(self) -> list[tuple[Array, Array]]:
        starts = self.rng.integers(len(self.tokens) - self.context, size=(PARTS, TEXTS, 1))
        at = starts + np.arange(self.context)
        return [(self.tokens[a], self.tokens[a + 1]) for a in at]


def train(s: Shape, tokens: Array, steps: int, seed: int = 1) -> tuple[Weights, list[float]]:
    """All weights, on every PE, and on the last one the loss of each step.

    The weights do not depend on the number of PEs. All PEs make the call together.
    """
    me, n = shmem.my_pe(), shmem.n_pes()
    first, last = s.layers * me // n, s.layers * (me + 1) // n
    start, end = s.size(0, first), s.size(0, last)
    every = shmem.zeros(s.size(0, s.layers), "f4")
    mine = every[start:end]
    mine[:] = s.start(seed)[start:end]
    w = s.views(mine, first, last)
    gradient = np.zeros_like(mine)
    g = s.views(gradient, first, last)
    layers, adam = range(first, last), Adam(mine, steps)

    # By part: the output of PE 0's layers, at PE 1, and its gradient, at PE 0.
    there = shmem.zeros((PARTS, TEXTS * s.context, s.width), "f4")
    back = shmem.zeros(there.shape, "f4")
    arrived, returned = shmem.zeros(PARTS, "u8"), shmem.zeros(PARTS, "u8")
    batches, losses = Batches(tokens, s.context, seed), []

    for step in range(1, steps + 1):
        gradient[:] = 0
        parts, value, saved = next(batches), 0.0, []
        for i, (inputs, targets) in enumerate(parts):
            if me == 0:
                x = embed(w, inputs)
            else:
                shmem.signal_wait_until(arrived, ">=", step, index=i)
                x = there[i]
            x, known = forward(s, w, x, TEXTS, layers)
            if me < n - 1:
                shmem.put_signal(there[i], x, arrived, step, pe=me + 1, index=i)
                saved.append(known)
                continue
            part, dx = loss(w, g, x, targets, 1 / PARTS)
            value += part / PARTS
            dx = backward(s, w, g, dx, TEXTS, layers, known)
            if me > 0:
                shmem.put_signal(back[i], dx, returned, step, pe=me - 1, index=i)
            else:
                embed_back(g, inputs, dx)
        for i, known in enumerate(saved):
            shmem.signal_wait_until(returned, ">=", step, index=i)
            dx = backward(s, w, g, back[i], TEXTS, layers, known)
            embed_back(g, parts[i][0], dx)
        adam.move(gradient)
        losses.append(value)

    for other in range(n):
        if other != me:
            shmem.put(mine, mine, pe=other)
    shmem.barrier_all()
    return s.views(every, 0, s.layers), losses
