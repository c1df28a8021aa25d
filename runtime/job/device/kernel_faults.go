package device

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"libshmem/queue"
)

// watching is the interval at which watch reads the report, the memory in which a kernel describes
// its wrong call. A kernel that traps makes the program's next call of the CUDA runtime fail, and
// the reason should be on the screen by then or soon after.
const watching = 20 * time.Millisecond

// watch ends the job with a message when a kernel stops because of a wrong call, or with a status
// when a kernel requests that. It ends the waits of kernels when jobOver reports that the job has
// ended for another reason.
func (k *Kernels) watch(fatal func(error), jobOver func() bool) {
	defer close(k.gone)
	tick := time.NewTicker(watching)
	defer tick.Stop()
	for stopped := false; ; {
		select {
		case <-k.over:
			return
		case <-tick.C:
			if err := k.fault(); err != nil {
				fatal(err)
				return
			}
			if !stopped && jobOver() {
				stopped = true
				k.stopper.End()
			}
		}
	}
}

// Stopper ends the waits of kernels: waits for a word of memory, which check the stopper's own
// words from time to time, and waits for a proxy, which check a word of their ring. The event that
// they wait for may never happen. A process whose kernels run on cannot free their memory, and in
// many cases cannot end.
//
// Any goroutine may call its methods, also after the memory is gone.
type Stopper struct {
	mu           sync.Mutex
	losses       uint32            // PEs lost so far
	acknowledged uint32            // losses that the program has acknowledged
	words        *[2]atomic.Uint32 // for kernels: losses (or ended) and acknowledged; nil: there are no kernels
	rings        []*queue.Ring
}

// ended is stored in place of losses in the words of a Stopper when the job ends.
const ended = ^uint32(0)

// Begin sets the words that new kernels read, and the rings on which they wait.
func (s *Stopper) Begin(words *[2]atomic.Uint32, rings []*queue.Ring) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Earlier losses do not end the waits of the new kernels.
	s.acknowledged = s.losses
	s.words, s.rings = words, rings
	words[1].Store(s.acknowledged)
	words[0].Store(s.losses)
}

// NoteLoss notes the loss of a PE: waits of kernels for memory end at once, until the program
// acknowledges the loss. Waits for a ring end by themselves, so NoteLoss does not stop the rings:
// proxies go on, and operations on the lost PE fail. A stopped ring has slots that are never
// filled, so the next kernel could not use it.
func (s *Stopper) NoteLoss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losses++
	if s.words != nil && s.words[0].Load() != ended {
		s.words[0].Store(s.losses)
	}
}

// Acknowledge notes that the program knows of all losses so far, so that they end no later waits of
// kernels. It returns how many PEs were lost.
func (s *Stopper) Acknowledge() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acknowledged = s.losses
	if s.words != nil {
		s.words[1].Store(s.acknowledged)
	}
	return s.acknowledged
}

// End ends all waits of kernels, now and later, because the job ends: kernels poll a word in main
// memory, and rings no longer make their producers wait.
func (s *Stopper) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.words == nil {
		return
	}
	s.words[0].Store(ended)
	for _, r := range s.rings {
		r.Stop()
	}
}

// finish ends all waits, and drops the words and rings, whose memory is about to be freed.
func (s *Stopper) finish() {
	s.End()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words, s.rings = nil, nil
}

// KernelFault is a wrong call of a kernel, which ended the kernel.
type KernelFault struct{ Cause, Remedy string }

// Error says why a kernel stopped, with the remedy.
func (e *KernelFault) Error() string {
	return fmt.Sprintf("a kernel stopped: %s (%s)", e.Cause, e.Remedy)
}

// KernelExit is a kernel's request to end the job.
type KernelExit struct{ Status int }

// Error says that a kernel has called shmem_global_exit.
func (e *KernelExit) Error() string {
	return fmt.Sprintf("a kernel ends the job with status %d", e.Status)
}

// exitRequested is what nvshmem_global_exit of NVIDIA's device code stores, after the status; then it
// waits for the end of the process.
const exitRequested = 2

// fault decodes the report that kernels write to memory shared with the CPU: nil if there is none,
// a KernelFault, or a KernelExit if a kernel called shmem_global_exit or, in NVIDIA's device code,
// nvshmem_global_exit.
func (k *Kernels) fault() error {
	if k.exit != nil && atomic.LoadUint32(&k.exit[0]) == exitRequested {
		return &KernelExit{Status: int(int32(atomic.LoadUint32(&k.exit[1])))}
	}
	r := k.report
	if atomic.LoadUint32(&r.Ready) == 0 {
		return nil
	}
	if r.Fault == queue.FaultExit {
		return &KernelExit{Status: int(int32(r.Length))}
	}
	cause, remedy := explainFault(r, k.State)
	return &KernelFault{
		Cause: fmt.Sprintf("%s in block (%d,%d,%d), thread (%d,%d,%d): %s",
			callName(r.Call), r.BlockX, r.BlockY, r.BlockZ, r.ThreadX, r.ThreadY, r.ThreadZ, cause),
		Remedy: remedy,
	}
}

