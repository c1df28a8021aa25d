"""Arguments of programs, for the type checker; this file is never run.

A line with `type: ignore` is one that the type checker must refuse: an unused ignore is an error.
Numbers of numpy are accepted like Python's for a shape, a PE or an index.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import shmem
from shmem.typing import Memory


def arrays(rows: int, columns: np.int64, device: Literal["cuda", "gpu"]) -> npt.NDArray[np.float64]:
    box: npt.NDArray[np.float64] = shmem.zeros((rows, columns), dtype=np.float64)
    shmem.full(box.shape, 1.5, np.float32)[0] = 2
    shmem.empty([rows, columns, 3], "f8").sum()
    shmem.zeros(columns).sum()
    shmem.zeros(3, device=device)
    shmem.zeros(3, device="tpu")  # type: ignore[call-overload]
    assert_type(shmem.zeros(3), npt.NDArray[np.float64])
    assert_type(shmem.empty(3, np.int32), npt.NDArray[np.int32])
    assert_type(shmem.ones(3, np.dtype(np.uint8)), npt.NDArray[np.uint8])
    assert_type(shmem.full(3, np.float32(1)), npt.NDArray[np.float32])
    assert_type(shmem.array(box), npt.NDArray[np.float64])
    assert_type(shmem.zeros_like(box), npt.NDArray[np.float64])
    return box


def operations(box: npt.NDArray[np.float64], flags: npt.NDArray[np.uint64]) -> None:
    nearest = np.argmin(box[:, 0])
    with shmem.Context(private=True) as context:
        shmem.put(box, [1.0, 2.0], pe=nearest, context=context)
        shmem.p(box, 1.5, pe=nearest, index=np.int32(1))
        shmem.put_signal(box[0], box[1], flags, 1, pe=nearest, index=nearest)
    shmem.atomic_inc(flags, nearest, index=nearest)
    value: int = shmem.signal_wait_until(flags, ">=", 0, index=nearest)
    shmem.wait_until(flags, "=>", 1)  # type: ignore[arg-type]
    shmem.put_signal(box, box, flags, 1, pe=0, op="increment")  # type: ignore[arg-type]
    shmem.all_reduce(box, box, "mean")  # type: ignore[arg-type]
    shmem.wait_until(flags, ">", 1, timeout=1.5)
    which: int | None = shmem.wait_until_any(flags, "==", value)
    done: bool = shmem.test(flags, shmem.CMP_GE, which or 0)
    team = shmem.Team.world().split_strided(0, 1, shmem.n_pes())
    if team is not None and done:
        shmem.broadcast(box, box, nearest, team=team)
        team.destroy()
    peer = shmem.ptr(box, nearest)
    if peer is not None and shmem.pe_accessible(nearest):
        peer[0] = 1


def operands(box: npt.NDArray[np.float64], word: np.uint64, device: shmem.DeviceArray) -> None:
    memory: Memory = memoryview(bytearray(8))
    shmem.put(box, 5, pe=0)
    shmem.put(box, np.float32(5), pe=0)
    shmem.put(box, ((1, 2), (3, 4)), pe=0)
    shmem.put(box, b"12345678", pe=0)
    shmem.put(device, box, pe=0, stream="current")
    shmem.get(memory, box, pe=0, stream=0)
    shmem.p(box, np.float64(3), pe=0)
    shmem.signal_set(box.view(np.uint64), word, pe=0)
    shmem.send(memory, 1, 0)
    assert_type(shmem.ptr(box, 0), npt.NDArray[np.float64] | None)
    assert_type(shmem.register(box), npt.NDArray[np.float64])
    assert_type(shmem.heap().free, int)
    shmem.put("text", 5, pe=0)  # type: ignore[arg-type]
    shmem.put(box, "text", pe=0)  # type: ignore[arg-type]
    shmem.put(box, None, pe=0)  # type: ignore[arg-type]
    shmem.put([1, 2], box, pe=0)  # type: ignore[arg-type]
    shmem.get(5, box, pe=0)  # type: ignore[arg-type]
    shmem.sum_reduce(box, [1.0])  # type: ignore[arg-type]
    shmem.atomic_add(box, [1], pe=0)  # type: ignore[arg-type]
    shmem.free(3)  # type: ignore[arg-type]
    shmem.quiet(stream="mine")  # type: ignore[arg-type]
    shmem.quiet(stream=1.5)  # type: ignore[arg-type]


def settings(size: int, timeout: float) -> shmem.Job:
    shmem.init(symmetric_size=size, timeout=timeout, checks="full", debug=True, nic_list=["eth0"])
    shmem.init(symmetric_size="64m", heap=None, stats=1, log_file="log.%p")
    shmem.init(symetric_size=size)  # type: ignore[call-arg]
    shmem.init(heap="gpu")  # type: ignore[arg-type]
    shmem.init(proxy_threads="2")  # type: ignore[arg-type]
    return shmem.init(launcher_pe=0)  # type: ignore[call-arg]


def failures() -> bytes:
    try:
        with shmem.init():
            shmem.barrier_all(stream=None)
    except shmem.PeerError as e:
        print(e.pe, e.operation, e.subject, e.cause, e.remedy)
    return shmem.get_uniqueid()
