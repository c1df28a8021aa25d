// A kernel that calls nothing: the cost of the headers alone.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void empty(int *at)
{
    *at = 1;
}
