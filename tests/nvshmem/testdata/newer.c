/* The symbol of headers of a later release. */
int nvshmemi_headers_release = 31002;
