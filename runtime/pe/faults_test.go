package pe

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/queue"
)

// played are kernels without a GPU: what the host sees of them.
func played(t *testing.T) (k *Kernels, word *uint32, line *queue.Line) {
	t.Helper()
	const slots = 256
	line = new(queue.Line)
	r, err := queue.New(queue.Memory{
		Slots: unsafe.Pointer(&make([]uint64, 2*slots)[0]), Line: line, Replies: unsafe.Pointer(&make([]uint64, queue.ReplyBytes/8)[0]),
	}, slots)
	if err != nil {
		t.Fatal(err)
	}
	word = new(uint32)
	return &Kernels{
		State: &queue.State{NPEs: 2, Heap: 0x1000, HeapSize: 0x100}, report: new(queue.Report),
		over: make(chan struct{}), gone: make(chan struct{}),
		stopper: &stopper{word: word, rings: []*queue.Ring{r}},
	}, word, line
}

func soon(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 5 s", what)
		}
	}
}

func TestWaitsEndWithTheJob(t *testing.T) {
	k, word, line := played(t)
	var over atomic.Bool
	go k.watch(func(err error) { t.Error(err) }, over.Load)
	time.Sleep(3 * watching)
	if atomic.LoadUint32(word) != 0 || atomic.LoadUint32(&line.Stopped) != 0 {
		t.Error("waits are ended while the job goes on")
	}
	over.Store(true)
	soon(t, "the word", func() bool { return atomic.LoadUint32(word) == 1 })
	soon(t, "the ring", func() bool { return atomic.LoadUint32(&line.Stopped) == 1 })
	close(k.over)
	<-k.gone
}

func TestStopperLetsGo(t *testing.T) {
	k, word, line := played(t)
	k.stopper.finish()
	if *word != 1 || line.Stopped != 1 {
		t.Error("the end of the kernels ends no waits")
	}
	// Their memory may be another's now.
	*word, line.Stopped = 0, 0
	k.stopper.set()
	k.stopper.finish()
	if *word != 0 || line.Stopped != 0 {
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

// Every fault has a text of its own with a remedy, and is no number to the user.
func TestFaultsAreExplained(t *testing.T) {
	k, _, _ := played(t)
	seen := map[string]uint32{}
	for fault := uint32(queue.FaultInit); fault <= queue.FaultWork; fault++ {
		k.report.Fault = fault
		text, remedy := explain(k.report, k.State)
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
