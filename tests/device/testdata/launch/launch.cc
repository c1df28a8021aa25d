/*
 * launch.cc: calls of the collective launches that fail, by each of their names.
 */
#define __CUDACC__ 1
#include "apis.h"

int main(void)
{
    int most = 0;
    refused = cudaErrorInvalidValue;
    nvshmemx_collective_launch_attr_t attr = {};
    for (held = -1; held < 2; held++) { /* a query that fails, no block fits, a launch that fails */
        shmemx_collective_launch_query_gridsize(NULL, 64, NULL, 0, &most);
        shmemx_collective_launch(NULL, 1, 1024, NULL, 0, NULL);
        nvshmemx_collective_launch_query_gridsize(NULL, 64, NULL, 0, &most);
        nvshmemx_collective_launch(NULL, 1, 64, NULL, 0, NULL);
        nvshmemx_collective_launch_attr(&attr, NULL, NULL);
    }
    held = 1;
    shmemx_collective_launch(NULL, 2, 64, NULL, 0, NULL);
    nvshmemx_collective_launch(NULL, 2, 64, NULL, 0, NULL);
    nvshmemx_collective_launch_attr(NULL, NULL, NULL);
    return 0;
}
