package device

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/queue"
)

// played returns kernels without a GPU: the part that the host sees of them.
func played(t *testing.T) (k *Kernels, words *[2]atomic.Uint32, line *queue.Progress) {
	t.Helper()
	const slots = 256
	line = new(queue.Progress)
	r, err := queue.New(queue.Memory{
		Slots: unsafe.Pointer(&make([]uint64, 2*slots)[0]), Line: line, Replies: unsafe.Pointer(&make([]uint64, queue.ReplyBytes/8)[0]),
	}, slots)
	if err != nil {
		t.Fatal(err)
	}
	words = new([2]atomic.Uint32)
	s := new(Stopper)
	s.Begin(words, []*queue.Ring{r})
	return &Kernels{
		State: &queue.State{NPEs: 2, Heap: 0x1000, HeapSize: 0x100}, report: new(queue.Report),
		over: make(chan struct{}), gone: make(chan struct{}),
		stopper: s,
	}, words, line
}

func soon(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func TestWaitsEndWithTheJob(t *testing.T) {
	k, words, line := played(t)
	var over atomic.Bool
	var looks atomic.Int32
	go k.watch(func(err error) { t.Error(err) }, func() bool {
		looks.Add(1)
		return over.Load()
	})
	soon(t, "three looks", func() bool { return looks.Load() == 3 })
	if words[0].Load() != 0 || atomic.LoadUint32(&line.Stopped) != 0 {
		t.Error("waits are ended while the job goes on")
	}
	over.Store(true)
	soon(t, "the word", func() bool { return words[0].Load() == ended })
	soon(t, "the ring", func() bool { return atomic.LoadUint32(&line.Stopped) == 1 })
	close(k.over)
	<-k.gone
}

// TestLosses: a loss ends waits until it is acknowledged, and rings are still served. Kernels that
// come later begin with the losses that are known by then.
func TestLosses(t *testing.T) {
	k, words, line := played(t)
	look := func(what string, losses, heard uint32) {
		t.Helper()
		if words[0].Load() != losses || words[1].Load() != heard || line.Stopped != 0 {
			t.Errorf("%s: %d losses, %d acknowledged, ring stopped %d; want %d, %d, 0", what, words[0].Load(), words[1].Load(), line.Stopped, losses, heard)
		}
	}
	k.stopper.NoteLoss()
	look("a loss", 1, 0)
	k.stopper.NoteLoss()
	if n := k.stopper.Acknowledge(); n != 2 {
		t.Errorf("%d losses are acknowledged, want 2", n)
	}
	look("acknowledged", 2, 2)
	k.stopper.NoteLoss()
	look("one more", 3, 2)
	k.stopper.Begin(words, k.stopper.rings)
	look("later kernels", 3, 3)
	k.stopper.End()
	k.stopper.NoteLoss()
	if words[0].Load() != ended {
		t.Error("a loss lets waits go on in a job that ends")
	}
}

func TestStopperLetsGo(t *testing.T) {
	k, words, line := played(t)
	k.stopper.finish()
	if words[0].Load() != ended || line.Stopped != 1 {
		t.Error("the end of the kernels ends no waits")
	}
	// Their memory may have another use now.
	words[0].Store(0)
	line.Stopped = 0
	k.stopper.NoteLoss()
	k.stopper.Acknowledge()
	k.stopper.End()
	k.stopper.finish()
	if words[0].Load() != 0 || words[1].Load() != 0 || line.Stopped != 0 {
		t.Error("memory is written that was given back")
	}
}

func TestFaultEndsTheJob(t *testing.T) {
	k, _, _ := played(t)
	told := make(chan error, 1)
	go k.watch(func(err error) { told <- err }, func() bool { return false })
	*k.report = queue.Report{
		Claimed: 1, Fault: queue.FaultRange, Call: 1, PE: 1, BlockX: 2, BlockY: 3, BlockZ: 4, ThreadX: 5, ThreadY: 6, ThreadZ: 7,
		Address: 0x2000, Length: 8,
	}
	atomic.StoreUint32(&k.report.Ready, 1)
	err := <-told
	<-k.gone
	for _, want := range []string{queue.CallName(1), "block (2,3,4), thread (5,6,7)", "8 bytes at 0x2000 are not within the symmetric heap of 256 bytes at 0x1000"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %q", err, want)
		}
	}
}

// TestCountersAreExplained: the number of a counter may be below 0, and there may be no counters.
func TestCountersAreExplained(t *testing.T) {
	k, _, _ := played(t)
	minus := int32(-3)
	for _, c := range []struct {
		report queue.Report
		want   string
	}{
		{queue.Report{Fault: queue.FaultCounter, Address: 4096, Length: 4096}, "notification counter 4096 does not exist, there are 4096 (use 0 to SHMEM_NOTIFY_COUNT - 1, or set that higher)"},
		{queue.Report{Fault: queue.FaultCounter, Address: uint64(uint32(minus)), Length: 8}, "notification counter -3 does not exist, there are 8 (use"},
		{queue.Report{Fault: queue.FaultCounter, Address: 3}, "the kernels of this PE have no notification counters (see the log of SHMEM_LOG_LEVEL=info for the cause, or use signals)"},
		{queue.Report{Fault: queue.FaultCount, Length: 1 << 63}, "9223372036854775808 is beyond the range of a notification counter (use 0 to 2^63 - 1)"},
	} {
		*k.report = c.report
		k.report.Ready = 1
		if err := k.fault(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, without %q", err, c.want)
		}
	}
}

func TestKernelExits(t *testing.T) {
	k, _, _ := played(t)
	told := make(chan error, 1)
	go k.watch(func(err error) { told <- err }, func() bool { return false })
	minus := int32(-3)
	*k.report = queue.Report{Claimed: 1, Fault: queue.FaultExit, Length: uint64(uint32(minus))}
	atomic.StoreUint32(&k.report.Ready, 1)
	var exit *KernelExit
	if err := <-told; !errors.As(err, &exit) || exit.Status != -3 {
		t.Error(err)
	}
	<-k.gone
}

// Every fault has a text of its own with a remedy, and shows the user no number.
func TestFaultsAreExplained(t *testing.T) {
	k, _, _ := played(t)
	seen := map[string]uint32{}
	for fault := uint32(queue.FaultInit); fault <= queue.FaultNoTile; fault++ {
		if fault == queue.FaultExit {
			continue
		}
		k.report.Fault = fault
		text, remedy := explainFault(k.report, k.State)
		if other, ok := seen[text]; ok {
			t.Errorf("faults %d and %d have the same text", fault, other)
		}
		if seen[text] = fault; remedy == "" || strings.HasPrefix(text, "fault") {
			t.Errorf("fault %d: %q has no remedy", fault, text)
		}
	}
	if err := k.fault(); err != nil {
		t.Error(errors.Join(errors.New("a report that is not ready is told"), err))
	}
}

// TestExitOfArchive ends the job as device code of NVIDIA's archive does: a state in one word, and
// before it the status in another.
func TestExitOfArchive(t *testing.T) {
	k, _, _ := played(t)
	k.exit = new([2]uint32)
	for _, state := range []uint32{0, 1, 3} {
		k.exit[0] = state
		if err := k.fault(); err != nil {
			t.Errorf("state %d: %v", state, err)
		}
	}
	k.exit[1] = ^uint32(6) // -7
	atomic.StoreUint32(&k.exit[0], exitRequested)
	var exit *KernelExit
	if err := k.fault(); !errors.As(err, &exit) || exit.Status != -7 {
		t.Errorf("%v", err)
	}
}
