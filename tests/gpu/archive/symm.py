"""torch's symmetric memory with the backend NVSHMEM, each value checked. One process for each rank:

    LD_PRELOAD=.../libnvshmem_host.so.3 torchrun --nproc-per-node N symm.py [--tile] [--second]
    torchrun --nproc-per-node N symm.py --load=.../libnvshmem_host.so.3

--second: another user of the library in the process, which begins after torch and ends before it.
--hosts: each rank is a host of its own, so that device code reaches the others by the proxy
channel. torch itself then refuses buffers of other ranks.
torch refuses a world of one rank. With fewer GPUs than ranks, ranks share them, and the process
group is gloo's, because NCCL has no two ranks on a GPU.
"""

import ctypes
import os
import sys

os.environ.setdefault("TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES", "1")

hosts = "--hosts" in sys.argv
if hosts:
    os.environ["SHMEM_HOST_ID"] = "host-" + os.environ["RANK"]
for arg in sys.argv[1:]:
    if arg.startswith("--load="):
        ctypes.CDLL(arg[len("--load=") :], ctypes.RTLD_GLOBAL)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed._symmetric_memory as symm_mem  # noqa: E402

rank, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
gpus = torch.cuda.device_count()
torch.cuda.set_device(rank % gpus)
device = torch.device("cuda", rank % gpus)
if gpus >= n:
    dist.init_process_group("nccl", device_id=device)
else:
    dist.init_process_group("gloo")
symm_mem.set_backend("NVSHMEM")
group = dist.group.WORLD.group_name
ops = torch.ops.symm_mem
failed = 0


def sync():
    torch.cuda.synchronize()
    dist.barrier()


def tensor(shape, dtype=torch.int32, value=0):
    """Returns a symmetric tensor, and what it is at each PE."""
    t = symm_mem.empty(shape, dtype=dtype, device=device).fill_(value)
    return t, symm_mem.rendezvous(t, group=group)


def check(name, is_, want):
    """Compares, and prints a line."""
    global failed
    good = is_ == want
    failed += not good
    line = f"{'ok  ' if good else 'FAIL'} {rank} {name}"
    if not good:
        line += f": {str(is_)[:300]}, not {str(want)[:300]}"
    os.write(1, (line + "\n").encode())


def step(name, f):
    """Runs a step at all ranks; its failure does not end the others."""
    global failed
    sync()
    try:
        check(name, *f())
    except Exception as e:  # torch raises several kinds
        failed += 1
        print(f"FAIL {rank} {name}: {type(e).__name__}: {str(e).splitlines()[0][:300]}", flush=True)
    sync()


def peers():
    t, h = tensor(1024, torch.float32, rank)
    sync()
    near = [rank] if hosts else range(n)
    got = [h.get_buffer(pe, (1024,), torch.float32).unique().tolist() for pe in near]
    sync()
    return (got, h.rank, h.world_size), ([[float(pe)] for pe in near], rank, n)


def put():
    t, _ = tensor(1 << 20, torch.float32, rank)
    sync()
    if rank == 0:
        ops.nvshmem_put(t, n - 1)
    sync()
    return t.unique().tolist(), [0.0] if rank in (0, n - 1) else [float(rank)]


def get():
    t, _ = tensor(1 << 20, torch.float32, 10 + rank)
    sync()
    if rank == 0:
        ops.nvshmem_get(t, n - 1)
    sync()
    return t.unique().tolist(), [10.0 + (n - 1 if rank == 0 else rank)]


def put_with_signal():
    t, h = tensor(4096, torch.int32, rank + 5)
    pad = h.get_signal_pad(rank, (1,), dtype=torch.int64)
    pad.fill_(0)
    sync()
    if rank == 0:
        ops.nvshmem_put_with_signal(t, pad, 7, n - 1)
    if rank == n - 1:
        ops.nvshmem_wait_for_signal(pad, 7, 0)
    sync()
    return (t.unique().tolist(), pad.tolist()), (
        [5 if rank == n - 1 else rank + 5],
        [7 if rank == n - 1 else 0],
    )


def broadcast():
    t, _ = tensor(256, torch.int32, rank + 3)
    sync()
    ops.nvshmem_broadcast(t, n - 1, group)
    sync()
    return t.unique().tolist(), [n + 2]


