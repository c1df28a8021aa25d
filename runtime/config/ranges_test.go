package config

import (
	"strings"
	"testing"
)

// The words are those of NVSHMEM's setting, and mean the same, but for the word of calls that do
// not exist here.
func TestRanges(t *testing.T) {
	if len(rangeWords) != 13+3 || rangesAll != 1<<13-1 {
		t.Fatalf("%d words for groups %b", len(rangeWords), rangesAll)
	}
	for _, tt := range []struct {
		env  string
		want Ranges
	}{
		{"", 0},
		{"SHMEM_NVTX=", 0},
		{"SHMEM_NVTX=off", 0},
		{"SHMEM_NVTX=init", RangeInit},
		{"SHMEM_NVTX=Init,PROXY", RangeInit | RangeProxy},
		{"NVSHMEM_NVTX=wait_on_stream, rma_nonblocking", RangeWaitOnStream | RangeRMANonblocking},
		{"NVSHMEM_NVTX=init,launch,Coll", RangeInit | RangeColl},
		{"NVSHMEM_NVTX=launch", 0},
		{"SHMEM_NVTX=common", rangesAll &^ (RangeWaitOnStream | RangeTest | RangeQuietOnStream | RangeAtomicSet | RangeRMANonblocking)},
		{"SHMEM_NVTX=common,test", rangesCommon | RangeTest},
		{"SHMEM_NVTX=all", rangesAll},
		{"SHMEM_NVTX=all,off", 0},
	} {
		var env []string
		if tt.env != "" {
			env = []string{tt.env}
		}
		if c, warnings, err := Parse(env); err != nil || len(warnings) > 0 || c.Ranges != tt.want {
			t.Errorf("%s: %b, %v, %v, want %b", tt.env, c.Ranges, warnings, err, tt.want)
		}
	}
	if _, warnings, err := Parse([]string{"NVSHMEM_NVTX=init,rma"}); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), `ignored, there is no "rma" (set SHMEM_NVTX)`) {
		t.Errorf("%v, %v", warnings, err)
	}
	_, _, err := Parse([]string{"SHMEM_NVTX=init,rma"})
	if err == nil || !strings.Contains(err.Error(), `SHMEM_NVTX="init,rma": there is no "rma" (use words separated by commas: init, alloc, coll, wait, wait_on_stream, test, memorder, quiet_on_stream, atomic_fetch, atomic_set, rma_blocking, rma_nonblocking, proxy, off, common, all, or unset it for off)`) {
		t.Errorf("%v", err)
	}
}
