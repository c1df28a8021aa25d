/* A library of the soname, as the wheel of NVSHMEM has one. */
void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch);

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = *minor = *patch = -1;
}
