"""shmem: symmetric memory and one-sided communication between processes, by libshmem.

    import shmem

    shmem.init()
    box = shmem.zeros(1, int)
    shmem.put(box, [shmem.my_pe()], pe=(shmem.my_pe() + 1) % shmem.n_pes())
    shmem.barrier_all()
    print(f"PE {shmem.my_pe()}: {box[0]} wrote to me")
    shmem.finalize()

Run it with `shmemrun -n 4 python prog.py`. Importing starts nothing: the library is
loaded by the first init, and numpy by the first use of a name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shmem._public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Imports all names at the first use of one.

    Commands such as `python -m shmem.doctor` use none, and do not wait for numpy.
    """
    # `from shmem import _abi` asks here first, and then imports the module itself.
    if name.startswith("_") and name not in ("__all__", "__version__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module("shmem._public")
    globals().update({known: getattr(public, known) for known in public.__all__})
    globals()["__all__"] = public.__all__
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    __getattr__("__all__")
    return sorted(globals())
