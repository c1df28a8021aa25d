"""Arrays in the memory of a GPU.

Inside the package such an array is a Ghost. For the program it is a DeviceArray, or a tensor of
torch or an array of cupy over the same memory.
"""

from __future__ import annotations

import importlib
from types import EllipsisType
from typing import Any, Literal, NoReturn

import numpy as np

from shmem import _blocks, _cuda, _dlpack
from shmem._addresses import address_of, check_span, refuse_address
from shmem._dtypes import Array, resolve
from shmem._errors import DeviceError, DtypeError, FreedError, LayoutError, SizeError
from shmem._ghosts import Ghost, ghost_at, ghost_of, refuse_elements
from shmem._gpu import heap_gpu, is_elsewhere
from shmem._library import installed
from shmem._runtime import state, whole

Key = int | slice | EllipsisType | None | tuple[int | slice | EllipsisType | None, ...]

# The kinds of symmetric heap (SHMEM_HEAP) with which operands may be in GPU memory: with the others
# the library uses no GPU, and cannot copy such memory.
_GPU_HEAPS = ("pinned", "device")


class DeviceArray:
    """An array in GPU memory, which other packages use by `__cuda_array_interface__` and DLPack.

    Slices and reshapes are views. `put`, `get`, `p` and `g` read and write elements, also those of
    this PE. Functions of this package make such arrays.

    Parameters
    ----------
    ghost : Ghost
        The array as the package uses it.
    name : str
        The name of the elements' type, also of a type that numpy lacks.
    peer : bool, optional
        Whether the memory is another PE's.

    Attributes
    ----------
    name : str
        The name of the elements' type.
    """

    __slots__ = ("_ghost", "_peer", "_turn", "name")

    def __init__(self, ghost: Ghost, name: str, peer: bool = False) -> None:
        self._ghost = ghost
        self.name = name
        self._peer = peer
        self._turn = state.turn  # the number of the job that it belongs to

    def _like(self, ghost: Ghost, name: str | None = None) -> DeviceArray:
        """A view of this array's memory: of the same PE and job."""
        out = DeviceArray(ghost, name or self.name, self._peer)
        out._turn = self._turn
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its dimensions."""
        return tuple(self._ghost.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next, in each dimension."""
        return self._ghost.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements; bytes where numpy has none."""
        return self._ghost.dtype

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self._ghost.size

    @property
    def nbytes(self) -> int:
        """The number of bytes of its elements."""
        return self._ghost.nbytes

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self._ghost.itemsize

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self._ghost.ndim

    def __len__(self) -> int:
        return len(self._ghost)

    def __repr__(self) -> str:
        return f"shmem.DeviceArray(shape={self.shape}, dtype={self.name})"

    def __array__(self, *_args: Any, **_options: Any) -> NoReturn:
        refuse_elements("read", self)

    def __copy__(self) -> DeviceArray:
        return self._like(self._ghost)

    def _refuse_copy(self, *_: object) -> NoReturn:
        """In the place of methods by which copy.deepcopy and pickle would read the elements."""
        refuse_elements("copy", self)

    __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse_copy

    def __getitem__(self, key: Key) -> DeviceArray:
        """A view; an element is a view of no dimensions."""
        keys = tuple(self._plain(k) for k in (key if isinstance(key, tuple) else (key,)))
        if Ellipsis not in keys:
            keys = (*keys, Ellipsis)
        return self._like(ghost_of(self._ghost[keys]))

    def _plain(self, key: Any) -> int | slice | EllipsisType | None:
        """A part of a key for which numpy makes a view.

        For a bool or an array, also one of a single int, it copies elements with the CPU.
        """
        if key is None or key is Ellipsis or isinstance(key, slice):
            return key
        number = None
        if not isinstance(key, np.ndarray) and getattr(key, "ndim", 0) == 0:
            number = whole(key)
        if number is None or isinstance(key, bool) or "bool" in str(getattr(key, "dtype", "")):
            raise LayoutError(
                "slice", repr(self), f"{key!r} would need a copy", "use ints and slices"
            )
        return number

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return a view of another shape.

        Parameters
        ----------
        *shape : int or tuple of int
            The shape; one length may be -1.

        Returns
        -------
        DeviceArray
            The view.

        Raises
        ------
        LayoutError
            The array is not contiguous.
        SizeError
            The shape has another number of elements.
        """
        if not self._ghost.flags.c_contiguous:
            raise LayoutError(
                "reshape", repr(self), "it is not contiguous", "reshape before slicing"
            )
        try:
            return self._like(ghost_of(self._ghost.reshape(*shape)))
        except (TypeError, ValueError) as error:
            raise SizeError("reshape", repr(self), str(error), "use as many elements") from None

    def view(self, dtype: Any) -> DeviceArray:
        """Return the same bytes as elements of another type.

        Parameters
        ----------
        dtype : DTypeLike
            The type.

        Returns
        -------
        DeviceArray
            The view.

        Raises
        ------
        DtypeError
            The bytes are not elements of that type.
        """
        kind = resolve("view", dtype)
        try:
            return self._like(ghost_of(self._ghost.view(kind)), name_of(dtype, kind))
        except (TypeError, ValueError) as error:
            raise DtypeError("view", repr(self), str(error), "use a size that fits") from None

    def live(self, call: str) -> Ghost:
        """The array's memory. An error, which names the call, if it is not of the running job."""
        if state.count == 0:
            raise refuse_address(call, "array", self._ghost, 0)
        if self._turn != state.turn:
            raise FreedError(
                call, repr(self), "it is of an earlier job", "make it after the init of this job"
            )
        return self._ghost

    def _address(self, call: str) -> int:
        """The address of the first element, when the memory may be used."""
        ghost = self.live(call)
        return address_of(ghost) if self._peer else check_span(call, "array", ghost)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        g = self._ghost
        return {
            "version": 3,
            "data": (self._address("__cuda_array_interface__"), False),
            "shape": g.shape,
            "strides": None if g.flags.c_contiguous else g.strides,
            "typestr": g.dtype.str,
            "descr": g.dtype.descr,
            "stream": None,  # no stream to wait for: the package's work on the array is complete
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _dlpack.CUDA, heap_gpu() or 0

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        address = self._address("__dlpack__")
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"{self!r}: another device or a copy is not possible this way")
        g = self._ghost
        code = _dlpack.code_of(g.dtype.kind, self.name)
        if code is None:
            raise BufferError(f"{self!r}: DLPack has no such type (pass a view of uint8)")
        return _dlpack.capsule(g, address, heap_gpu() or 0, code, g.itemsize, g.shape, g.strides)


