/*
 * load.h: how the harness loads the driver and the plugin. It uses the variables of harness.c.
 */
/* Starts the driver. */
static int load_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        fprintf(stderr, "harness: %s\n", dlerror());
        return -1;
    }
    int (*init)(unsigned);
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&cuda_retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&cuda_current = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&cuda_alloc = dlsym(driver, "cuMemAlloc_v2");
    return init && cuda_retain && cuda_current && cuda_alloc ? init(0) : -1;
}

/* Loads a version's table into the face of version 16, whose members stand in another order. */
static int load(const char *library)
{
    char name[32];
    if (gpu && load_driver() != 0)
        return -1;
    void *plugin = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "harness: %s\n", dlerror());
        return -1;
    }
    snprintf(name, sizeof name, "ncclRmaPlugin_v%d", version);
    const void *table = dlsym(plugin, name);
    if (table == NULL) {
        fprintf(stderr, "harness: %s\n", dlerror());
        return -1;
    }
    if (version == 16) {
        n = *(const struct nccl_rma_v16 *)table;
        return 0;
    }
    v13 = table;
    v14 = table;
    /* Version 16 has one function more, before get_properties; 13 to 15 differ in types alone. */
    size_t rest = offsetof(struct nccl_rma_v15, get_properties);
    memcpy(&n, table, rest);
    memcpy((char *)&n + offsetof(struct nccl_rma_v16, get_properties), (const char *)table + rest,
           sizeof(struct nccl_rma_v15) - rest);
    /* Once more, as for a second communicator after the last one has ended. */
    return dlclose(plugin) == 0 && dlopen(library, RTLD_NOW | RTLD_LOCAL) ? 0 : -1;
}
