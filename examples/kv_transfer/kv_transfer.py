"""kv_transfer: two PEs train a small language model, and answer prompts with it.

    shmemrun -n 2 python kv_transfer.py
    shmemrun -n 2 --hosts 2 python kv_transfer.py --steps 100
    python kv_transfer.py                     # one PE does everything

The model learns text.txt by characters, each PE half of its layers (training.py). Then
PE 0 reads prompts and PE 1 writes on from the keys and values that PE 0 has moved into
its memory page by page (serving.py). PE 1 ends with an error where a single process
would have answered differently in one bit. What is printed is the same with one PE and
with two; how long it took is on stderr.
"""

import os

# How a library splits a product over threads decides about the last bits; two PEs on two
# cores need no more. It has to be said before numpy comes.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import shmem
from model import Array, Shape
from serving import Answers, alone, together
from training import train

TEXT = Path(__file__).with_name("text.txt")
PROMPTS, KNOWN, ANSWER = 4, 65, 60  # how many, and their tokens: whole blocks and one


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small model and serves it on two PEs.")
    parser.add_argument("--steps", type=int, default=800, help="of the training (default 800)")
    steps = parser.parse_args().steps
    if steps < 1:
        parser.error("--steps: there is no training without a step (give 1 or more)")
    shmem.init()
    me, n = shmem.my_pe(), shmem.n_pes()
    if n > 2:
        sys.exit(f"kv_transfer: split layers over {n} PEs: there are two halves (shmemrun -n 2)")

    text = TEXT.read_text(encoding="ascii")
    letters = sorted(set(text))
    tokens = np.array([letters.index(c) for c in text])
    s = Shape(len(letters))

    began = time.monotonic()
    w, losses = train(s, tokens, steps)
    trained = time.monotonic()
    starts = [text.index("\n\n", len(text) * i // PROMPTS) + 2 for i in range(PROMPTS)]
    prompts = [tokens[a : a + KNOWN] for a in starts]
    answers = together(s, w, prompts, ANSWER) if n == 2 else alone(s, w, prompts, ANSWER)
    served = time.monotonic()

    if me == n - 1:
        if n == 2:
            compare(answers, alone(s, w, prompts, ANSWER))
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {steps} steps")
        for prompt, logits in zip(prompts, answers.logits, strict=True):
            asked = "".join(letters[i] for i in prompt)
            said = "".join(letters[i] for i in logits.argmax(1))
            print(f"{asked!r} -> {said!r}")
        print("weights", digest([w[name] for name in sorted(w)]))
        print("logits ", digest(answers.logits))
        moved = f", {len(answers.arrived)} pages came from PE 0" if n == 2 else ""
        print(
            f"kv_transfer: {n} PEs: trained in {trained - began:.1f} s, answered "
            f"{PROMPTS} prompts in {served - trained:.2f} s{moved}",
            file=sys.stderr,
        )
    shmem.finalize()


def compare(answers: Answers, single: Answers) -> None:
    for i, (a, b) in enumerate(zip(answers.logits, single.logits, strict=True)):
        if a.tobytes() != b.tobytes():
            sys.exit(f"kv_transfer: prompt {i}: a single process has answered differently")


def digest(arrays: list[Array]) -> str:
    return sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()[:16]


if __name__ == "__main__":
    main()
