// Package ring runs the producers' own code, device/shmem/ring.h, compiled for the host: its codec
// against Go's, its counters over every wrap, host threads in place of GPU threads with and without
// ThreadSanitizer, and processes that are killed in the middle. The consumers are that of package
// queue and one in C, which ThreadSanitizer can see.
package ring
