package device

import (
	"fmt"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/gpu"
	"libshmem/runtime/job/area"
)

const (
	// teamWork is the most memory of a heap, in bytes, for collectives of kernels on teams. It is
	// also at most 1/teamShare of the heap. In a job of many PEs each team needs more, so there may
	// be fewer teams for kernels than for the host.
	teamWork  = 32 << 20
	teamShare = 16
)

// teamAreas returns how many of the `teams` teams of a job get memory for collectives of kernels,
// in a heap of `heap` bytes.
func teamAreas(pes int, teams, heap uint64) uint64 {
	teamSize := queue.WorkTeamSize(pes)
	return min(teams, max(min(teamWork, heap/teamShare)/teamSize, area.FewestTeams))
}

// Reserve allocates memory for collectives and notification counters of kernels at the start of
// every heap, if some PE of the job has a GPU.
func (p *Producers) Reserve() error {
	if !p.Heaps.SomeGPU() {
		return nil
	}
	p.work.teams = teamAreas(p.NPEs, p.Areas, p.Settings.SymmetricSize)
	p.work.size = queue.WorkSize(p.NPEs) + p.work.teams*queue.WorkTeamSize(p.NPEs) + queue.WorkStream
	size := p.work.size + p.countersSize()
	at, err := p.Heap.Alloc(size, 0) // 0: the heap's own alignment
	if err == nil {
		err = p.Commit()
	}
	if err != nil {
		return fmt.Errorf("reserve %d bytes of the heap for collectives and counters of kernels: %w (raise SHMEM_SYMMETRIC_SIZE)", size, err)
	}
	p.work.offset = uint64(at)
	p.counts.offset = p.work.offset + p.work.size
	if p.GPU == nil || !p.inGPU() {
		return nil // main memory begins as zeros
	}
	start := unsafe.Add(p.Heaps.Own(), at)
	if err := p.GPU.Clear(start, size); err != nil {
		return err
	}
	// Within a GPU the driver may copy with a kernel, which it loads at the first copy. That has to
	// happen now, and not while kernels of the program run.
	return p.GPU.Move(start, unsafe.Add(start, p.work.size/2), 8)
}

// OpenTeams makes the table of teams for kernels, if this PE has a GPU. It is called after Reserve,
// which has reserved the work areas of the teams in the heap.
func (p *Producers) OpenTeams() {
	if p.GPU == nil {
		return
	}
	p.Teams = newTeamTable(p.NPEs, TeamAreas{
		Heap: p.heap(), Offset: p.work.offset + queue.WorkSize(p.NPEs), Size: queue.WorkTeamSize(p.NPEs), Count: p.work.teams,
	}, p.GPU.Device().CopyIn, p.clearHeap)
}

// clearHeap sets a part of this PE's user heap to 0. In GPU memory the copy engine does it, because
// kernels of the program may fill the GPU.
func (p *Producers) clearHeap(offset, n uint64) error {
	if p.inGPU() {
		return p.GPU.Device().CopyIn(p.heap()+gpu.Address(offset), make([]byte, n))
	}
	clear(unsafe.Slice((*byte)(unsafe.Add(p.Heaps.Own(), offset)), n))
	return nil
}
