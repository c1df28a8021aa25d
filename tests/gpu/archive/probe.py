"""Prints what a host library writes for device code of NVIDIA's archive: each member of the state
and of the teams, as a module with the archive's two variables gets it. Its output with NVIDIA's
library and with this one is equal.

    probe.py LIBRARY N RELEASE       RELEASE: 3.4.5, 3.7.2 or 3.8.0
    probe.py --compare A B RELEASE   runs with both, by their paths, on 2 PEs, and compares

Addresses are printed as places in the heap, as "set", or as NULL. What NVIDIA's library uses for
its own collectives on the host (the number of a reduction, the sync counters) is left out, as are
tables that nothing reads when all PEs are reached by loads and stores. The members come from
abi/zz_archive.h.
"""

import ctypes as c
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = os.environ.get("ARCHIVE_HEADER", os.path.join(HERE, "../../../abi/zz_archive.h"))
BYTES = {"3.4.5": (776, 792), "3.7.2": (816, 808), "3.8.0": (848, 816)}
TYPES = {
    "int32_t": "i",
    "int64_t": "q",
    "uint32_t": "I",
    "uint64_t": "Q",
    "bool": "?",
    "uint8_t": "B",
}
# Addresses: in the heap, others.
IN_HEAP = {"heap_base", "psync_pool", "sync_counter"}
SET = {
    "timeout",
    "test_wait_any_start_idx_ptr",
    "team_pool",
    "peer_heap_base_p2p",
    "peer_heap_base_remote",
    "global_exit_request_state",
    "global_exit_code",
    "region_active_count",
    "pe_mapping",
    "step1_recvfrom",
    "step2_nbrs",
    "region_slots",
}
LEFT = {
    "rdxn_count",
    "heap_size",
    "num_contexts",
    "uniqueid",
    "config_mask",
    "config_version",
    "region_slots",
    "region_slots_len",
    "region_slot_probe_limit",
    "counted_operations_available",
    "version",
}


def members(name):
    """Returns (member, format, offset) of a struct of the header."""
    with open(HEADER) as f:
        text = f.read()
    body = re.search(r"struct shmemi_" + name + r" \{(.*?)\n\};", text, re.S).group(1)
    types = dict((m, t) for t, m in re.findall(r"^\s+(\w+) (\w+)(?:\[\d+\])?;", body, re.M))
    return [
        (m, TYPES[types[m]], int(at))
        for m, at in re.findall(r"offsetof\(struct shmemi_" + name + r", (\w+)\) == (\d+)", text)
        if types.get(m) in TYPES
    ]


class Driver:
    def __init__(self):
        self.cu = c.CDLL("libcuda.so.1")

    def module(self, version, size):
        ptx = (
            ".version 7.8\n.target sm_75\n.address_size 64\n"
            f".visible .const .align 8 .b8 nvshmemi_device_state_d[{size}];\n"
            ".visible .const .align 4 .b8 nvshmemi_device_lib_version_d[12] = {%s};\n"
            % ",".join(f"{v},0,0,0" for v in version)
            + ".visible .entry none() { ret; }\n"
        )
        m = c.c_void_p()
        assert self.cu.cuModuleLoadData(c.byref(m), ptx.encode()) == 0
        return m

    def variable(self, module, name):
        at, size = c.c_uint64(), c.c_size_t()
        assert self.cu.cuModuleGetGlobal_v2(c.byref(at), c.byref(size), module, name) == 0
        return at.value, size.value

    def read(self, at, size):
        b = (c.c_ubyte * size)()
        return (
            bytes(b) if self.cu.cuMemcpyDtoH_v2(b, c.c_uint64(at), c.c_size_t(size)) == 0 else None
        )


def shown(name, value, base):
    if name in IN_HEAP:
        return "in the heap" if base <= value < base + (1 << 40) else hex(value)
    if name in SET:
        return "set" if value else "NULL"
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else value


