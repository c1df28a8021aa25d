"""kv_transfer: two PEs train a small language model, and answer prompts with it.

    shmemrun -n 2 python kv_transfer.py
    shmemrun -n 2 --hosts 2 python kv_transfer.py --steps 100
    python kv_transfer.py                     # one PE does everything
    shmemrun -n 2 python kv_transfer.py --device cuda

The model learns text.txt by characters; each PE trains half of its layers (training.py). Then PE 0
reads prompts, and puts their keys and values into PE 1's memory page by page. PE 1 continues the
prompts from there (serving.py), and ends with an error if a single process would have answered
differently in one bit. The output is the same with one PE and with two; times go to stderr.

With --device cuda, which needs torch, prompts are answered on GPUs, in a second job whose heap is
in GPU memory. Training is on the CPU in either case.
"""

import os

# The last bits of a product depend on the number of threads over which a library splits it; two PEs
# on two cores need no more than one each. The variable must be set before numpy is imported.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
# cuBLAS, too, computes the same bits in each run only with a workspace of a fixed size.
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

import argparse
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import shmem
from model import Array, Shape, Weights
from serving import Answers, alone, together
from training import train

TEXT = Path(__file__).with_name("text.txt")
PROMPTS = 4  # number of prompts
KNOWN, ANSWER = 65, 60  # tokens of a prompt (4 pages, and the one to continue from), of an answer


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small model and serves it on two PEs.")
    parser.add_argument("--steps", type=int, default=800, help="of the training (default 800)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="that answers")
    options = parser.parse_args()
    steps, on_gpu = options.steps, options.device == "cuda"
    if steps < 1:
        parser.error("--steps: there is no training without a step (give 1 or more)")
    if on_gpu:
        import torch

        if not torch.cuda.is_available():
            sys.exit("kv_transfer: --device cuda: torch finds no GPU (leave it out)")
    shmem.init(heap="host")
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
    served_with = to_gpu(w) if on_gpu else w
    starts = [text.index("\n\n", len(text) * i // PROMPTS) + 2 for i in range(PROMPTS)]
    prompts = [tokens[a : a + KNOWN] for a in starts]
    if on_gpu:
        # A kernel's first launch loads it, for which the GPU may have to be idle. It is not idle
        # while a stream waits for a page, so every kernel is launched once before.
        alone(s, served_with, prompts[:1], ANSWER)
    began_serving = time.monotonic()
    serve = together if n == 2 else alone
    answers = serve(s, served_with, prompts, ANSWER)
    served = time.monotonic()

    if me == n - 1:
        if n == 2:
            compare(answers, alone(s, served_with, prompts, ANSWER))
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
            f"{PROMPTS} prompts in {served - began_serving:.2f} s{moved}",
            file=sys.stderr,
        )
    shmem.finalize()


def to_gpu(w: Weights) -> Weights:
    """Ends the job, begins one whose heap is in GPU memory, and returns copies of w there."""
    import torch

    shmem.finalize()
    shmem.init(heap="device")
    # A tensor in the heap says which GPU the heap is on.
    here = shmem.zeros(1, "int64", device="cuda").device
    torch.cuda.set_device(here)
    return {name: torch.as_tensor(matrix, device=here) for name, matrix in w.items()}


def compare(answers: Answers, single: Answers) -> None:
    """Ends the process if the answers differ from those of a single process in one bit."""
    for i, (a, b) in enumerate(zip(answers.logits, single.logits, strict=True)):
        if a.tobytes() != b.tobytes():
            sys.exit(f"kv_transfer: prompt {i}: a single process has answered differently")


def digest(arrays: list[Array]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the arrays."""
    return sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()[:16]


if __name__ == "__main__":
    main()
