/*
 * cases.h: programs of which each run makes one call, by its name.
 */
#ifndef CASES_H
#define CASES_H

#include "go.h"

#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, n;
static long *block; /* 10 elements */
__attribute__((unused)) static _Thread_local long here[10];

/* CASE(name) { ... } is a case. */
struct one {
    const char *name;
    void (*run)(void);
    struct one *next;
};
static struct one *cases;

#define CASE(what)                                                                                 \
    static void what(void);                                                                        \
    __attribute__((constructor)) static void add_##what(void)                                      \
    {                                                                                              \
        static struct one it = {.name = #what, .run = what};                                       \
        it.next = cases;                                                                           \
        cases = &it;                                                                               \
    }                                                                                              \
    static void what(void)

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    block = shmem_calloc(10, sizeof *block);
    for (struct one *c = cases; c != NULL; c = c->next)
        if (strcmp(what, c->name) == 0)
            c->run();
    shmem_finalize();
    return 0;
}

#endif
