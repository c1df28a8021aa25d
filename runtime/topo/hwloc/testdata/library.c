/*
 * library.c: a library that stands for hwloc. It calls the program in its init. The function that
 * the variable FAILS names fails; without the variable, init does.
 */
#include <stdlib.h>
#include <string.h>

void observe(void);

/* Returns what a function of the library returns. */
static int result(const char *function)
{
    const char *fails = getenv("FAILS");
    return strcmp(function, fails ? fails : "hwloc_topology_init") == 0 ? -1 : 0;
}

int hwloc_topology_init(void **topology)
{
    (void)topology;
    observe();
    return result(__func__);
}

unsigned hwloc_get_api_version(void)
{
    return 0x20900; /* the interface of hwloc 2.9 */
}

int hwloc_topology_set_flags(void)
{
    return result(__func__);
}
int hwloc_topology_set_all_types_filter(void)
{
    return result(__func__);
}
int hwloc_topology_set_type_filter(void)
{
    return result(__func__);
}
int hwloc_topology_load(void)
{
    return result(__func__);
}
int hwloc_topology_export_xmlbuffer(void)
{
    return result(__func__);
}
void hwloc_free_xmlbuffer(void)
{
}
void hwloc_topology_destroy(void)
{
}