def name_of(dtype: Any, kind: np.dtype[Any]) -> str:
    """The name of a type, also of one for which numpy has only bytes."""
    if kind.kind != "V" and kind.isbuiltin == 1:
        return kind.name
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


# ------------------------------------------------------------------- operands


def as_ghost(call: str, what: str, operand: Any, *, heap: bool) -> Ghost | None:
    """The memory of an operand in GPU memory; None for an operand elsewhere.

    With heap, it has to be memory of the GPU that has the symmetric heap.
    """
    if isinstance(operand, DeviceArray):
        return operand.live(call)
    is_tensor = getattr(operand, "is_cuda", False) and hasattr(operand, "data_ptr")
    # The caller reads other tensors as memory of the CPU. If they have none, torch raises an error.
    if not is_tensor and (
        hasattr(operand, "is_cuda") or not hasattr(operand, "__cuda_array_interface__")
    ):
        return None
    if heap and state.heap not in _GPU_HEAPS:
        raise DeviceError(
            call,
            what,
            "it is in GPU memory, and the symmetric heap is in main memory",
            "copy it to the CPU first, or set SHMEM_HEAP=device",
        )
    ghost = _of_torch(call, what, operand) if is_tensor else _of_interface(call, operand)
    device = _gpu_of(call, what, ghost)
    if heap and device is not None and is_elsewhere(device):
        raise DeviceError(
            call,
            what,
            f"it is on GPU {device}, and this PE's heap on GPU {heap_gpu()}",
            "copy it to that GPU",
        )
    return ghost


def _of_interface(call: str, operand: Any) -> Ghost:
    """The memory of an operand that has CUDA's array interface."""
    about = operand.__cuda_array_interface__
    address, shape = int(about["data"][0]), tuple(map(int, about["shape"]))
    return ghost_at(address, shape, resolve(call, about["typestr"]), operand, about.get("strides"))


