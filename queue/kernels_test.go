package queue

import (
	"strings"
	"testing"
)

func TestCallName(t *testing.T) {
	names := strings.Fields(calls)
	for _, name := range []string{names[0], names[len(names)/2], names[len(names)-1], "shmem_int_p"} {
		if got := CallName(callNumber(name)); got != name {
			t.Errorf("CallName(%#x) = %q, want %q", callNumber(name), got, name)
		}
	}
	if n := callNumber("foobar"); n != 0xbf9cf968 { // as capi/spec, and as FNV's own test
		t.Errorf("the number of foobar is %#x, want 0xbf9cf968", n)
	}
	for _, n := range []uint32{0, callNumber(names[0]) + 1, 0xffffffff} {
		if got := CallName(n); got != "" {
			t.Errorf("CallName(%#x) = %q, want none", n, got)
		}
	}
}

// TestWorkSize: the buffers of a few PEs have the largest size, those of many PEs share the space,
// and each PE has at least what it needs.
func TestWorkSize(t *testing.T) {
	for pes, chunk := range map[int]uint64{1: WorkMost, 32: WorkMost, 33: WorkMost / 2, 1024: 2048, 1 << 20: WorkLeast} {
		if got := WorkChunk(pes); got != chunk {
			t.Errorf("WorkChunk(%d) = %d, want %d", pes, got, chunk)
		}
	}
	if got := WorkSize(2); got != 512+4*WorkPacked+4*WorkMost {
		t.Errorf("WorkSize(2) = %d, want %d", got, 512+4*WorkPacked+4*WorkMost)
	}
	if got := WorkTeamSize(2); got != 512+4*WorkPacked+WorkTeam {
		t.Errorf("WorkTeamSize(2) = %d, want %d", got, 512+4*WorkPacked+WorkTeam)
	}
	if got, want := WorkTeamSize(1000), WorkBuffers(1000)+2*1000*WorkLeast; got != uint64(want) {
		t.Errorf("WorkTeamSize(1000) = %d, want %d", got, want)
	}
}
