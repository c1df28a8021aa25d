package devmem

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

func TestHeapsGrow(t *testing.T) {
	n := newNode(t, 3, Plan{})
	n.must(n.open())
	for i, s := range n.segments {
		if s.Path() != VMM || s.Committed() != granule || uint64(s.Heap(i))%n.plan.Align != 0 {
			t.Errorf("PE %d: way %s, %d committed, heap at %#x", i, s.Path(), s.Committed(), uint64(s.Heap(i)))
		}
	}
	n.shared(granule, 0)
	for round, tt := range []struct{ end, committed uint64 }{
		{1, granule}, {granule, granule}, // there already
		{granule + 1, granule + Step},
		{40 * mib, granule + 2*Step},
		{200*mib + 1, 202 * mib}, // more than a step: the requested size
		{256 * mib, 256 * mib},
		{8, 256 * mib},
	} {
		n.must(n.commit(tt.end))
		for i, s := range n.segments {
			if s.Committed() != tt.committed {
				t.Errorf("PE %d, up to %d: %d committed, want %d", i, tt.end, s.Committed(), tt.committed)
			}
		}
		n.shared(max(tt.end, 8), byte(round))
	}
	want := []Extent{{0, granule}, {granule, Step}, {granule + Step, Step}, {granule + 2*Step, 136 * mib}, {202 * mib, 54 * mib}}
	if got := n.segments[1].Extents(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("extents %v, want %v", got, want)
	}
	n.end()
}

func TestWholeHeapsByIPC(t *testing.T) {
	n := newNode(t, 3, Plan{Size: 9 * mib, Align: 8 * mib, Share: IPC})
	n.must(n.open())
	for i, s := range n.segments {
		if s.Path() != IPC || s.Committed() != 9*mib || uint64(s.Heap(i))%(8*mib) != 0 || fmt.Sprint(s.Extents()) != fmt.Sprint([]Extent{{0, 9 * mib}}) {
			t.Errorf("PE %d: way %s, %d committed, heap at %#x, extents %v", i, s.Path(), s.Committed(), uint64(s.Heap(i)), s.Extents())
		}
	}
	n.must(n.commit(9 * mib))
	n.shared(8, 1)
	n.shared(9*mib, 2)
	n.end()
}

func TestOnePE(t *testing.T) {
	for _, way := range []Path{VMM, IPC} {
		n := newNode(t, 1, Plan{Size: 3 * mib, Align: 64, Share: way})
		n.must(n.open())
		n.must(n.commit(3 * mib))
		n.shared(3*mib, 1)
		n.end()
	}
}

// TestNotEnoughMemory: a step that does not fit is not needed, and an allocation that does not fit
// leaves the heaps of all as they were.
func TestNotEnoughMemory(t *testing.T) {
	n := newNode(t, 3, Plan{})
	n.devices[1].Memory = 20 * mib
	n.must(n.open())
	n.must(n.commit(10 * mib))
	n.shared(10*mib, 1)
	if got := n.segments[2].Committed(); got != 10*mib {
		t.Errorf("%d committed where PE 20 has no room for a step", got)
	}
	for i, err := range n.commit(64 * mib) {
		want := "commit 64.0 MiB of the symmetric heap of each of 3 PEs in GPU memory: PE 20: allocate 56623104 bytes on GPU b: out of memory (allocate less, run fewer PEs on the GPU or free its memory)"
		if i == 1 {
			want = strings.Replace(want, "PE 20: ", "", 1)
		}
		if !errors.Is(err, shmerr.ErrNoMemory) || err.Error() != want {
			t.Errorf("PE %d: %v\nwant %s", i, err, want)
		}
	}
	n.shared(10*mib, 2)
	n.must(n.commit(20 * mib))
	n.shared(20*mib, 3)
	n.end()
}

