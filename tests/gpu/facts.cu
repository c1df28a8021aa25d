/*
 * facts.cu: facts of this machine's GPUs and driver on which the library's decisions depend:
 * attributes, and the kinds of shared memory that work, by trials. A line per fact: its name, a
 * tab, its value. A feature that is not available is a fact, too, with the driver's reason; the
 * status is not 0 only when there are no facts.
 *
 * The program calls the driver through the run time, so that it starts, and says so, where there is
 * no driver.
 */
#include <cuda.h>
#include <cuda_runtime.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <glob.h>
#include <sys/mman.h>
#include <unistd.h>

namespace
{

const size_t bytes = 2 << 20; // the granularity of device memory

void fact(const char *what, const char *value)
{
    printf("%s\t%s\n", what, value);
}

[[noreturn]] void give_up(const char *what, const char *why)
{
    fprintf(stderr, "facts: %s: %s\n", what, why);
    exit(1);
}

void need(cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        give_up(what, cudaGetErrorString(e));
}

// A function of the driver, or NULL if the driver is older than the function.
template <typename F> F driver(const char *name, unsigned version, F)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaError_t e = cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &found);
    return e == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(f)
                                                                    : nullptr;
}
#define DRIVER(name, version) driver(#name, version, &name)

const char *reason(CUresult r)
{
    static char text[64];
    const char *name = nullptr;
    auto get = DRIVER(cuGetErrorName, 6000);
    if (get != nullptr && get(r, &name) == CUDA_SUCCESS)
        return name;
    snprintf(text, sizeof text, "error %d", (int)r);
    return text;
}

// One line for a trial: yes, or no and why. Clears the run time's last error.
void tried(const char *what, const char *step, const char *why)
{
    char line[256];
    if (step == nullptr)
        snprintf(line, sizeof line, "yes");
    else
        snprintf(line, sizeof line, "no: %s: %s", step, why);
    fact(what, line);
    (void)cudaGetLastError();
}

struct attribute {
    CUdevice_attribute number;
    const char *name;
};
const attribute attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "multiprocessors"},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "clock, kHz"},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, "copy engines"},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, "NUMA node of its memory"},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, "NUMA node of the host beside it"},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified addressing"},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, "maps host memory"},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, "host memory registers"},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, "host pointers serve"},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, "native atomics on host memory"},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, "pageable memory"},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, "managed memory, both at once"},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, "managed memory, host direct"},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "handles as descriptors"},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, "handles for the fabric"},
    {CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, "dma-buf"},
    {CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED, "dma-buf of host memory"},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, "GPUDirect RDMA"},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, "GPUDirect RDMA with VMM"},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
     "GPUDirect RDMA flush (1: by the host, 2: by streams)"},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
     "GPUDirect RDMA ordering (0: none, 100: its own, 200: all)"},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "stream memory operations of 64 bits"},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, "cooperative launch"},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, "IPC events"},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, "multicast"},
};

__global__ void store(volatile uint64_t *at, uint64_t value)
{
    *at = value;
}

// Whether a kernel's store at the device's address is visible at the host's.
bool reaches(void *device, void *host, const char **step, const char **why)
{
    auto *seen = static_cast<volatile uint64_t *>(host);
    *seen = 0;
    store<<<1, 1>>>(static_cast<volatile uint64_t *>(device), 7);
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        *step = "store from a kernel", *why = cudaGetErrorString(e);
        return false;
    }
    if (*seen != 7) {
        *step = "store from a kernel", *why = "the host does not see it";
        return false;
    }
    return true;
}

void try_pinned()
{
    const char *step = nullptr, *why = nullptr;
    void *host = nullptr, *device = nullptr;
    cudaError_t e = cudaHostAlloc(&host, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    if (e == cudaSuccess)
        e = cudaHostGetDevicePointer(&device, host, 0);
    if (e != cudaSuccess)
        step = "cudaHostAlloc", why = cudaGetErrorString(e);
    else
        reaches(device, host, &step, &why);
    tried("try pinned memory", step, why);
    if (step == nullptr)
        fact("pinned memory has one address", device == host ? "yes" : "no");
    cudaFreeHost(host);
}

// Like the library's heap: a file in memory that several processes map.
void try_registered()
{
    const char *step = nullptr, *why = nullptr;
    void *device = nullptr;
    int fd = memfd_create("facts", MFD_CLOEXEC);
    void *host = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, bytes) == 0)
        host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (host == MAP_FAILED)
        give_up("map a memfd", strerror(errno));
    cudaError_t e =
        cudaHostRegister(host, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
    if (e != cudaSuccess) {
        step = "cudaHostRegister", why = cudaGetErrorString(e);
    } else {
        e = cudaHostGetDevicePointer(&device, host, 0);
        if (e != cudaSuccess)
            step = "cudaHostGetDevicePointer", why = cudaGetErrorString(e);
        else
            reaches(device, host, &step, &why);
        cudaHostUnregister(host);
    }
    tried("try a registered memfd", step, why);
    munmap(host, bytes);
    close(fd);
}

