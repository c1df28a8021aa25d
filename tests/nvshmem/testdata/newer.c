/* What headers of a later release say. */
int nvshmemi_headers_release = 31002;
