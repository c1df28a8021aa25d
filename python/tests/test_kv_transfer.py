"""examples/kv_transfer: its gradients, and one result for all numbers of PEs."""

import re
import sys

import numpy as np
import pytest
from launch import ROOT, SHMEMRUN, full, run

EXAMPLE = ROOT / "examples" / "kv_transfer"
sys.path.insert(0, str(EXAMPLE))

import model  # noqa: E402

SMALL = model.Shape(vocabulary=7, context=12, width=8, heads=2, layers=2, page=4)


def weights(s: model.Shape) -> tuple[model.Array, model.Weights]:
    flat = s.start(3).astype("f8")
    flat += np.random.default_rng(4).normal(0, 0.1, flat.size)
    return flat, s.views(flat, 0, s.layers)


def test_gradients() -> None:
    """Each gradient is the change of the loss when its weight moves."""
    s = SMALL
    flat, w = weights(s)
    tokens = np.random.default_rng(5).integers(s.vocabulary, size=(2, s.context + 1))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    gradient = np.zeros_like(flat)
    g = s.views(gradient, 0, s.layers)

    def value(g: model.Weights) -> tuple[float, model.Array, list[object]]:
        x, saved = model.forward(s, w, model.embed(w, inputs), 2, range(s.layers))
        return *model.loss(w, g, x, targets, 1.0), saved

    _, dx, saved = value(g)
    dx = model.backward(s, w, g, dx, 2, range(s.layers), saved)
    model.embed_back(g, inputs, dx)
    unused = s.views(np.zeros_like(flat), 0, s.layers)
    for at, (name, view) in enumerate(w.items()):
        # One direction for all elements of a matrix: a wrong element shows in the sum.
        way = np.random.default_rng(at).normal(size=view.shape)
        kept = view.copy()
        step = 1e-6
        view[...] = kept + step * way
        more = value(unused)[0]
        view[...] = kept - step * way
        less = value(unused)[0]
        view[...] = kept
        expected = float((g[name] * way).sum())
        assert (more - less) / (2 * step) == pytest.approx(expected, rel=1e-4, abs=1e-7), name


def test_serving_is_the_same_model() -> None:
    """Pages and single tokens give the result of the whole text at once."""
    s = SMALL
    w = s.views(s.start(3), 0, s.layers)
    blocks = s.context // s.page
    where = np.random.default_rng(6).permutation(s.layers * blocks).reshape(s.layers, blocks)
    cache = model.Cache(np.zeros((where.size, 2, s.heads, s.page, s.width // s.heads), "f4"), where)
    text = np.arange(8) % s.vocabulary
    pages: list[tuple[int, int]] = []
    model.prefill(s, w, text, cache, lambda layer, block: pages.append((layer, block)))
    assert pages == [(0, 0), (1, 0), (0, 1), (1, 1)]
    logits = model.decode(s, w, 3, len(text), 4, cache)
    chosen = logits.argmax(1)
    whole = np.array([[*text, 3, *chosen[:-1]]])
    x, _ = model.forward(s, w, model.embed(w, whole), 1, range(s.layers))
    n, _ = model._norm(x, w["norm"])
    np.testing.assert_allclose(logits, (n @ w["head"])[len(text) :], rtol=1e-4, atol=1e-5)


def example(*options: str) -> str:
    """Its output after a short training, with the weights and logits."""
    launcher = [str(SHMEMRUN), "--timeout", "240", *options, "--"] if options else []
    done = run(*launcher, sys.executable, str(EXAMPLE / "kv_transfer.py"), "--steps", "12")
    assert done.returncode == 0, done.stdout + done.stderr
    if options:
        assert "64 pages came from PE 0" in done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["--hosts 2", *full("python", "", "--chaos 1")])
def test_two_pes_answer_as_one(how: str) -> None:
    """To the last bit, on a node, over a network, and over a network with chaos."""
    alone = example()
    found = re.search(r"^loss ([\d.]+) -> ([\d.]+) in 12 steps$", alone, re.MULTILINE)
    assert found and float(found[2]) < float(found[1]) - 0.3, alone
    assert alone.count(" -> '") == 4 and "\nlogits  " in alone
    assert example("-n", "2", *how.split()) == alone


def test_too_many_pes() -> None:
    program = str(EXAMPLE / "kv_transfer.py")
    done = run(str(SHMEMRUN), "-n", "3", "--timeout", "60", "--", sys.executable, program)
    assert done.returncode == 1 and "there are two halves (shmemrun -n 2)" in done.stderr
