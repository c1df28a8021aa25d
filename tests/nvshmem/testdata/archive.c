/* The function that NVIDIA's archive of device code calls when a program begins. */
#include <nvshmem.h>

#include <stdio.h>

extern int nvshmem_selected_device_transport;
int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*state)(void *, void *));
int nvshmemid_init_status(void);

int main(void)
{
    int provided;
    nvshmemi_version_t archive = {3, 7, 2};
    if (nvshmemid_init_status() != 0 || nvshmem_selected_device_transport != 0)
        return 2;
    if (nvshmemid_hostlib_init_attr(0, &provided, 0, NULL, archive, NULL) == 0)
        return 3;
    printf("PE 0 passed\n");
    return 0;
}
