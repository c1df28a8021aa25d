// Package stats reads the counters of jobs as a user does: by SHMEM_STATS, by shmem-info --live,
// and tests the refusals of SHMEM_REQUIRE.
package stats