// TestNoWayBetween: a PE without loads and stores is no reason to fail.
func TestNoWayBetween(t *testing.T) {
	b := map[string]bool{"b": true}
	for name, tt := range map[string]struct {
		share   Path
		set     func(f *fake)
		wantWay Path
		why     string
	}{
		"the driver says no":          {Auto, func(f *fake) { f.No = b }, VMM, "map the heap of PE 20: GPU a cannot reach memory of b"},
		"the driver says no, IPC":     {IPC, func(f *fake) { f.No = b }, IPC, "map the heap of PE 20: GPU a cannot reach memory of b"},
		"a trial shows it":            {Auto, func(f *fake) { f.Unknown = b; f.refuse = map[string]bool{"ImportChunk": true} }, VMM, "map the heap of PE 20: ImportChunk GPU a: the test wants it"},
		"mapping shows it":            {VMM, func(f *fake) { f.refuse = map[string]bool{"ImportChunk": true} }, VMM, "map the heap of PE 20: ImportChunk GPU a: the test wants it"},
		"VMM fails, and IPC is tried": {Auto, func(f *fake) { f.refuse = map[string]bool{"ImportChunk": true} }, IPC, ""},
		"both fail": {Auto, func(f *fake) { f.refuse = map[string]bool{"ImportChunk": true, "OpenShared": true} }, IPC,
			"map the heap of PE 20: OpenShared GPU a: the test wants it"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 2, Plan{Share: tt.share, Size: 64 * mib, Align: granule})
			tt.set(n.devices[0])
			n.must(n.open())
			n.must(n.commit(40 * mib))
			n.shared(40*mib, 1)
			s := n.segments[0]
			if s.Path() != tt.wantWay || n.segments[1].Path() != tt.wantWay {
				t.Errorf("ways %s, %s, want %s", s.Path(), n.segments[1].Path(), tt.wantWay)
			}
			if (s.Heap(1) == 0) != (tt.why != "") || (tt.why != "" && s.Why(1).Error() != tt.why) {
				t.Errorf("heap %#x, why %v, want %s", uint64(s.Heap(1)), s.Why(1), tt.why)
			}
			if n.segments[1].Heap(0) == 0 {
				t.Errorf("the other direction: %v", n.segments[1].Why(0))
			}
			n.end()
		})
	}
}

// TestNoPathAtAll: the error has the reasons of both ways, on every PE.
func TestNoPathAtAll(t *testing.T) {
	noVMM := func(f *gpu.Facts) { f.VMM = false }
	noFD := func(f *gpu.Facts) { f.PosixFD = false }
	small := func(f *fake) { f.Memory = mib }
	for name, tt := range map[string]struct {
		share Path
		set   func(f *fake)
		kind  error
		want  string
	}{
		"no VMM, no memory": {Auto, func(f *fake) { noVMM(&f.Can); small(f) }, shmerr.ErrNoMemory,
			"reserve SHMEM_SYMMETRIC_SIZE of 64.0 MiB in GPU memory: by VMM: PE 20: share memory of GPU b: it lacks CUDA's virtual memory management; by IPC: PE 20: allocate 67108864 bytes on GPU b: out of memory (lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the GPU, or set SHMEM_HEAP to host or pinned)"},
		"VMM is wanted": {VMM, func(f *fake) { noFD(&f.Can) }, shmerr.ErrUnsupported,
			"reserve SHMEM_SYMMETRIC_SIZE of 64.0 MiB in GPU memory: PE 20: share memory of GPU b: its memory cannot be exported as a file descriptor (set SHMEM_HEAP to host or pinned)"},
		"IPC is wanted": {IPC, func(f *fake) { f.refuse = map[string]bool{"Share": true} }, shmerr.ErrSystem,
			"reserve SHMEM_SYMMETRIC_SIZE of 64.0 MiB in GPU memory: PE 20: Share GPU b: the test wants it (set SHMEM_HEAP to host or pinned)"},
		"no memory for either": {Auto, small, shmerr.ErrNoMemory,
			"by VMM: PE 20: allocate 2097152 bytes on GPU b: out of memory; by IPC: PE 20: allocate 67108864 bytes on GPU b: out of memory ("},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 3, Plan{Share: tt.share, Size: 64 * mib, Align: granule})
			tt.set(n.devices[1])
			for i, err := range n.open() {
				want := tt.want
				if i == 1 {
					want = strings.ReplaceAll(want, "PE 20: allocate", "allocate")
					want = strings.ReplaceAll(want, "PE 20: Share", "Share")
				}
				if err == nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), want) {
					t.Errorf("PE %d: %v\nwant %s", i, err, want)
				}
			}
			n.clean()
		})
	}
}