void try_managed()
{
    const char *step = nullptr, *why = nullptr;
    void *at = nullptr;
    cudaError_t e = cudaMallocManaged(&at, bytes);
    if (e != cudaSuccess)
        step = "cudaMallocManaged", why = cudaGetErrorString(e);
    else
        reaches(at, at, &step, &why);
    tried("try managed memory", step, why);
    cudaFree(at);
}

// A dma-buf of device memory, and whether the host can map it: GPU memory that
// the CPU stores to, through the BAR. Flag 1 asks for a mapping over PCIe.
void try_dmabuf(const char *kind, CUdeviceptr at, unsigned long long flags)
{
    char name[96];
    const char *step = nullptr, *why = nullptr;
    int fd = -1;
    auto get = DRIVER(cuMemGetHandleForAddressRange, 11070);
    snprintf(name, sizeof name, "try dma-buf of %s, flags %llu", kind, flags);
    if (get == nullptr) {
        tried(name, "cuMemGetHandleForAddressRange", "the driver has none");
        return;
    }
    CUresult r = get(&fd, at, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
    if (r != CUDA_SUCCESS)
        step = "cuMemGetHandleForAddressRange", why = reason(r);
    tried(name, step, why);
    if (step != nullptr)
        return;
    void *host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (host == MAP_FAILED)
        step = "mmap", why = strerror(errno);
    else
        reaches(reinterpret_cast<void *>(at), host, &step, &why);
    strncat(name, ", mapped by the host", sizeof name - strlen(name) - 1);
    tried(name, step, why);
    if (host != MAP_FAILED)
        munmap(host, bytes);
    close(fd);
}

void try_device(int device)
{
    void *plain = nullptr;
    cudaError_t e = cudaMalloc(&plain, bytes);
    tried("try device memory", e == cudaSuccess ? nullptr : "cudaMalloc", cudaGetErrorString(e));
    if (e != cudaSuccess)
        return;
    cudaIpcMemHandle_t handle;
    e = cudaIpcGetMemHandle(&handle, plain);
    tried("try an IPC handle", e == cudaSuccess ? nullptr : "cudaIpcGetMemHandle",
          cudaGetErrorString(e));
    for (unsigned long long flags = 0; flags < 2; flags++)
        try_dmabuf("device memory", reinterpret_cast<CUdeviceptr>(plain), flags);
    cudaFree(plain);

    auto create = DRIVER(cuMemCreate, 10020);
    auto reserve = DRIVER(cuMemAddressReserve, 10020);
    auto map = DRIVER(cuMemMap, 10020);
    auto access = DRIVER(cuMemSetAccess, 10020);
    auto unmap = DRIVER(cuMemUnmap, 10020);
    auto release = DRIVER(cuMemRelease, 10020);
    auto leave = DRIVER(cuMemAddressFree, 10020);
    auto give = DRIVER(cuMemExportToShareableHandle, 10020);
    if (!create || !reserve || !map || !access || !unmap || !release || !leave || !give) {
        tried("try virtual memory management", "cuMemCreate", "the driver has none");
        return;
    }
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.allocFlags.gpuDirectRDMACapable = 1;
    CUmemGenericAllocationHandle memory;
    CUresult r = create(&memory, bytes, &prop, 0);
    tried("try virtual memory management, for RDMA", r == CUDA_SUCCESS ? nullptr : "cuMemCreate",
          reason(r));
    if (r != CUDA_SUCCESS)
        return;
    int fd = -1;
    r = give(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    tried("try a handle as a descriptor",
          r == CUDA_SUCCESS ? nullptr : "cuMemExportToShareableHandle", reason(r));
    if (r == CUDA_SUCCESS)
        close(fd);
    CUdeviceptr at = 0;
    CUmemAccessDesc desc = {};
    desc.location = prop.location;
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (reserve(&at, bytes, 0, 0, 0) == CUDA_SUCCESS) {
        if (map(at, bytes, 0, memory, 0) == CUDA_SUCCESS) {
            r = access(at, bytes, &desc, 1);
            tried("try mapped memory", r == CUDA_SUCCESS ? nullptr : "cuMemSetAccess", reason(r));
            if (r == CUDA_SUCCESS)
                for (unsigned long long flags = 0; flags < 2; flags++)
                    try_dmabuf("mapped memory", at, flags);
            unmap(at, bytes);
        }
        leave(at, bytes);
    }
    release(memory);
}

void try_flush()
{
    auto flush = DRIVER(cuFlushGPUDirectRDMAWrites, 11030);
    CUresult r = flush == nullptr ? CUDA_ERROR_NOT_SUPPORTED
                                  : flush(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
    tried("try a flush of GPUDirect RDMA writes",
          r == CUDA_SUCCESS ? nullptr : "cuFlushGPUDirectRDMAWrites", reason(r));
}

void describe(int device)
{
    char text[512];
    cudaDeviceProp prop;
    need(cudaSetDevice(device), "set the device");
    need(cudaGetDeviceProperties(&prop, device), "read the device's properties");
    snprintf(text, sizeof text, "%s, sm_%d%d, %zu MiB", prop.name, prop.major, prop.minor,
             prop.totalGlobalMem >> 20);
    fact("GPU", text);
    need(cudaDeviceGetPCIBusId(text, sizeof text, device), "read the device's bus id");
    fact("bus id", text);
    auto get = DRIVER(cuDeviceGetAttribute, 2000);
    if (get == nullptr)
        give_up("find cuDeviceGetAttribute", "the driver has none");
    for (const attribute &a : attributes) {
        int value = 0;
        CUresult r = get(&value, a.number, device);
        snprintf(text, sizeof text, "%d", value);
        fact(a.name, r == CUDA_SUCCESS ? text : reason(r));
    }
    int devices = 0;
    need(cudaGetDeviceCount(&devices), "count the devices");
    for (int other = 0; other < devices; other++) {
        int peer = 0;
        if (other == device || cudaDeviceCanAccessPeer(&peer, device, other) != cudaSuccess)
            continue;
        snprintf(text, sizeof text, "reaches the memory of GPU %d", other);
        fact(text, peer ? "1" : "0");
    }
    try_pinned();
    try_registered();
    try_managed();
    try_device(device);
    try_flush();
}

// The first line of a file, or the number of files that match a pattern.
void machine()
{
    char line[200];
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    if (f != nullptr && fgets(line, sizeof line, f) != nullptr) {
        line[strcspn(line, "\n")] = 0;
        fact("kernel module", line);
    }
    if (f != nullptr)
        fclose(f);
    fact("GDRCopy's device", access("/dev/gdrdrv", R_OK | W_OK) == 0 ? "yes" : strerror(errno));
    fact("peer memory module", access("/sys/module/nvidia_peermem", F_OK) == 0 ? "yes" : "no");
    glob_t found;
    for (const char *pattern : {"/sys/class/infiniband/*", "/sys/devices/system/node/node[0-9]*"}) {
        bool some = glob(pattern, 0, nullptr, &found) == 0;
        snprintf(line, sizeof line, "%zu", some ? found.gl_pathc : 0);
        fact(pattern, line);
        if (some)
            globfree(&found);
    }
    snprintf(line, sizeof line, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    fact("processors", line);
}

void version(const char *what, int number)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d", number / 1000, number % 1000 / 10);
    fact(what, text);
}

} // namespace

int main()
{
    int devices = 0, number = 0;
    need(cudaRuntimeGetVersion(&number), "read the run time's version");
    version("CUDA of the run time", number);
    need(cudaDriverGetVersion(&number), "read the driver's version");
    version("CUDA of the driver", number);
    if (number == 0)
        give_up("find NVIDIA's driver", "there is none on this machine");
    need(cudaGetDeviceCount(&devices), "count the devices");
    machine();
    for (int device = 0; device < devices; device++)
        describe(device);
    return 0;
}
