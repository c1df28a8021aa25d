/*
 * nvml.c: stands for NVML, which the provider uses where it finds it. It notes that it was loaded.
 */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void)
{
    FILE *f = fopen(getenv("CUDA_CALLS"), "a");
    if (f == NULL)
        abort();
    fprintf(f, "libnvidia-ml.so.1\n");
    fclose(f);
}
