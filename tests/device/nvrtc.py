"""Compiles a CUDA source with NVRTC, as programs do that compile kernels at run time.

    nvrtc.py LIBRARY SOURCE OPTION...

LIBRARY is libnvrtc.so. Prints the PTX, or for an architecture sm_N the machine code; on failure
NVRTC's log, and the status is 1.
"""

import ctypes
import sys


def main() -> int:
    library, source, *options = sys.argv[1:]
    rtc = ctypes.CDLL(library)
    with open(source, "rb") as f:
        text = f.read()
    program = ctypes.c_void_p()
    status = rtc.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), 0, None, None)
    if status != 0:
        print(f"nvrtc.py: create a program: error {status}", file=sys.stderr)
        return 1
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = rtc.nvrtcCompileProgram(program, len(options), words)
    size = ctypes.c_size_t()
    rtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    rtc.nvrtcGetProgramLog(program, log)
    sys.stderr.write(log.value.decode())
    if failed:
        return 1
    real = any(o.startswith("--gpu-architecture=sm_") for o in options)
    if real:
        rtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    else:
        rtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    if real:
        rtc.nvrtcGetCUBIN(program, code)
    else:
        rtc.nvrtcGetPTX(program, code)
    sys.stdout.buffer.write(code.raw if real else code.value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