// callName returns the public name of the call whose number a kernel has written into its report.
func callName(n uint32) string {
	if name := queue.CallName(n); name != "" {
		return name
	}
	return fmt.Sprintf("call %d", n)
}

// explainFault returns the cause and the remedy of a kernel's fault. The members Length, Address
// and PE of the report have another meaning for each fault.
func explainFault(r *queue.Report, s *queue.State) (cause, remedy string) {
	switch r.Fault {
	case queue.FaultInit:
		return "the library is not initialised", "launch kernels between shmem_init and shmem_finalize"
	case queue.FaultPE:
		return fmt.Sprintf("PE %d does not exist, there are %d", r.PE, s.NPEs), "use 0 to shmem_n_pes() - 1"
	case queue.FaultRange:
		return fmt.Sprintf("%d bytes at %#x are not within the symmetric heap of %d bytes at %#x", r.Length, r.Address, s.HeapSize, s.Heap), "pass memory from shmem_malloc"
	case queue.FaultTeam:
		return fmt.Sprintf("team %d does not exist", r.PE), "pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or a team that a split has made"
	case queue.FaultRoot:
		return fmt.Sprintf("PE_root %d does not exist, the team has %d PEs", r.PE, r.Length), "use 0 to shmem_team_n_pes(team) - 1"
	case queue.FaultTile:
		return fmt.Sprintf("the destination has %d elements, the source needs %d", r.Address, r.Length), "give both tensors the same shape, or, for allgather, the destination a whole number of the source's along each dimension, one for each PE"
	case queue.FaultFlag:
		return fmt.Sprintf("flag %d means nothing", r.Length), "pass 0"
	case queue.FaultSlot:
		return fmt.Sprintf("slot %d does not exist, there are %d", r.Address, r.Length), "use 0 to count - 1 of the slots that shmemx_eager_create has made"
	case queue.FaultKeep:
		return fmt.Sprintf("the kernels' path to PE %d keeps no tile of %d bytes", r.PE, int32(r.Length)), "see shmemx_eager_tile, and make the slots with SHMEMX_EAGER_BEST"
	case queue.FaultBytes:
		return fmt.Sprintf("a token of %d bytes does not fit a slot", r.Length), "use 1 to 2^30"
	case queue.FaultNoTile:
		return fmt.Sprintf("there is no tile of %d bytes", int32(r.Length)), "use SHMEMX_EAGER_BLOCK, SHMEMX_EAGER_LINE, SHMEMX_EAGER_PACKET, SHMEMX_EAGER_NOTIFY or SHMEMX_EAGER_NONE"
	case queue.FaultEpoch:
		return fmt.Sprintf("a slot is at epoch %d, and epoch %d is expected", r.Address, r.Length), "raise the epoch of a slot by one for each token, and send a token only after the one before was read"
	case queue.FaultToken:
		return fmt.Sprintf("a token has %d bytes, and %d are expected", r.Address, r.Length), "pass the slots of the same shmemx_eager_create on both sides"
	case queue.FaultCounter:
		if r.Length == 0 {
			return "the kernels of this PE have no notification counters", "see the log of SHMEM_LOG_LEVEL=info for the cause, or use signals"
		}
		return fmt.Sprintf("notification counter %d does not exist, there are %d", int32(r.Address), r.Length), "use 0 to SHMEM_NOTIFY_COUNT - 1, or set that higher"
	case queue.FaultCount:
		return fmt.Sprintf("%d is beyond the range of a notification counter", r.Length), "use 0 to 2^63 - 1"
	case queue.FaultContext:
		return fmt.Sprintf("the context was made for the heap at %#x, the job's is at %#x", r.Address, s.Heap), "call shmem_ctx again after each shmem_init"
	case queue.FaultComparison:
		return fmt.Sprintf("comparison %d does not exist", r.Length), "use SHMEM_CMP_EQ, NE, GT, GE, LT or LE"
	case queue.FaultSignalOp:
		return fmt.Sprintf("signal operation %d does not exist", r.Length), "use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"
	case queue.FaultWork:
		return fmt.Sprintf("team %d needs %d bytes of the heap for collectives of kernels, and none are left", r.PE, r.Length), "raise SHMEM_SYMMETRIC_SIZE, or destroy other teams before it is made"
	}
	return fmt.Sprintf("fault %d", r.Fault), "please report it"
}
