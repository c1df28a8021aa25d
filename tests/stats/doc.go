// Package stats looks at what jobs count as a user does: by SHMEM_STATS, by
// shmem-info --live, and at what SHMEM_REQUIRE refuses.
package stats
