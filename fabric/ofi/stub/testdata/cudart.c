/*
 * cudart.c: stands for CUDA's libraries. It notes each call in the file that CUDA_CALLS names.
 */
#include <stdio.h>
#include <stdlib.h>

static void called(const char *name)
{
    FILE *f = fopen(getenv("CUDA_CALLS"), "a");
    if (f == NULL)
        abort();
    fprintf(f, "%s\n", name);
    fclose(f);
}

int cudaMalloc(void **p, size_t n)
{
    called("cudaMalloc");
    *p = malloc(n);
    return 0;
}

int cudaFree(void *p)
{
    called("cudaFree");
    free(p);
    return 0;
}

int cudaMemcpy(void *to, const void *from, size_t n, int direction)
{
    (void)to, (void)from, (void)n, (void)direction;
    called("cudaMemcpy");
    return 0;
}