func TestPlansThatDiffer(t *testing.T) {
	n := newNode(t, 2, Plan{Size: 64 * mib, Align: granule})
	var listeners []*Listener
	for i := range 2 {
		l, err := Listen(2)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		n.plan.PEs = append(n.plan.PEs, Peer{PE: libshmem.PE(i), Socket: l.Name()})
	}
	for i, err := range n.each(func(i int) error {
		plan := n.plan
		plan.Me, plan.Size = i, uint64(i+1)*64*mib
		_, err := Open(n.devices[i], listeners[i], plan)
		return err
	}) {
		if !errors.Is(err, shmerr.ErrSetting) || !strings.Contains(err.Error(), "has 128.0 MiB") && !strings.Contains(err.Error(), "this one 128.0 MiB") {
			t.Errorf("PE %d: %v", i, err)
		}
	}
	if _, err := Open(n.devices[0], nil, Plan{}); !errors.Is(err, shmerr.ErrInternal) {
		t.Errorf("no plan: %v", err)
	}
	for _, l := range listeners {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	n.clean()
}

// TestOtherAllocations: PEs that do not allocate alike get an error that says so.
func TestOtherAllocations(t *testing.T) {
	n := newNode(t, 2, Plan{})
	n.must(n.open())
	for i, err := range n.each(func(i int) error { return n.segments[i].Commit(uint64(i+1) * 80 * mib) }) {
		if !errors.Is(err, shmerr.ErrArgument) || !strings.Contains(err.Error(), "(make the same allocations on every PE)") {
			t.Errorf("PE %d: %v", i, err)
		}
	}
	n.must(n.commit(80 * mib))
	n.shared(80*mib, 1)
	if err := n.segments[0].Commit(257 * mib); !errors.Is(err, shmerr.ErrInternal) {
		t.Errorf("more than the heap: %v", err)
	}
	n.end()
	if err := n.segments[0].Commit(250 * mib); !errors.Is(err, shmerr.ErrInternal) {
		t.Errorf("after Close: %v", err)
	}
}

// TestEveryFailure makes each call of one PE's GPU fail in turn: all PEs have an error, which names
// the failure and its place, and nothing is left.
func TestEveryFailure(t *testing.T) {
	for _, way := range []Path{VMM, IPC} {
		plan := Plan{Share: way, Size: 16 * mib, Align: 4 * mib}
		whole := func(failAt int) (n *node, opened, committed, closed []error) {
			n = newNode(t, 3, plan)
			n.devices[1].failAt = failAt
			if opened = n.open(); errors.Join(opened...) != nil {
				return n, opened, nil, nil
			}
			committed = n.commit(16 * mib)
			n.devices[1].Note("closing")
			return n, opened, committed, n.close()
		}
		n, opened, committed, closed := whole(0)
		n.must(append(append(opened, committed...), closed...))
		calls := n.devices[1].Calls()
		if len(calls) < 11 {
			t.Fatalf("%s: only %v", way, calls)
		}
		for k, name := range calls {
			if name == "closing" {
				continue
			}
			n, opened, committed, closed := whole(k + 1)
			errs := opened
			for _, later := range [][]error{committed, closed} {
				if errors.Join(errs...) == nil {
					errs = later
				}
			}
			if errors.Join(errs...) == nil {
				// The first chunk showed that there is no way: an answer.
				why := errors.Join(n.segments[1].why...)
				if why == nil || !strings.Contains(why.Error(), name) || n.segments[1].heaps[0] != 0 && n.segments[1].heaps[2] != 0 {
					t.Errorf("%s, call %d, %s: no error, and %v", way, k+1, name, why)
				}
			}
			for i, err := range errs {
				giving := errors.Join(closed...) != nil // each PE's own affair
				if err == nil && errors.Join(errs...) != nil && (i == 1 || !giving) {
					t.Errorf("%s, call %d, %s: PE %d has no error", way, k+1, name, i)
				}
				if err != nil && !strings.Contains(err.Error(), name) {
					t.Errorf("%s, call %d, %s, is not named by PE %d: %v", way, k+1, name, i, err)
				}
			}
			n.close()
			n.clean()
		}
	}
}

// TestLostPeer: a PE that ends, or does not come, is named, and no later call
// waits for it again.
func TestLostPeer(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(s *Segment)
		wait time.Duration
		kind error
		want string
	}{
		"ended": {func(s *Segment) { _ = s.links.close() }, time.Minute, shmerr.ErrPeerLost, "PE 30 for the symmetric heap: its process closed the connection (find out why it ended;"},
		// Long enough for the two that do come, on a busy machine too.
		"late": {func(*Segment) {}, 2 * time.Second, shmerr.ErrTimeout, "receive from PE 30 for the symmetric heap: nothing came within 2s (find out what it is doing, or raise SHMEM_BOOTSTRAP_TIMEOUT)"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 3, Plan{})
			n.must(n.open())
			tt.lose(n.segments[2])
			for _, s := range n.segments {
				s.links.plan.Timeout = tt.wait
			}
			for i, err := range n.each(func(i int) error {
				if i == 2 {
					return nil
				}
				return n.segments[i].Commit(100 * mib)
			}) {
				if i != 2 && (!errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("PE %d: %v\nwant %s", i, err, tt.want)
				}
			}
			for i, s := range n.segments[:2] {
				if s.Committed() != granule {
					t.Errorf("PE %d has committed %d", i, s.Committed())
				}
				s.links.plan.Timeout = time.Hour // the other PE waits beyond the end of the test
				if err := s.Commit(50 * mib); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), "an earlier call failed: ") {
					t.Errorf("PE %d, again: %v", i, err)
				}
			}
			n.end()
		})
	}
}

