package job

import (
	"fmt"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/teams"
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
	return min(teams, max(min(teamWork, heap/teamShare)/each, area.FewestTeams))
}

// reserveWork reserves memory for collectives of kernels at the start of every heap, if some PE of
// the job has a GPU.
func (j *Job) reserveWork() error {
	if !j.Heaps.SomeGPU() {
		return nil
	}
	j.work.teams = teamAreas(j.NPEs, j.Layout.Teams, j.Config.SymmetricSize)
	j.work.size = queue.WorkSize(j.NPEs) + j.work.teams*queue.WorkTeamSize(j.NPEs) + queue.WorkStream
	at, err := j.Heap.Alloc(j.work.size, 0)
	if err == nil {
		err = j.Commit()
	}
	if err != nil {
		return fmt.Errorf("reserve %d bytes of the heap for collectives of kernels: %w (raise SHMEM_SYMMETRIC_SIZE)", j.work.size, err)
	}
	j.work.offset = uint64(at)
	if j.GPU == nil || j.heap != config.HeapDevice {
		return nil // main memory begins as zeros
	}
	start := unsafe.Add(j.Heaps.Own(), at)
	if err := j.GPU.Clear(start, j.work.size); err != nil {
		return err
	}
	// Within a GPU the driver may copy with a kernel, which it loads at the first copy. That has to
	// happen now, and not while kernels of the program run.
	return j.GPU.Move(start, unsafe.Add(start, j.work.size/2), 8)
}

// openTeams is called when the heap has its memory for collectives.
func (j *Job) openTeams() {
	if j.GPU == nil {
		return
	}
	j.Teams = teams.New(j.NPEs, teams.Areas{
		Heap: j.GPU.Address(j.Nodes.Rank(j.Me)), Offset: j.work.offset + queue.WorkSize(j.NPEs), Size: queue.WorkTeamSize(j.NPEs), Count: j.work.teams,
	}, j.GPU.Device().CopyIn, j.clearHeap)
}

// clearHeap sets a part of this PE's user heap to 0. In GPU memory the copy engine does it, because
// kernels of the program may fill the GPU.
func (j *Job) clearHeap(offset, n uint64) error {
	if j.heap == config.HeapDevice {
		return j.GPU.Device().CopyIn(j.GPU.Address(j.Nodes.Rank(j.Me))+gpu.Address(offset), make([]byte, n))
	}
	clear(unsafe.Slice((*byte)(unsafe.Add(j.Heaps.Own(), offset)), n))
	return nil
}
