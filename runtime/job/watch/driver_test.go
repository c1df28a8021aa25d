package watch

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

// fakeDriverWatch returns a driver watch with simulated calls. The test passes the time by hand.
func fakeDriverWatch(limit time.Duration, calls *[]cuda.Call, asked *uint32) *DriverWatch {
	return &DriverWatch{DriverConfig: DriverConfig{
		Facts: gpu.Facts{Lazy: true}, Limit: limit, Requests: func() uint32 { return atomic.LoadUint32(asked) },
		Calls: func(to []cuda.Call) []cuda.Call { return append(to, *calls...) },
	}}
}

const (
	lazyCause = "the program loads a kernel, by its first launch, beside one that runs"
	copyCause = "copies to pageable memory behind a stream that waits for another PE"
	lazyHelp  = "launch each kernel once beforehand"
	copyHelp  = "synchronize the stream before such a copy or copy to pinned memory; docs/guides/gpu-network.md"
)

// TestDriverWatchOnce: a call is reported once, when it has been under way for the limit. A call
// that returns before is not reported, however many of its kind come after it.
func TestDriverWatchOnce(t *testing.T) {
	const limit = 60 * time.Second
	stuck := cuda.Call{By: "the proxy of endpoint 1", Name: "cuMemcpyAsync", Turn: 7}
	slow := cuda.Call{Name: "cuStreamSynchronize", Turn: 1}
	var calls []cuda.Call
	var asked uint32
	h := fakeDriverWatch(limit, &calls, &asked)
	h.DriverCall("the proxy of endpoint 0", func() string { return "for a put to PE 9" })
	h.DriverCall("the proxy of endpoint 1", func() string { return "for a get of PE 3" })
	var told []string
	start := time.Now()
	for at := time.Duration(0); at < 3*limit; at += watchInterval {
		calls = []cuda.Call{slow}
		if at%(limit/2) < watchInterval {
			slow.Turn += 2 // it has returned, and the next call is under way
		}
		if at >= limit/2 {
			calls = append(calls, stuck)
		}
		for _, text := range h.check(start.Add(at)) {
			told = append(told, text)
			if at != limit/2+limit {
				t.Errorf("told %v after the call began: %s", at-limit/2, text)
			}
		}
	}
	want := "the GPU's driver has not returned from cuMemcpyAsync for 60.0 s, called by the proxy of endpoint 1 for a get of PE 3: it may be that " +
		lazyCause + ", or " + copyCause + " (" + lazyHelp + ", and " + copyHelp + ") (the wait goes on)"
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %q,\nwant %q", told, want)
	}
	if n := testing.AllocsPerRun(100, func() { h.check(start.Add(3 * limit)) }); n != 0 {
		t.Errorf("a look that finds nothing new allocates %v times", n)
	}
}

// TestDriverWatchAsked: a request gets all calls that have been under way for long, each time, even
// if nothing is reported without a request. The explanation of a wait has them, too.
func TestDriverWatchAsked(t *testing.T) {
	calls := []cuda.Call{{By: "the proxy of endpoint 0", Name: "cuStreamBatchMemOp_v2", Turn: 1}}
	var asked uint32
	h := fakeDriverWatch(0, &calls, &asked)
	now := time.Now()
	ask := func(want ...string) {
		t.Helper()
		asked++
		told := h.check(now)
		if len(told) != len(want) || !slices.EqualFunc(told, want, strings.Contains) {
			t.Errorf("asked, it tells %q, want %q", told, want)
		}
	}
	ask() // about a call that has just begun
	if s := h.Explain(now); s != "" {
		t.Errorf("the explanation of a call that has just begun: %s", s)
	}
	calls = append(calls, cuda.Call{Name: "cuMemFree_v2", Turn: 5})
	now = now.Add(time.Hour)
	if told := h.check(now); told != nil {
		t.Errorf("told without a request: %q", told)
	}
	ask("cuStreamBatchMemOp_v2 for 3600.0 s, called by the proxy of endpoint 0: it may be that")
	now = now.Add(watchLong)
	ask("cuStreamBatchMemOp_v2", "cuMemFree_v2 for 0.2 s, called by a thread of the program: it may wait for all kernels that run")
	if s := h.Explain(now); s != "the GPU's driver has not returned from cuStreamBatchMemOp_v2 for 3600.2 s, called by the proxy of endpoint 0 (docs/guides/gpu-network.md); "+
		"the GPU's driver has not returned from cuMemFree_v2 for 0.2 s, called by a thread of the program (docs/guides/gpu-network.md)" {
		t.Errorf("the explanation is %s", s)
	}
	calls = calls[1:]
	ask("cuMemFree_v2")
	calls = nil
	ask()
	if s := h.Explain(now); s != "" {
		t.Errorf("all have returned, and the explanation is %s", s)
	}
}

// TestDriverWatchCause: a report has no cause that is impossible, and says how much waits.
func TestDriverWatchCause(t *testing.T) {
	calls := []cuda.Call{{Name: "cuMemcpyAsync", Turn: 1}, {Name: "cuEventSynchronize", Turn: 1, Slot: 1}}
	var asked uint32
	h := fakeDriverWatch(time.Second, &calls, &asked)
	h.Facts = gpu.Facts{Eager: true}
	const slots = 256
	memory := make([]uint64, 2*slots)
	r, err := queue.New(queue.Memory{
		Slots: unsafe.Pointer(&memory[0]), Line: new(queue.Progress), Replies: unsafe.Pointer(&make([]uint64, queue.ReplyBytes/8)[0]),
	}, slots)
	if err != nil {
		t.Fatal(err)
	}
	const lap = 1 << 63
	for i := range 3 { // fences, of one slot each
		memory[2*i], memory[2*i+1] = lap|uint64(queue.CodeFence), lap
	}
	h.Serve([]*queue.Ring{r})
	now := time.Now()
	h.check(now)
	told := h.check(now.Add(time.Second))
	if len(told) != 2 || strings.Contains(told[0], "kernel,") || strings.Contains(told[0], "EAGER") || !strings.Contains(told[0], "the program "+copyCause+" ("+copyHelp) ||
		!strings.Contains(told[0], "; 3 operations in rings wait for the proxy: ") {
		t.Errorf("told %q", told)
	} else if strings.Contains(told[0], "fill the GPU") || !strings.Contains(told[1], "or kernels that fill the GPU leave no place") {
		t.Errorf("told %q of a copy and of a wait", told)
	}
}

// TestDriverWatchLooks: the goroutine looks by itself, and ends.
func TestDriverWatchLooks(t *testing.T) {
	calls := []cuda.Call{{Name: "cuMemcpyAsync", Turn: 1}}
	var asked uint32
	h := fakeDriverWatch(10*time.Millisecond, &calls, &asked)
	said := make(chan string, 8)
	h.Say = func(text string) { said <- text }
	h.Begin(h.DriverConfig)
	if text := <-said; !strings.Contains(text, "cuMemcpyAsync") {
		t.Errorf("it says %s", text)
	}
	h.End()
	h.End()
	close(said)
	for text := range said {
		t.Errorf("it says more: %s", text)
	}
}