def _of_torch(call: str, what: str, tensor: Any) -> Ghost:
    """The memory of a tensor on a GPU."""
    kind = resolve(call, str(tensor.dtype))
    try:
        address, shape = int(tensor.data_ptr()), tuple(map(int, tensor.shape))
        strides = tuple(int(n) * kind.itemsize for n in tensor.stride())
    except RuntimeError as error:
        raise DtypeError(
            call, what, f"it has no memory to use: {error}", "pass one that is dense"
        ) from None
    if tensor.is_conj() or tensor.is_neg():
        raise LayoutError(
            call,
            what,
            "its values are conjugated or negated only when torch reads them",
            "pass tensor.resolve_conj().resolve_neg()",
        )
    if address == 0 and 0 not in shape:
        raise FreedError(call, what, "its memory was freed", "pass a tensor that has memory")
    return ghost_at(address, shape, kind, tensor, strides)


def _gpu_of(call: str, what: str, ghost: Ghost) -> int | None:
    """The GPU that has the memory; None: the heap's, or no memory. An error if it was freed."""
    address = address_of(ghost)
    # The heap's memory is mapped and on the heap's GPU, also that of a block that was freed.
    if ghost.size == 0 or _blocks.find(address, 0) is not None or _blocks.find_freed(address):
        return None
    device = _cuda.device_of(address)
    if device is None:
        raise FreedError(
            call,
            what,
            "the CUDA driver knows of no memory there: it was freed",
            "keep the array until its last use",
        )
    return device


# ----------------------------------------------------------- for the program

Device = Literal[
    "cpu", "cuda", "cupy", "gpu",
    "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7",
]  # fmt: skip
_DEVICES = "None, 'cpu', 'cuda', 'cupy' or 'gpu'"


def check_device(call: str, device: str | None) -> str | None:
    """The kind of array that the program wants: None for the CPU, else "torch", "cupy" or "gpu".

    The number of a GPU, if the program gives one, follows after a colon. An error if the symmetric
    heap is not where such arrays are.
    """
    name, _, number = str(device).partition(":")
    on_gpu = state.count > 0 and state.heap == "device"
    if device in (None, "cpu"):
        if on_gpu:
            raise DeviceError(
                call, "", "the symmetric heap is in GPU memory", "pass device='cuda', or set "
                "SHMEM_HEAP=host",
            )  # fmt: skip
        return None
    if name not in ("cuda", "cupy", "gpu") or (number and not number.isdecimal()):
        raise DeviceError(call, f"device {device!r}", "is not a device", f"use {_DEVICES}")
    if state.count > 0 and not on_gpu:
        raise DeviceError(
            call, f"device {device!r}", "the symmetric heap is in main memory", "set "
            "SHMEM_HEAP=device, on a machine with a GPU",
        )  # fmt: skip
    if name == "cuda":
        name = "torch" if installed("torch") else "gpu"
    elif name == "cupy" and not installed("cupy"):
        raise DeviceError(call, "device 'cupy'", "cupy is not installed", "use 'cuda' or 'gpu'")
    return name + (":" + number if number else "")


def deliver(call: str, array: Array, dtype: Any, wanted: str) -> Any:
    """An array in GPU memory as the kind that the program wants, which check_device returned."""
    package, _, number = wanted.partition(":")
    if number and is_elsewhere(int(number)):
        raise DeviceError(
            call,
            f"device 'cuda:{number}'",
            f"the heap of this PE is on GPU {heap_gpu()}",
            "leave the number out",
        )
    name = name_of(dtype, array.dtype)
    on_gpu = DeviceArray(ghost_of(array), name)
    if package == "gpu":
        return on_gpu
    # As bytes: the other package may have a type, such as bfloat16, that numpy lacks.
    flat = on_gpu.reshape(-1).view("uint8")
    try:
        if package == "cupy":
            cupy = importlib.import_module("cupy")
            return cupy.asarray(flat).view(array.dtype).reshape(on_gpu.shape)
        torch = importlib.import_module("torch")
        tensor = torch.as_tensor(flat, device=f"cuda:{heap_gpu() or 0}")
        return tensor.view(getattr(torch, name)).reshape(on_gpu.shape)
    except (AttributeError, RuntimeError, TypeError, AssertionError) as error:
        raise DeviceError(
            call, f"an array of {name}", f"{package} does not take it: {error}", "use device='gpu'"
        ) from None
