/*
 * units.c: registers translation units with kernels, for programs that are linked with this library
 * and not with libshmem.so.
 */
struct shmemi_unit;

/* Defined in libshmem.so; device/shmem/unit.h declares them. */
void shmemi_device_register(struct shmemi_unit *unit);
void shmemi_device_unregister(struct shmemi_unit *unit);

#pragma GCC visibility push(default)
void nvshmemi_device_register(struct shmemi_unit *unit);
void nvshmemi_device_unregister(struct shmemi_unit *unit);
#pragma GCC visibility pop

/* Registers a file's kernels: the constructor of an NVSHMEM program's file calls it. */
void nvshmemi_device_register(struct shmemi_unit *unit)
{
    shmemi_device_register(unit);
}

/* Ends the registration of a file's kernels, when its library is unloaded. */
void nvshmemi_device_unregister(struct shmemi_unit *unit)
{
    shmemi_device_unregister(unit);
}