def all_to_all():
    source, _ = tensor(n * 16)
    dest, _ = tensor(n * 16, value=-1)
    source.copy_(torch.arange(n * 16, device=device) + 1000 * rank)
    sync()
    ops.nvshmem_all_to_all(source, dest, group)
    sync()
    return dest.tolist(), [1000 * pe + rank * 16 + i for pe in range(n) for i in range(16)]


def sent(source, dest):
    """Rows from one rank to another."""
    return source + 2 * dest + 1


def all_to_all_vdev():
    most = n * (3 * n + 2)
    source, _ = tensor(most, torch.float32)
    dest, _ = tensor(most, torch.float32, -1)
    splits, _ = tensor(n, torch.int64)
    out, _ = tensor((2, n), torch.int64)
    source.copy_(torch.arange(most, device=device) + 1000 * rank)
    splits.copy_(torch.tensor([sent(rank, pe) for pe in range(n)], device=device))
    sync()
    ops.all_to_all_vdev(source, dest, splits, out, group)
    sync()
    counts = [sent(pe, rank) for pe in range(n)]
    begins = [sum(counts[:pe]) for pe in range(n)]
    rows = [
        float(1000 * pe + sum(sent(pe, k) for k in range(rank)) + i)
        for pe in range(n)
        for i in range(counts[pe])
    ]
    return (out.tolist(), dest[: len(rows)].tolist()), ([counts, begins], rows)


def all_to_all_vdev_2d():
    experts, most = 2, 200
    source, _ = tensor((most, 4), torch.float32)
    dest, _ = tensor((most, 4), torch.float32, -1)
    splits, _ = tensor(n * experts, torch.int64)
    out, _ = tensor((2, n * experts), torch.int64)
    source.copy_((torch.arange(most, device=device) + 1000 * rank).unsqueeze(1).expand(most, 4))
    counts = [[sent(pe, e) for e in range(n * experts)] for pe in range(n)]
    splits.copy_(torch.tensor(counts[rank], device=device))
    sync()
    ops.all_to_all_vdev_2d(source, dest, splits, out, group)
    sync()
    got, rows = [], []
    for e in range(experts):
        for pe in range(n):
            k = rank * experts + e
            got.append(counts[pe][k])
            rows += [float(1000 * pe + sum(counts[pe][:k]) + i) for i in range(counts[pe][k])]
    begins = [sum(got[:i]) for i in range(len(got))]
    return (out.tolist(), dest[: len(rows), 0].tolist(), dest[: len(rows), 3].tolist()), (
        [got, begins],
        rows,
        rows,
    )


def tile_reduce():
    source, _ = tensor((64, 64), torch.float32, rank + 1)
    dest, _ = tensor((64, 64), torch.float32)
    ops.tile_reduce(source[:32, :32], dest[:32, :32], 0, group, "sum")
    torch.cuda.synchronize()
    return dest[:32, :32].unique().tolist(), [n * (n + 1) / 2.0 if rank == 0 else 0.0]


step("available", lambda: (symm_mem.is_nvshmem_available(), True))
for f in (
    peers,
    put,
    get,
    put_with_signal,
    broadcast,
    all_to_all,
    all_to_all_vdev,
    all_to_all_vdev_2d,
):
    step(f.__name__, f)
for _ in range(20):
    step("again", all_to_all_vdev)
if "--second" in sys.argv:
    second = ctypes.CDLL("libnvshmem_host.so.3")
    step("second begins", lambda: (second.nvshmemx_hostlib_init_attr(0, None), 0))
    step("second", lambda: ((second.nvshmem_my_pe(), second.nvshmem_n_pes()), (rank, n)))
    step("both", all_to_all_vdev)
    second.nvshmemx_hostlib_finalize()
    step("torch goes on", all_to_all_vdev)
if "--tile" in sys.argv:
    step("tile_reduce", tile_reduce)
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split()[-1] for line in maps if "nvshmem_host" in line})
print(f"rank {rank}: {failed} failed; loaded: {' '.join(loaded)}", flush=True)
dist.destroy_process_group()
sys.exit(failed != 0)
