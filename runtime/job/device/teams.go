package device

// A TeamTable shows the kernels of this PE which teams there are. It owns the entries of the table
// that a handle indexes, in GPU memory that its caller provides. The front makes the teams. Any
// goroutine may call it. An entry is written after its list of PEs, and a program passes a handle
// to a kernel after both.

import (
	"fmt"
	"sync"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// TeamTable shows teams to kernels of this PE: a table, which the handle of a team indexes, and
// lists of PEs for teams without a stride. The host keeps a copy, because teams may exist before
// kernels do.
type TeamTable struct {
	pes   int // of the job
	areas TeamAreas
	put   func(to gpu.Address, from []byte) error
	clear func(offset, n uint64) error // of this PE's user heap

	mu    sync.Mutex
	teams map[int]shownTeam // by slot
	used  map[int]bool      // slots that a team has used: Renew has to reset their counters and flags
	table gpu.Address       // for kernels; 0: there are none yet
	lists gpu.Address
}

// TeamAreas locates the memory of teams in the user heap.
type TeamAreas struct {
	Heap         gpu.Address // as kernels of this PE address it
	Offset, Size uint64      // of the first one, and of each
	Count        uint64
}

// shownTeam is the host's copy of a team's entry and list in the table for kernels.
type shownTeam struct {
	entry queue.Team
	pes   []int32 // for teams without a stride
}

// newTeamTable returns an empty table for a job of `pes` PEs. put writes to memory of the GPU, and
// clear zeroes a part of this PE's user heap.
func newTeamTable(pes int, a TeamAreas, put func(to gpu.Address, from []byte) error, clear func(offset, n uint64) error) *TeamTable {
	return &TeamTable{pes: pes, areas: a, put: put, clear: clear, teams: map[int]shownTeam{}, used: map[int]bool{}}
}

const teamEntryBytes = uint64(unsafe.Sizeof(queue.Team{}))

// ListBytes returns the size of the longest list of PEs of a team, in bytes.
func (t *TeamTable) ListBytes() uint64 { return 4 * uint64(t.pes) }

// Show writes the team of a slot to the table that kernels read. pes are the PEs of a team without
// a stride; nil for others. The team gets the slot's work area in the heap, if there is one.
func (t *TeamTable) Show(slot int, entry queue.Team, pes []int32) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.areas; uint64(slot) < a.Count {
		entry.Work, entry.WorkSize = uint64(a.Heap)+a.Offset+uint64(slot)*a.Size, a.Size
	}
	team := shownTeam{entry, append([]int32(nil), pes...)}
	t.teams[slot], t.used[slot] = team, true
	return t.write(slot, team)
}

// Hide removes the team of a slot from the kernels' table.
func (t *TeamTable) Hide(slot int) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.teams, slot)
	return t.write(slot, shownTeam{})
}

// Renew resets the counters and flags of a slot that a team has used. All PEs of the next team call
// it before any of them has the team's handle, and when no collective of the last team is under
// way.
func (t *TeamTable) Renew(slot int) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.used[slot] || uint64(slot) >= t.areas.Count {
		return nil
	}
	// WorkBuffers is the size of the counters and flags, which precede the buffers.
	return t.clear(t.areas.Offset+uint64(slot)*t.areas.Size, queue.WorkBuffers(t.pes))
}

// Begin is called when the memory that kernels read exists. table is the GPU address of the table
// of teams, and lists that of the PE lists of teams without a stride. Begin writes the teams that
// exist already; from now on Show writes each new team there, too.
func (t *TeamTable) Begin(table, lists gpu.Address) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table, t.lists = table, lists
	for slot, team := range t.teams {
		if err := t.write(slot, team); err != nil {
			return err
		}
	}
	return nil
}

// End is called when the memory that kernels read is about to be freed: from now on nothing is
// written there.
func (t *TeamTable) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table, t.lists = 0, 0
}

// write writes the PE list of a team without a stride, and then the team's entry in the table,
// which points to the list. It does nothing while the table does not exist.
func (t *TeamTable) write(slot int, team shownTeam) error {
	if t.table == 0 {
		return nil
	}
	if team.pes != nil {
		list := t.lists + gpu.Address(uint64(slot)*t.ListBytes())
		if err := t.put(list, unsafe.Slice((*byte)(unsafe.Pointer(&team.pes[0])), 4*len(team.pes))); err != nil {
			return fmt.Errorf("pass the PEs of a team to kernels: %w", err)
		}
		team.entry.PEs = list.Pointer()
	}
	if err := t.put(t.table+gpu.Address(uint64(slot)*teamEntryBytes), (*[teamEntryBytes]byte)(unsafe.Pointer(&team.entry))[:]); err != nil {
		return fmt.Errorf("tell kernels of a team: %w", err)
	}
	return nil
}
