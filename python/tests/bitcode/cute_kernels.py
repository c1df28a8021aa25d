"""Compiles kernels of CuTe that call functions of libnvshmem_device.bc, without a GPU.

    cute_kernels.py BITCODE FOLDER [ARCHITECTURE]

It needs nvidia-cutlass-dsl, which machines with GPUs often lack: test_cute.py loads what this has
written to the folder `cute` of the build. For each kernel FOLDER gets KERNEL.cubin, and in
KERNEL.name the name of its function. The architecture is sm_90a unless given.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

BITCODE, FOLDER = sys.argv[1:3]
ARCHITECTURE = sys.argv[3] if len(sys.argv) > 3 else "sm_90a"
DUMPED = tempfile.TemporaryDirectory()
os.environ |= {
    "CUTE_DSL_ARCH": ARCHITECTURE,
    "CUTE_DSL_KEEP_PTX": "1",
    "CUTE_DSL_KEEP_CUBIN": "1",
    "CUTE_DSL_DUMP_DIR": DUMPED.name,
}

# cutlass reads the variables when it is imported.
import cutlass  # noqa: E402
from cutlass import cute  # noqa: E402
from cutlass.cute.runtime import make_ptr  # noqa: E402

SOURCE = cute.BitCode(BITCODE)


# Declarations of functions of the bitcode, with the types of their parameters.


@cute.extern(name="nvshmemx_float_put_signal_block", source=SOURCE)
def float_put_signal(
    dest: cute.Pointer,
    source: cute.Pointer,
    n: cutlass.Uint64,
    word: cute.Pointer,
    value: cutlass.Uint64,
    op: cutlass.Int32,
    pe: cutlass.Int32,
) -> None: ...


@cute.extern(name="nvshmem_signal_wait_until", source=SOURCE)
def signal_wait_until(
    word: cute.Pointer, comparison: cutlass.Int32, value: cutlass.Uint64
) -> cutlass.Uint64: ...


@cute.extern(name="nvshmem_half_p", source=SOURCE)
def half_p(dest: cute.Pointer, value: cutlass.Float16, pe: cutlass.Int32) -> None: ...


@cute.extern(name="nvshmem_half_g", source=SOURCE)
def half_g(source: cute.Pointer, pe: cutlass.Int32) -> cutlass.Float16: ...


@cute.extern(name="nvshmemx_barrier_all_block", source=SOURCE)
def barrier_all() -> None: ...


@cute.kernel
def exchange_kernel(
    dest: cute.Pointer,
    source: cute.Pointer,
    word: cute.Pointer,
    n: cutlass.Uint64,
    pe: cutlass.Int32,
):
    """Puts an array to a PE, with a signal, and waits for the one from another PE."""
    one = cutlass.Uint64(1)
    float_put_signal(dest, source, n, word, one, cutlass.Int32(10), pe)  # NVSHMEM_SIGNAL_ADD
    signal_wait_until(word, cutlass.Int32(5), one)  # NVSHMEM_CMP_GE
    barrier_all()


@cute.kernel
def halves_kernel(dest: cute.Pointer, there: cute.Pointer, pe: cutlass.Int32):
    """Writes 1.5 to a PE, reads it back, and writes the double."""
    half_p(dest, cutlass.Float16(1.5), pe)
    barrier_all()
    value = half_g(dest, pe)
    half_p(there, cutlass.Float16(value + value), pe)
    barrier_all()


@cute.jit
def exchange(
    dest: cute.Pointer,
    source: cute.Pointer,
    word: cute.Pointer,
    n: cutlass.Uint64,
    pe: cutlass.Int32,
):
    """Launches the kernel of this name."""
    exchange_kernel(dest, source, word, n, pe).launch(grid=(1, 1, 1), block=(128, 1, 1))


@cute.jit
def halves(dest: cute.Pointer, there: cute.Pointer, pe: cutlass.Int32):
    """Launches the kernel of this name."""
    halves_kernel(dest, there, pe).launch(grid=(1, 1, 1), block=(32, 1, 1))


def pointer(of):
    """A pointer argument for the compiler. Any address will do, since nothing is launched here.

    Its alignment is that of Float16, the smallest of the element types.
    """
    return make_ptr(of, 0x1000, cute.AddressSpace.gmem, assumed_align=2)


def main():
    """Compile each kernel, and keep its code under its own name."""
    floats, words, half = (pointer(x) for x in (cutlass.Float32, cutlass.Uint64, cutlass.Float16))
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    for name, function, arguments in (
        ("exchange", exchange, (floats, floats, words, cutlass.Uint64(1), cutlass.Int32(0))),
        ("halves", halves, (half, half, cutlass.Int32(0))),
    ):
        for file in Path(DUMPED.name).iterdir():
            file.unlink()
        cute.compile(function, *arguments)
        (ptx,) = Path(DUMPED.name).glob("*.ptx")
        (cubin,) = Path(DUMPED.name).glob("*.cubin")
        (entry,) = re.findall(r"\.entry (\w+)\(", ptx.read_text())
        Path(FOLDER, name + ".cubin").write_bytes(cubin.read_bytes())
        Path(FOLDER, name + ".name").write_text(entry)
        print(name, entry, len(cubin.read_bytes()))


if __name__ == "__main__":
    main()
