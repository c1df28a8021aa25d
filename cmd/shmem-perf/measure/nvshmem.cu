/*
 * nvshmem: the calls of OpenSHMEM that the C files of the program make on the host, by means of
 * NVSHMEM, for PEs of one machine. Only the program for --beside=nvshmem has this file.
 *
 * shmemrun starts the PEs. They find each other by NVSHMEM's unique ID, which PE 0 writes to the
 * file that PERF_MEETING names.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <shmem.h>

namespace
{

const int meeting_seconds = 60;

// Ends the program: NVSHMEM cannot be started, or memory cannot be mapped or copied.
[[noreturn]] void fail(const char *what, const char *why)
{
    fprintf(stderr, "shmem-perf: start NVSHMEM: %s: %s (NVSHMEM_DEBUG=INFO says more)\n", what,
            why);
    _Exit(1);
}

// Returns a variable that shmem-perf or shmemrun has set for the PE.
const char *variable(const char *name)
{
    const char *value = getenv(name);
    if (value == nullptr)
        fail(name, "it is not set; shmem-perf --beside=nvshmem starts this program");
    return value;
}

// On PE 0: writes the ID of the job. The file gets its name when it is complete.
void write_id(const std::string &file, const nvshmemx_uniqueid_t &id)
{
    std::string part = file + ".part";
    FILE *f = fopen(part.c_str(), "w");
    if (f == nullptr || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) != 0 ||
        rename(part.c_str(), file.c_str()) != 0)
        fail(file.c_str(), strerror(errno));
}

// On the other PEs: waits for the ID, and reads it.
void read_id(const std::string &file, nvshmemx_uniqueid_t *id)
{
    for (int i = 0; i < meeting_seconds * 100; ++i) { // every 10 ms
        FILE *f = fopen(file.c_str(), "r");
        if (f != nullptr) {
            bool whole = fread(id, sizeof *id, 1, f) == 1;
            fclose(f);
            if (!whole)
                fail(file.c_str(), "it is too short");
            return;
        }
        usleep(10000);
    }
    fail(file.c_str(), "PE 0 has not written it");
}

// Returns the address, in this process, of symmetric memory of a PE of this machine.
void *address(const void *symmetric, int pe)
{
    void *p = nvshmem_ptr(symmetric, pe);
    if (p == nullptr)
        fail("map the memory of another PE", "the GPUs cannot reach each other");
    return p;
}

// Ends the program if a step, such as a copy, has failed.
void check(cudaError_t status, const char *what = "copy")
{
    if (status != cudaSuccess)
        fail(what, cudaGetErrorString(status));
}

// Chooses the GPU of a PE, which NVSHMEM wants before init. All PEs are on this host.
void take_gpu(int pe)
{
    int n = 0;
    check(cudaGetDeviceCount(&n), "count the GPUs");
    check(cudaSetDevice(pe % n), "take a GPU");
    check(cudaFree(nullptr), "open the GPU");
}

// Adds 1 to a word. NVSHMEM has atomic operations for kernels only.
__global__ void increment(long *dest, int pe)
{
    nvshmem_long_atomic_inc(dest, pe);
    nvshmem_quiet();
}

} // namespace

extern "C" {

void shmem_init(void)
{
    int pe = atoi(variable("SHMEM_LAUNCHER_PE")), pes = atoi(variable("SHMEM_LAUNCHER_NPES"));
    std::string file = variable("PERF_MEETING");
    take_gpu(pe);
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (pe != 0)
        read_id(file, &id);
    else if (nvshmemx_get_uniqueid(&id) != 0)
        fail("get the unique ID", "it failed");
    else
        write_id(file, id);
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (nvshmemx_set_attr_uniqueid_args(pe, pes, &id, &attr) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        fail("nvshmemx_init_attr", "it failed");
}

void shmem_finalize(void)
{
    nvshmem_finalize();
}

int shmem_my_pe(void)
{
    return nvshmem_my_pe();
}

int shmem_n_pes(void)
{
    return nvshmem_n_pes();
}

void shmem_info_get_name(char *name)
{
    nvshmem_info_get_name(name);
}

void shmem_global_exit(int status)
{
    nvshmem_global_exit(status);
}

void *shmem_align(size_t alignment, size_t size)
{
    return nvshmem_align(alignment, size);
}

void *shmem_ptr(const void *dest, int pe)
{
    return nvshmem_ptr(dest, pe);
}

void shmem_barrier_all(void)
{
    nvshmem_barrier_all();
}

void shmem_getmem(void *dest, const void *source, size_t nelems, int pe)
{
    check(cudaMemcpy(dest, address(source, pe), nelems, cudaMemcpyDefault));
}

void shmem_long_p(long *dest, long value, int pe)
{
    check(cudaMemcpy(address(dest, pe), &value, sizeof value, cudaMemcpyDefault));
}

void shmem_long_atomic_inc(long *dest, int pe)
{
    increment<<<1, 1>>>(dest, pe);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
}

} // extern "C"
