package device

import (
	"testing"

	"libshmem/queue"
	"libshmem/runtime/job/area"
)

// TestTeamAreas: there are hundreds of teams in a job of a GPU server. There are fewer if each
// takes much or the heap is small, and never too few for a program to use.
func TestTeamAreas(t *testing.T) {
	for _, c := range []struct {
		pes         int
		teams, heap uint64
		want        uint64
	}{
		{2, 512, 1 << 30, 512},
		{16, 512, 1 << 30, 512},
		{128, 512, 1 << 30, 512},
		{2, 512, 64 << 20, 199},
		{2, 512, 1 << 20, area.FewestTeams},
		{1 << 20, area.FewestTeams, 1 << 30, area.FewestTeams},
		{2, 3, 1 << 30, 3},
	} {
		if got := teamAreas(c.pes, c.teams, c.heap); got != c.want {
			t.Errorf("%d PEs, %d teams, a heap of %d: memory for %d teams, want %d", c.pes, c.teams, c.heap, got, c.want)
		}
	}
	if got := teamAreas(1000, 512, 1<<30); got < 100 || got*queue.WorkTeamSize(1000) > teamWork {
		t.Errorf("1000 PEs: memory for %d teams of %d bytes", got, queue.WorkTeamSize(1000))
	}
}
