/* table.c: loads the library with the GPU's producers, and calls functions of a table of producers.
 */
#include "consume.h"

#include <dlfcn.h>
#include <stdio.h>

const struct bench_producer *bench_load_gpu(const char *path, char *why, int size)
{
    const struct bench_producer *(*get)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
        *(void **)&get = dlsym(library, "bench_gpu");
    if (get == NULL) {
        snprintf(why, (size_t)size, "%s", dlerror());
        return NULL;
    }
    return get();
}

int bench_open(const struct bench_producer *p, int device)
{
    return p->open(device);
}

const char *bench_error(const struct bench_producer *p)
{
    return p->error();
}

int bench_push(const struct bench_producer *p, int load, uint32_t blocks, uint32_t threads,
               uint64_t each, const struct bench_target *target)
{
    return p->push(load, blocks, threads, each, target);
}

int bench_ack(const struct bench_producer *p, int kind, uint32_t count,
              const struct bench_target *target, uint64_t *samples)
{
    return p->ack(kind, count, target, samples);
}

int bench_paced(const struct bench_producer *p, uint64_t start, uint64_t period_ps, uint64_t count,
                const struct bench_target *target)
{
    return p->paced(start, period_ps, count, target);
}

int bench_clock_of(const struct bench_producer *p, struct bench_clock *clock)
{
    return p->clock(clock);
}

int bench_wait(const struct bench_producer *p)
{
    return p->wait();
}
