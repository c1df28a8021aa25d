package job

import (
	"fmt"
	"sync"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
)

const (
	// teamWork is the most memory of a heap for collectives of kernels on teams, and teamShare the
	// largest part of the heap for it. Teams of many PEs need more each, so there may be fewer of
	// them for kernels than for the host.
	teamWork  = 16 << 20
	teamShare = 16
)

// teamAreas returns how many teams of a job get memory for collectives of kernels.
func teamAreas(pes int, teams, heap uint64) uint64 {
	each := queue.WorkTeamSize(pes)
	return min(teams, max(min(teamWork, heap/teamShare)/each, fewestTeams))
}

// teams has what kernels of this PE know of teams: a table, which the handle of a team indexes, and
// lists of PEs for teams without a stride. The host keeps a copy, because teams may exist before
// kernels do.
type teams struct {
	pes   int // of the job
	areas areas
	put   func(to gpu.Address, from []byte) error
	clear func(offset, n uint64) error // of this PE's user heap

	mu    sync.Mutex
	known map[int]known // by slot
	worn  map[int]bool  // slots whose memory a team has used
	table gpu.Address   // for kernels; 0: there are none yet
	lists gpu.Address
}

// areas is where teams have their memory in the user heap.
type areas struct {
	heap         gpu.Address // as kernels of this PE address it
	offset, size uint64      // of the first one, and of each
	count        uint64
}

type known struct {
	entry queue.Team
	pes   []int32 // for teams without a stride
}

const teamBytes = uint64(unsafe.Sizeof(queue.Team{}))

// listBytes is the most that the list of one team's PEs takes.
func (t *teams) listBytes() uint64 { return 4 * uint64(t.pes) }

// show tells kernels of a team. pes are the PEs of a team without a stride.
func (t *teams) show(slot int, entry queue.Team, pes []int32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.areas; uint64(slot) < a.count {
		entry.Work, entry.WorkSize = uint64(a.heap)+a.offset+uint64(slot)*a.size, a.size
	}
	k := known{entry, append([]int32(nil), pes...)}
	t.known[slot], t.worn[slot] = k, true
	return t.write(slot, k)
}

// hide makes kernels forget a team.
func (t *teams) hide(slot int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, slot)
	return t.write(slot, known{})
}

// renew resets the counters and flags of a slot that a team has used. All PEs of the next team do
// it before any of them has its handle, and when nothing of the last team is under way.
func (t *teams) renew(slot int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.worn[slot] || uint64(slot) >= t.areas.count {
		return nil
	}
	return t.clear(t.areas.offset+uint64(slot)*t.areas.size, queue.WorkBuffers(t.pes))
}

// begin makes the table and the lists for new kernels.
func (t *teams) begin(table, lists gpu.Address) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table, t.lists = table, lists
	for slot, k := range t.known {
		if err := t.write(slot, k); err != nil {
			return err
		}
	}
	return nil
}

// end releases the table when the kernels end.
func (t *teams) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table, t.lists = 0, 0
}

// write puts an entry into the table, behind its list.
func (t *teams) write(slot int, k known) error {
	if t.table == 0 {
		return nil
	}
	if k.pes != nil {
		list := t.lists + gpu.Address(uint64(slot)*t.listBytes())
		if err := t.put(list, unsafe.Slice((*byte)(unsafe.Pointer(&k.pes[0])), 4*len(k.pes))); err != nil {
			return fmt.Errorf("tell kernels the PEs of a team: %w", err)
		}
		k.entry.PEs = pointer(list)
	}
	if err := t.put(t.table+gpu.Address(uint64(slot)*teamBytes), (*[teamBytes]byte)(unsafe.Pointer(&k.entry))[:]); err != nil {
		return fmt.Errorf("tell kernels of a team: %w", err)
	}
	return nil
}

// openTeams is called when the heap has its memory for collectives.
func (j *Job) openTeams() {
	if j.gpu == nil {
		return
	}
	j.teams = &teams{
		pes: j.NPEs, put: j.gpu.dev.CopyIn, clear: j.clearHeap, known: map[int]known{}, worn: map[int]bool{},
		areas: areas{j.gpu.address(j.Nodes.Rank(j.Me)), j.work.offset + queue.WorkSize(j.NPEs), queue.WorkTeamSize(j.NPEs), j.work.teams},
	}
}

// clearHeap sets a part of this PE's user heap to 0. In GPU memory the copy engine does it, because
// kernels of the program may fill the GPU.
func (j *Job) clearHeap(offset, n uint64) error {
	if j.heap == config.HeapDevice {
		return j.gpu.dev.CopyIn(j.gpu.address(j.Nodes.Rank(j.Me))+gpu.Address(offset), make([]byte, n))
	}
	clear(unsafe.Slice((*byte)(unsafe.Add(j.UserHeap(), offset)), n))
	return nil
}

// ShowTeam tells kernels of this PE of the team in a slot, HideTeam makes them forget it, and
// RenewTeam comes before the next team of the slot. Any goroutine may call them; without a GPU they
// do nothing.
func (j *Job) ShowTeam(slot int, entry queue.Team, pes []int32) error {
	if j.teams == nil {
		return nil
	}
	return j.teams.show(slot, entry, pes)
}

// HideTeam is described at ShowTeam.
func (j *Job) HideTeam(slot int) error {
	if j.teams == nil {
		return nil
	}
	return j.teams.hide(slot)
}

// RenewTeam is described at ShowTeam.
func (j *Job) RenewTeam(slot int) error {
	if j.teams == nil {
		return nil
	}
	return j.teams.renew(slot)
}
