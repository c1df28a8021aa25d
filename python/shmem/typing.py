"""The types of arguments, for annotations in programs.

Memory
    An object whose memory an operation reads or writes: an array of numpy or cupy, a tensor, a
    `DeviceArray`, a bytearray, anything else with `__array_interface__`,
    `__cuda_array_interface__`, DLPack or the buffer protocol.
Number
    One number, of Python or numpy.
Source
    What an operation reads: memory, a number, or a list or tuple of numbers.
StreamLike
    The value of `stream=`.
Settings
    The settings of `init`, a TypedDict.
Shape, Device, Comparison, SignalOp
    The arguments `shape`, `device`, `cmp` and `op`.
"""

from shmem._constants import Comparison, SignalOp
from shmem._device import Device
from shmem._protocols import Memory, Number, Source, StreamLike
from shmem._settings import Settings
from shmem._shapes import Shape

__all__ = [
    "Comparison",
    "Device",
    "Memory",
    "Number",
    "Settings",
    "Shape",
    "SignalOp",
    "Source",
    "StreamLike",
]