// TestNobodyComes: the error names the PEs that do not come, and a process that came instead.
func TestNobodyComes(t *testing.T) {
	files := countFiles(t)
	l, err := Listen(3)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Size: mib, Align: 64, Timeout: 200 * time.Millisecond, PEs: []Peer{{PE: 4, Socket: l.Name()}, {PE: 5}, {PE: 9}}}
	f := newFake(t, "a")
	_, err = Open(f, l, plan)
	want := "meet the other PEs of the node: PEs 5, 9 did not come within 200ms (find out what it is doing, or raise SHMEM_BOOTSTRAP_TIMEOUT)"
	if !errors.Is(err, shmerr.ErrTimeout) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	stranger, err := fdpass.Dial(l.Name(), fdpass.User(), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Send([]byte(`{"Protocol":"shmem-devmem-0"}`), nil, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err = Open(f, l, plan)
	if !errors.Is(err, shmerr.ErrTimeout) || !strings.Contains(err.Error(), "and one was turned away: the process that connected is not a PE of this job") {
		t.Errorf("a stranger: %v", err)
	}
	if _, _, err := stranger.Receive(time.Now().Add(time.Minute)); !errors.Is(err, shmerr.ErrPeerLost) {
		t.Errorf("the stranger: %v", err)
	}
	// The other side: the PE that listens is gone, or does not answer.
	plan.Me = 1
	_, err = Open(f, l, plan)
	if !errors.Is(err, shmerr.ErrTimeout) || !strings.Contains(err.Error(), "meet PE 4 for the symmetric heap: nothing came within 200ms") {
		t.Errorf("no answer: %v", err)
	}
	if err := errors.Join(stranger.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	_, err = Open(f, l, plan)
	if !errors.Is(err, shmerr.ErrPeerLost) || !strings.Contains(err.Error(), "meet PE 4 for the symmetric heap: connection refused (find out why it ended;") {
		t.Errorf("no listener: %v", err)
	}
	checkLeaks(t, f)
	if left := countFiles(t) - files; left != 0 {
		t.Errorf("%d descriptors are left open", left)
	}
}

func TestParsePath(t *testing.T) {
	for _, w := range []Path{Auto, VMM, IPC} {
		if got, err := ParsePath(w.String()); got != w || err != nil {
			t.Errorf("%s: %s, %v", w, got, err)
		}
	}
	if _, err := ParsePath("VMM"); !errors.Is(err, shmerr.ErrSetting) || err.Error() != `choose the path "VMM" to GPU memory: there is no such path (use auto, vmm or ipc)` {
		t.Errorf("got %v", err)
	}
}