def one(library, rank, n, release, folder):
    size, team_size = BYTES[release]
    version = tuple(int(v) for v in release.split("."))
    cuda = sorted(glob.glob(os.path.join(p, "cu1*/lib/libcudart.so.1*")) for p in nvidia_paths())
    runtime = c.CDLL(next((f for fs in cuda for f in fs), "libcudart.so"), c.RTLD_GLOBAL)
    count = c.c_int()
    runtime.cudaGetDeviceCount(c.byref(count))
    assert runtime.cudaSetDevice(rank % count.value) == 0 and runtime.cudaFree(None) == 0
    driver, lib = Driver(), c.CDLL(library, c.RTLD_GLOBAL)
    lib.nvshmem_malloc.restype = lib.nvshmemx_mc_ptr.restype = c.c_void_p
    uid = (c.c_ubyte * 128)()
    struct.pack_into("<i", uid, 0, 0x10080)
    file = os.path.join(folder, "uid")
    if rank == 0:
        assert lib.nvshmemx_get_uniqueid(uid) == 0
        with open(file + ".part", "wb") as f:
            f.write(bytes(uid))
        os.rename(file + ".part", file)
    while not os.path.exists(file):
        time.sleep(0.02)
    with open(file, "rb") as f:
        uid = (c.c_ubyte * 128)(*f.read())
    attr = (c.c_ubyte * 144)()
    struct.pack_into("<i", attr, 0, 0x10090)
    struct.pack_into("<i", attr, 16, 0x10080)
    struct.pack_into("<i", attr, 24, 0x10018)
    print("status before init", lib.nvshmemid_init_status())
    lib.nvshmemx_set_attr_uniqueid_args(rank, n, uid, attr)
    print("init", lib.nvshmemx_hostlib_init_attr(8, attr))
    buffer = lib.nvshmem_malloc(c.c_size_t(1 << 20))
    print("mc_ptr", lib.nvshmemx_mc_ptr(0, c.c_void_p(buffer)))
    for bad in ((4, 0, 0), (3, 99, 0)):
        print("a module of", bad, lib.nvshmemx_cumodule_init(driver.module(bad, size)))
    m = driver.module(version, size)
    print("a module of", release, lib.nvshmemx_cumodule_init(m))
    at, bytes_ = driver.variable(m, b"nvshmemi_device_state_d")
    state = driver.read(at, bytes_)
    fields = members("archive_state")
    # In padding of the older release.
    left = LEFT | ({"selected_device_transport"} if release < "3.6" else set())
    get = {
        name: struct.unpack_from("<" + kind, state, off)[0]
        for name, kind, off in fields
        if off < size
    }
    base = get["heap_base"]
    for name, _kind, off in fields:
        if off < size and name not in left:
            print("S", name, shown(name, get[name], base))
    coll = 120
    for name, kind, off in members("archive_coll"):
        if name != "fcollect_ll_supported" or release == "3.8.0":
            print(
                "C", name, shown(name, struct.unpack_from("<" + kind, state, coll + off)[0], base)
            )
    print("S version", hex(get["version"]))
    direct = struct.unpack(f"<{n}Q", driver.read(get["peer_heap_base_p2p"], 8 * n))
    print("own heap", direct[rank] == base, "others", all(direct))
    # The start of the area of sync words is clear, and there is memory up to the end of the last.
    print("psync", set(driver.read(get["psync_pool"] + 31 * 4079616, 4096)))
    made = c.c_int(-9)
    print("split", lib.nvshmem_team_split_strided(0, 0, 1, n, None, c.c_long(0), c.byref(made)))
    pool = struct.unpack("<32Q", driver.read(get["team_pool"], 256))
    for i in (0, 1, 2, 3, 4, 5, made.value):
        if pool[i]:
            team(driver, "new" if i == made.value else i, pool[i], n, team_size, made.value)
        else:
            print("T", i, "NULL")
    lib.nvshmem_team_destroy(made.value)
    print("after destroy", struct.unpack("<32Q", driver.read(get["team_pool"], 256))[made.value])
    grown = lib.nvshmem_malloc(c.c_size_t(3 << 30))
    print(
        "grown",
        bool(grown),
        "the state",
        "stays" if driver.read(at, bytes_) == state else "changes",
    )
    print("finalize", lib.nvshmemx_cumodule_finalize(m))
    lib.nvshmemx_hostlib_finalize()
    print("status after", lib.nvshmemid_init_status(), flush=True)
    os._exit(0)


def team(driver, i, at, n, size, new):
    b = driver.read(at, size)
    for name, kind, off in members("archive_team"):
        if off >= size or name in LEFT:
            continue
        value = struct.unpack_from("<" + kind, b, off)[0]
        if name in ("team_idx", "team_dups") and value == new and i == "new":
            value = "self"
        print("T", i, name, shown(name, value, 0) if not isinstance(value, str) else value)
    for name, kind, off in members("archive_recexch"):
        print("T", i, name, shown(name, struct.unpack_from("<" + kind, b, 104 + off)[0], 0))
    count = struct.unpack_from("<i", b, 16)[0]
    mapping = struct.unpack_from("<Q", b, 784)[0]
    print("T", i, "mapping", struct.unpack(f"<{count + n}i", driver.read(mapping, 4 * (count + n))))


def nvidia_paths():
    try:
        import nvidia

        return list(nvidia.__path__)
    except ImportError:
        return []


def many(library, n, release):
    """Runs N processes, and returns their lines."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, NVSHMEM_DISABLE_NVLS="1")
        all_ = [
            subprocess.Popen(
                [sys.executable, __file__, "--one", library, str(r), str(n), release, folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=env,
            )
            for r in range(n)
        ]
        out = []
        for p in all_:
            try:
                out.append(p.communicate(timeout=50)[0].splitlines())
            except subprocess.TimeoutExpired:
                p.kill()
                out.append(p.communicate()[0].splitlines() + ["timeout"])
        return out


def main(args):
    if args[0] == "--one":
        one(args[1], int(args[2]), int(args[3]), args[4], args[5])
    if args[0] != "--compare":
        for rank, lines in enumerate(many(args[0], int(args[1]), args[2])):
            print("\n".join([f"--- PE {rank}"] + lines))
        return 0
    failed = 0
    a, b = many(args[1], 2, args[3]), many(args[2], 2, args[3])
    for rank in range(2):
        extra = [f"first:  {line}" for line in a[rank] if line not in b[rank]]
        extra += [f"second: {line}" for line in b[rank] if line not in a[rank]]
        failed += len(extra)
        print(f"{'FAIL' if extra else 'ok'} PE {rank}: {len(a[rank])} and {len(b[rank])} lines")
        print("\n".join(extra))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
