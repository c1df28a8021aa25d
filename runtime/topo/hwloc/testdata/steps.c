/*
 * steps.c: makes each function of the library that stands for hwloc fail, and prints which one is
 * said to have failed.
 */
#define _GNU_SOURCE
#include "../load.h"

#include <stdio.h>
#include <stdlib.h>

/* Called by the library's init. */
void observe(void)
{
}

int main(int argc, char **argv)
{
    static const char *const functions[] = {
        "hwloc_topology_init",
        "hwloc_topology_set_flags",
        "hwloc_topology_set_all_types_filter",
        "hwloc_topology_set_type_filter",
        "hwloc_topology_load",
        "hwloc_topology_export_xmlbuffer",
    };
    char why[200];
    const char *step;
    int len;
    if (argc < 2 || shmemi_hwloc_open(argv[1], why, sizeof why) == 0)
        return 1;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        setenv("FAILS", functions[i], 1);
        if (shmemi_hwloc_read(&len, &step) != NULL)
            return 1;
        printf("%s: %s\n", functions[i], step);
    }
    return 0;
}
