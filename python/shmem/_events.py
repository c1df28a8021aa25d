"""Events: they show whether the streams of the GPU have finished the work of some moment.

Queued work may still read an object that the program has dropped. Memory of the heap, and numpy's
memory that a stream copies from or to, is therefore freed only when that work is complete.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from shmem import _cuda
from shmem._ghosts import Ghost
from shmem._gpu import heap_gpu
from shmem._runtime import before_finalize
from shmem._spans import Span

_NO_TIMES = 2  # CU_EVENT_DISABLE_TIMING
_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

Number = ctypes.c_void_p  # a stream, event or context of the driver


@functools.cache
def _context(gpu: int) -> Number:
    """The GPU's primary context, which packages share; it stays until the process ends."""
    context = Number()
    _cuda.driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu)
    return context


@contextlib.contextmanager
def _current() -> Iterator[Any]:
    """The driver, with the context of the heap's GPU in this thread.

    The capture mode allows queries of events also while another thread captures a graph.
    """
    driver, mode = _cuda.driver(), ctypes.c_int(_RELAXED)
    driver.cuCtxPushCurrent_v2(_context(heap_gpu() or 0))
    driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    try:
        yield driver
    finally:
        driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        driver.cuCtxPopCurrent_v2(ctypes.byref(Number()))


def _mark(driver: Any, stream: int) -> Number:
    """An event that completes when the stream has finished its present work."""
    event = Number()
    if (
        driver.cuEventCreate(ctypes.byref(event), _NO_TIMES) != 0
        or driver.cuEventRecord(event, Number(stream)) != 0
    ):
        # The work is complete on return, and so is the event for Queue.gone: the query of an event
        # that was not created, or not recorded, never returns _NOT_READY.
        driver.cuStreamSynchronize(Number(stream))
    return event


def _streams() -> set[int]:
    """The streams that programs use most: the default stream, and the current ones."""
    out, gpu = {0}, heap_gpu()
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    # A torch without CUDA has no streams, and a torch that has not initialised CUDA has no work on
    # them.
    if torch is not None and torch.cuda.is_initialized():
        out.add(int(torch.cuda.current_stream(gpu).cuda_stream))
    if cupy is not None:
        out.add(int(cupy.cuda.get_current_stream().ptr))
    return out


def _is_captured(driver: Any, stream: int, unknown: bool = True) -> bool:
    """Whether a stream is being captured into a graph; `unknown` if the driver does not say."""
    status = ctypes.c_int(0)
    if driver.cuStreamIsCapturing(Number(stream), ctypes.byref(status)) != 0:
        return unknown  # the default stream, while another one is captured
    return status.value > 0


def in_graph() -> bool:
    """Whether this thread's current stream is being captured into a graph."""
    # Not in the context of the heap's GPU, which is not known before the first allocation.
    driver = _cuda.driver()
    return any(_is_captured(driver, s, unknown=False) for s in _streams())


class Queue:
    """Objects that wait for streams, in the order in which they were added.

    A stream that is being captured is not queried, because that would end the capture.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Events, and the objects that may be freed when all of these events are complete.
        self._marked: deque[tuple[list[Number], list[Any]]] = deque()
        self._unmarked: list[Any] = []  # objects for which no events are recorded yet

    def add(self, thing: Any) -> None:
        """Adds an object that may be freed when all streams have finished their present work.

        The next call of gone that no capture prevents records the events.
        """
        with self._lock:
            self._unmarked.append(thing)

    def add_after(self, driver: Any, stream: int, thing: Any) -> None:
        """Adds an object that may be freed when this stream has finished its present work."""
        with self._lock:
            self._marked.append(([_mark(driver, stream)], [thing]))

    def gone(self, wait: bool = False) -> list[Any]:
        """Removes and returns the objects that may be freed by now; with wait, all objects.

        While one of the streams is being captured it returns none, also with wait.
        """
        if not self._marked and not self._unmarked:
            return []
        with self._lock, _current() as driver:
            streams = _streams()
            if any(_is_captured(driver, s) for s in streams):
                return []
            if self._unmarked:
                self._marked.append(([_mark(driver, s) for s in streams], self._unmarked))
                self._unmarked = []
            out: list[Any] = []
            while self._marked:
                events, things = self._marked[0]
                if wait:
                    for event in events:
                        driver.cuEventSynchronize(event)
                elif any(driver.cuEventQuery(event) == _NOT_READY for event in events):
                    break
                for event in events:
                    driver.cuEventDestroy_v2(event)
                self._marked.popleft()
                out.extend(things)
            return out


# ------------------------------------------------------- operands on a stream

_copied = Queue()  # operands of calls on streams
_captured: list[Any] = []  # operands of calls that graphs have captured


def keep(operand: Any, stream: int) -> None:
    """Keeps an operand in main memory until a stream has copied it; in a graph, until finalize.

    An operand in GPU memory is not kept: torch and cupy reuse their memory in the order of the
    stream, and a block of the heap waits for the stream anyway.
    """
    if isinstance(operand, (Ghost, Span)):
        return
    _copied.gone()
    with _current() as driver:
        if _is_captured(driver, stream):
            _captured.append(operand)
        else:
            _copied.add_after(driver, stream, operand)


def _end() -> None:
    """Before finalize: drops the operands of all calls on streams, after their copies."""
    _copied.gone(wait=True)
    _captured.clear()


before_finalize.append(_end)
