/*
 * library.c: a library that stands for hwloc. It calls the program in its init, and fails.
 */
void observe(void);

int hwloc_topology_init(void **topology)
{
    (void)topology;
    observe();
    return -1;
}

unsigned hwloc_get_api_version(void)
{
    return 0x20900;
}

int hwloc_topology_set_flags(void)
{
    return -1;
}
int hwloc_topology_set_all_types_filter(void)
{
    return -1;
}
int hwloc_topology_set_type_filter(void)
{
    return -1;
}
int hwloc_topology_load(void)
{
    return -1;
}
int hwloc_topology_export_xmlbuffer(void)
{
    return -1;
}
void hwloc_free_xmlbuffer(void)
{
}
void hwloc_topology_destroy(void)
{
}
