package main

import (
	"strings"
	"testing"

	"libshmem/capi/spec"
)

// TestBitcode: functions of the bitcode library take 16-bit values as such, share the code of types
// that are alike, and let threads take turns only in collectives of one thread.
func TestBitcode(t *testing.T) {
	text := bitcodeFile(spec.Nvshmem).Text
	for _, line := range []string{
		"SHMEMI_BITCODE void nvshmem_half_p(__half *dest, __fp16 value, int pe) { return shmemi_p<__half>(SHMEMI_JOB, ",
		"SHMEMI_BITCODE __bf16 nvshmem_bfloat16_g(const __nv_bfloat16 *source, int pe) { return shmemi_g<__nv_bfloat16>(SHMEMI_JOB, ",
		"SHMEMI_BITCODE void nvshmem_long_put(int64_t *dest, const int64_t *source, size_t nelems, int pe) { return shmemi_put<shmemi_by_thread, 0>(",
		"SHMEMI_BITCODE void nvshmem_barrier_all() { struct shmemi_turn turn = shmemi_turn_begin(SHMEMI_JOB, 0x4a1dbe23u, SHMEMI_TEAM_WORLD); return (void)shmemi_turn_end(&turn, turn.mine ? shmemi_sync<shmemi_by_thread, 1>(",
		"SHMEMI_BITCODE void nvshmemx_barrier_all_block() { return (void)shmemi_sync<shmemi_by_block, 1>(",
		"SHMEMI_BITCODE int nvshmemx_barrier_warpgroup(nvshmem_team_t team) { return shmemi_sync<shmemi_by_warpgroup, 1>(",
		"nvshmem_float_sum_reduce(nvshmem_team_t team, float *dest, const float *source, size_t nreduce) { struct shmemi_turn turn = shmemi_turn_begin(SHMEMI_JOB, 0x",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the functions lack %s", line)
		}
	}
}
