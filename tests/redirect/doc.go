// Package redirect runs programs that were built against Open MPI's OSHMEM on libshmem, by
// libshmem_preload.so, and compares their output with that of Open MPI. It holds the table of
// differences against the headers of both.
package redirect
