package devmem

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/gpu"
)

const mib = 1 << 20

// node is the PEs of one node, each with a fake GPU, in one process.
type node struct {
	t        *testing.T
	devices  []*fake
	segments []*Segment
	plan     Plan
	files    int
}

// newNode has PEs 10, 20, ... on GPUs a, b, ...
func newNode(t *testing.T, pes int, plan Plan) *node {
	t.Helper()
	n := &node{t: t, plan: plan, segments: make([]*Segment, pes), files: countFiles(t)}
	if n.plan.Timeout == 0 {
		n.plan.Timeout = time.Minute
	}
	if n.plan.Size == 0 {
		n.plan.Size, n.plan.Align = 256*mib, 8*mib
	}
	for i := range pes {
		n.devices = append(n.devices, newFake(t, string(rune('a'+i))))
	}
	return n
}

func countFiles(t *testing.T) int {
	t.Helper()
	time.Sleep(time.Nanosecond) // the files of the Go runtime itself come with the first timer
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// each has all PEs do something at the same time.
func (n *node) each(f func(i int) error) []error {
	errs := make([]error, len(n.devices))
	var group sync.WaitGroup
	for i := range n.devices {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	return errs
}

func (n *node) open() []error {
	var listeners []*Listener
	n.plan.PEs = nil
	for i := range n.devices {
		l, err := Listen(len(n.devices))
		if err != nil {
			n.t.Fatal(err)
		}
		defer l.Close()
		listeners = append(listeners, l)
		n.plan.PEs = append(n.plan.PEs, Peer{PE: libshmem.PE(10 * (i + 1)), Socket: l.Name()})
	}
	return n.each(func(i int) error {
		plan := n.plan
		plan.Me = i
		var err error
		n.segments[i], err = Open(n.devices[i], listeners[i], plan)
		return err
	})
}

func (n *node) commit(end uint64) []error {
	return n.each(func(i int) error { return n.segments[i].Commit(end) })
}

func (n *node) close() []error {
	return n.each(func(i int) error {
		if n.segments[i] == nil {
			return nil
		}
		return errors.Join(n.segments[i].Close(), n.segments[i].Close())
	})
}

func (n *node) must(errs []error) {
	n.t.Helper()
	if err := errors.Join(errs...); err != nil {
		n.t.Fatal(err)
	}
}

// end closes all and looks for leaks.
func (n *node) end() {
	n.t.Helper()
	n.must(n.close())
	n.clean()
}

func (n *node) clean() {
	n.t.Helper()
	checkLeaks(n.t, n.devices...)
	if left := countFiles(n.t) - n.files; left != 0 {
		n.t.Errorf("%d descriptors are left open", left)
	}
}

// shared has each PE write to the last bytes of its heap up to end, and all the
// others, where they have a way, read them.
func (n *node) shared(end uint64, round byte) {
	n.t.Helper()
	for i, s := range n.segments {
		if s.Committed() < end {
			n.t.Fatalf("PE %d has committed %d of %d", i, s.Committed(), end)
		}
		copy(bytesAt(s.Heap(i)+gpu.Address(end-8), 8), []byte{byte(i), round, 3, 4, 5, 6, 7, 8})
	}
	for i, s := range n.segments {
		for j := range n.segments {
			if s.Heap(j) == 0 {
				if s.Why(j) == nil {
					n.t.Errorf("PE %d has no way to PE %d and does not say why", i, j)
				}
				continue
			}
			if got := bytesAt(s.Heap(j)+gpu.Address(end-8), 8); got[0] != byte(j) || got[1] != round || got[7] != 8 || s.Why(j) != nil {
				n.t.Errorf("PE %d reads %v from PE %d; %v", i, got, j, s.Why(j))
			}
		}
	}
}
