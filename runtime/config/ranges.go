package config

import "slices"

// The groups of calls that the words "all" and "common" of SHMEM_NVTX select.
const (
	rangesAll    = RangeProxy<<1 - 1
	rangesCommon = RangeInit | RangeAlloc | RangeColl | RangeWait | RangeMemOrder | RangeAtomicFetch | RangeRMABlocking | RangeProxy
)

// RangesInline are the groups of calls that have an inline fast path, which opens no NVTX ranges.
// If a profiler is to show one of these groups, their calls must not use the fast path.
const RangesInline = RangeAtomicFetch | RangeAtomicSet | RangeRMABlocking | RangeRMANonblocking

// rangesOff is the word of SHMEM_NVTX for no ranges.
const rangesOff = "off"

// rangeWords are the words of SHMEM_NVTX: a word for each group, and then those for several.
var rangeWords = []string{
	"init", "alloc", "coll", "wait", "wait_on_stream", "test", "memorder", "quiet_on_stream",
	"atomic_fetch", "atomic_set", "rma_blocking", "rma_nonblocking", "proxy", rangesOff, "common", everything,
}

// nvshmemRangeWords are the words of NVSHMEM_NVTX: those of SHMEM_NVTX, and one for the launches of
// kernels, for which this library has no group.
var nvshmemRangeWords = func() map[string]string {
	words := map[string]string{"launch": ""}
	for _, w := range rangeWords {
		words[w] = w
	}
	return words
}()

// rangesOf returns the groups of NVTX ranges that the words of SHMEM_NVTX select, as bits.
func rangesOf(words []string) (groups Ranges) {
	for _, w := range words {
		switch w {
		case rangesOff:
			return 0
		case "common":
			groups |= rangesCommon
		case everything:
			groups |= rangesAll
		default:
			groups |= 1 << slices.Index(rangeWords, w) // the words of single groups are in the order of the bits
		}
	}
	return groups
}
