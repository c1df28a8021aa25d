/*
 * traced.cu: host calls of a program of NVSHMEM that libshmem_preload.so records: traced DIR has
 * the files of its PEs there, which it polls at after the PEs have ended.
 */
#include "../../../bench/gpu/forked.h"

#include <cuda_runtime.h>
#include <fstream>
#include <sstream>
#include <string>

static void take_gpu(int pe)
{
    int n = 1;
    if (cudaGetDeviceCount(&n) != cudaSuccess || cudaSetDevice(pe % n) != cudaSuccess)
        end_forked("choose a GPU", cudaGetErrorString(cudaGetLastError()));
}

static void calls()
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), got = -1;
    int *word = (int *)nvshmem_malloc(4096);
    nvshmem_barrier_all();
    int mine = 100 + me;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *source = word + 64;
    cudaMemcpy(source, &mine, sizeof mine, cudaMemcpyHostToDevice);
    nvshmemx_int_put_on_stream(word, source, 1, (me + 1) % n, stream);
    nvshmemx_barrier_all_on_stream(stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(&got, word, sizeof got, cudaMemcpyDeviceToHost);
    if (got != 100 + (me + n - 1) % n)
        end_forked("put", "another value has come");
    nvshmem_free(word);
    nvshmem_finalize();
}

int main(int argc, char **argv)
{
    const char *pes = getenv("PES");
    int n = pes ? atoi(pes) : 1;
    if (argc < 2)
        end_forked("traced", "name the directory of the trace");
    pid_t job = fork();
    if (job == 0) {
        start_forked(n, take_gpu);
        calls();
        exit(0);
    }
    int status = 0, failed = 0;
    waitpid(job, &status, 0);
    const char *wanted[] = {"nvshmemid_hostlib_init_attr",
                            "nvshmem_my_pe",
                            "nvshmem_malloc",
                            "nvshmem_barrier_all",
                            "nvshmemx_int_put_on_stream",
                            "nvshmemx_barrier_all_on_stream",
                            "nvshmem_free",
                            "nvshmemid_hostlib_finalize"};
    int checks = 0;
    for (int pe = 0; pe < n; ++pe) {
        std::string name = std::string(argv[1]) + "/" + std::to_string(pe) + ".json";
        std::stringstream text;
        text << std::ifstream(name).rdbuf();
        size_t at = 0;
        for (const char *call : wanted) {
            ++checks;
            size_t found =
                text.str().find(std::string("{\"ph\":\"X\",\"name\":\"") + call + "\"", at);
            if (found == std::string::npos) {
                printf("%s: no %s behind what is wanted before it\n", name.c_str(), call);
                ++failed;
            } else {
                at = found;
            }
        }
    }
    failed += status != 0;
    printf("%d passed, %d failed\n", checks + 1 - failed, failed);
    return failed != 0;
}
