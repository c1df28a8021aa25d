"""PEs exchange tensors on their GPUs until PE 1 is lost; gpu_machine.py starts it.

    shmemrun -n 2 python lost_pe.py killed|context

In step 50, PE 1 kills itself, or loses its CUDA context by an index that is out of range. The loop
is so long that only this loss ends the job.
"""

import os
import signal
import sys

import torch

import shmem
import shmem.torch as st

shmem.init(heap="device")
me, n = shmem.my_pe(), shmem.n_pes()
x = torch.full((n * 4096,), float(me), device=st.zeros(1).device)
total = torch.zeros((), device=x.device)
for i in range(1_000_000):
    total += st.all_to_all(x).sum()
    if i % 10 == 0:
        torch.cuda.synchronize()
    if me == 1 and i == 50 and sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if me == 1 and i == 50:
        x[torch.full((1,), 1 << 20, device=x.device)] = 0.0
