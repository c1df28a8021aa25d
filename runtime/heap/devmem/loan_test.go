package devmem

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/gputest"
	"libshmem/runtime/shmerr"
)

// owner is a program that has mapped chunks of its GPU in a row.
type owner struct {
	dev   *fake
	at    gpu.Address
	size  uint64
	sizes []uint64
}

// program has a PE's program map chunks of these many granules, a granule behind
// the start of a range.
func (n *node) program(i int, granules ...uint64) *owner {
	n.t.Helper()
	o := &owner{dev: n.devices[i], size: 2 * granule}
	for _, g := range granules {
		o.sizes = append(o.sizes, g*granule)
		o.size += g * granule
	}
	at := must(o.dev.Reserve(o.size, 0))
	o.at = at + granule
	for k, e := 0, o.at; k < len(o.sizes); k++ {
		c := must(o.dev.CreateChunk(o.sizes[k]))
		if err := errors.Join(o.dev.MapChunk(e, o.sizes[k], c), o.dev.ReleaseChunk(c)); err != nil {
			n.t.Fatal(err)
		}
		e += gpu.Address(o.sizes[k])
	}
	return o
}

func (o *owner) end() error {
	var errs []error
	e := o.at
	for _, size := range o.sizes {
		errs = append(errs, o.dev.UnmapChunk(e, size))
		e += gpu.Address(size)
	}
	return errors.Join(append(errs, o.dev.Unreserve(o.at-granule, o.size))...)
}

// lend has each PE lend n bytes from an offset in its program's memory; their first byte is behind
// the block's start by as much on each.
func (n *node) lend(owners []*owner, from []uint64, bytes uint64, block Extent) []error {
	return n.each(func(i int) error {
		s := n.segments[i]
		l, err := s.FindChunks(owners[i].at+gpu.Address(from[i]), bytes)
		if err != nil {
			l = &Loan{}
		}
		most := uint64(0)
		for k := range from {
			most = max(most, from[k])
		}
		return s.Lend(l, block, block.Offset+most-from[i], err)
	})
}

func TestLoans(t *testing.T) {
	for name, way := range map[string]bool{"all reach each other": true, "one does not reach another": false} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 3, Plan{Size: 256 * mib, Align: granule})
			if !way {
				n.devices[0].No = map[string]bool{"b": true}
			}
			n.must(n.open())
			// The buffer begins in one chunk and ends in the next but one, has eleven
			// chunks, or is within the second one.
			owners := []*owner{n.program(0, 10, 3, 20), n.program(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), n.program(2, 5, 30)}
			from := []uint64{12*mib + 512, 512, 10*mib + 512}
			want := []Loan{{Before: 12*mib + 512, Size: 66 * mib}, {Before: 512, Size: 22 * mib}, {Before: 512, Size: 60 * mib}}
			const bytes = 20 * mib
			block := Extent{128 * mib, 128 * mib}
			buffer := gpu.Address(block.Offset + want[0].Before) // its place in each heap
			for i, o := range owners {
				copy(bytesAt(o.at+gpu.Address(from[i]), 4), []byte{byte(i), 1, 2, 3})
				copy(bytesAt(o.at+gpu.Address(from[i]+bytes-4), 4), []byte{byte(i), 5, 6, 7})
			}
			for _, end := range []uint64{110 * mib, 111 * mib} {
				n.must(n.each(func(i int) error {
					l, err := n.segments[i].FindChunks(owners[i].at+gpu.Address(from[i]), bytes)
					if err != nil {
						return err
					}
					if l.Before != want[i].Before || l.Size != want[i].Size {
						t.Errorf("PE %d lends %d bytes, the buffer at %d", i, l.Size, l.Before)
					}
					return n.segments[i].Lend(l, block, uint64(buffer)-l.Before, nil)
				}))
				for i, s := range n.segments {
					sum, next := uint64(0), uint64(buffer)-want[i].Before
					for _, e := range s.Lent(block) {
						if e.Offset != next {
							t.Errorf("PE %d lends %+v, not from %#x on", i, e, next)
						}
						sum, next = sum+e.Size, e.Offset+e.Size
					}
					if sum != want[i].Size {
						t.Errorf("PE %d lends %d bytes in chunks", i, sum)
					}
					for j := range n.segments {
						if s.Heap(j) == 0 {
							continue
						}
						at := s.Heap(j) + buffer
						got := append(append([]byte{}, bytesAt(at, 4)...), bytesAt(at+bytes-4, 4)...)
						if want := []byte{byte(j), 1, 2, 3, byte(j), 5, 6, 7}; !slices.Equal(got, want) {
							t.Errorf("PE %d reads %v from PE %d", i, got, j)
						}
					}
				}
				n.must(n.commit(end))
				n.shared(end, 1)
				n.must(n.each(func(i int) error { return n.segments[i].TakeBack(block) }))
			}
			if got := n.segments[0].Committed(); got != block.Offset {
				t.Errorf("%d committed, where a step ends in the block", got)
			}
			for _, o := range owners {
				n.must([]error{o.end()})
			}
			n.end()
		})
	}
}

// TestLoansRefused: if one PE cannot lend, none does.
func TestLoansRefused(t *testing.T) {
	block := Extent{200 * mib, 4 * mib}
	for name, tt := range map[string]struct {
		set  func(n *node, owners []*owner)
		kind error
		want string
	}{
		"not mapped in chunks": {func(n *node, owners []*owner) { owners[1].at += 2 * granule }, shmerr.ErrUnsupported, "was not mapped by cuMemMap, and the driver does not let other code map it"},
		"for one process": {func(n *node, owners []*owner) {
			n.devices[1].Mapped(func(k *gputest.Chunk) { k.Private = true })
		}, shmerr.ErrUnsupported, "it was made for its own process only"},
		"of another GPU": {func(n *node, owners []*owner) {
			n.devices[1].Mapped(func(k *gputest.Chunk) { k.Device = 1 })
		}, shmerr.ErrArgument, "it is not memory of GPU b, which the symmetric heap of this PE is in"},
		"no descriptor":     {func(n *node, _ []*owner) { n.devices[1].refuse = map[string]bool{"ShareChunk": true} }, errFake, "ShareChunk GPU b: the test wants it"},
		"not taken":         {func(n *node, _ []*owner) { n.devices[2].refuse = map[string]bool{"ImportChunk": true} }, errFake, "ImportChunk GPU c: the test wants it"},
		"not mapped":        {func(n *node, _ []*owner) { n.devices[1].refuse = map[string]bool{"MapChunk": true} }, errFake, "MapChunk GPU b: the test wants it"},
		"not in the driver": {func(n *node, _ []*owner) { n.devices[1].refuse = map[string]bool{"ChunkAt": true} }, errFake, "ChunkAt GPU b: the test wants it"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 3, Plan{Size: 256 * mib, Align: granule})
			n.must(n.open())
			owners := []*owner{n.program(0, 2), n.program(1, 2), n.program(2, 2)}
			was := owners[1].at
			tt.set(n, owners)
			for i, err := range n.lend(owners, []uint64{0, 0, 0}, 4*mib, block) {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("PE %d: %v\nwant %s", i, err, tt.want)
				}
				if err != nil && !errors.Is(err, tt.kind) && tt.kind != errFake {
					t.Errorf("PE %d: %v is of another kind", i, err)
				}
			}
			owners[1].at = was
			for _, d := range n.devices {
				d.Locked(func() { d.refuse = nil })
				d.Mapped(func(k *gputest.Chunk) { k.Private, k.Device = false, 0 })
			}
			// All is as before, and the next try works.
			n.must(n.lend(owners, []uint64{0, 0, 0}, 4*mib, block))
			for _, o := range owners {
				n.must([]error{o.end()})
			}
			n.end() // it takes back the lent memory
		})
	}
}

// TestLoanWithoutRoom: a loan for which the heap has no room has a block that nobody has reserved,
// and leaves the memory that was lent before where it is.
func TestLoanWithoutRoom(t *testing.T) {
	n := newNode(t, 2, Plan{Size: 64 * mib, Align: granule})
	n.must(n.open())
	owners := []*owner{n.program(0, 2), n.program(1, 2)}
	block := Extent{32 * mib, 2 * granule}
	n.must(n.lend(owners, []uint64{0, 0}, granule, block))
	before := n.segments[0].Lent(block)
	for i, err := range n.each(func(i int) error {
		s := n.segments[i]
		l, err := s.FindChunks(owners[i].at, granule)
		if err != nil {
			return err
		}
		return s.Lend(l, Extent{0, 60 * mib}, 0, errFake)
	}) {
		if !errors.Is(err, errFake) {
			t.Errorf("PE %d lends without room: %v", i, err)
		}
	}
	for i, s := range n.segments {
		if got := s.Lent(block); len(before) == 0 || !slices.Equal(got, before) {
			t.Fatalf("PE %d has %v of the earlier loan %v", i, got, before)
		}
		for j := range n.segments {
			copy(bytesAt(owners[j].at, 1), []byte{byte(7 + j)})
			if got := bytesAt(s.Heap(j)+gpu.Address(block.Offset), 1)[0]; got != byte(7+j) {
				t.Errorf("PE %d reads %d from the memory that PE %d has lent", i, got, j)
			}
		}
	}
	n.must(n.each(func(i int) error { return n.segments[i].TakeBack(block) }))
	for _, o := range owners {
		n.must([]error{o.end()})
	}
	n.end()
}

// TestOtherLoans: blocks that are not alike, or where the heap is in use.
func TestOtherLoans(t *testing.T) {
	n := newNode(t, 2, Plan{Size: 64 * mib, Align: granule})
	n.must(n.open())
	owners := []*owner{n.program(0, 1), n.program(1, 1)}
	try := func(what string, blocks ...Extent) {
		t.Helper()
		for i, err := range n.each(func(i int) error {
			l, err := n.segments[i].FindChunks(owners[i].at, granule)
			if err != nil {
				return err
			}
			return n.segments[i].Lend(l, blocks[i], blocks[i].Offset, nil)
		}) {
			if err == nil {
				t.Errorf("%s: PE %d lends", what, i)
			}
		}
	}
	try("two blocks", Extent{32 * mib, granule}, Extent{34 * mib, granule})
	try("committed", Extent{0, granule}, Extent{0, granule})
	try("too small", Extent{32 * mib, granule / 2}, Extent{32 * mib, granule / 2})
	try("no granule", Extent{32*mib + 4096, granule}, Extent{32*mib + 4096, granule})
	try("behind the heap", Extent{64 * mib, granule}, Extent{64 * mib, granule})
	for _, o := range owners {
		n.must([]error{o.end()})
	}
	n.end()
	ipc := newNode(t, 1, Plan{Size: 8 * mib, Align: granule, Share: IPC})
	ipc.must(ipc.open())
	o := ipc.program(0, 1)
	if _, err := ipc.segments[0].FindChunks(o.at, granule); !errors.Is(err, shmerr.ErrUnsupported) || !strings.Contains(err.Error(), "the symmetric heap is one block") {
		t.Errorf("by IPC: %v", err)
	}
	ipc.must([]error{o.end()})
	ipc.end()
}

// TestEveryFailureOfLoans makes each call of one PE's GPU fail in turn: all PEs have an error or
// the failed call was one that gives back, and nothing is left.
func TestEveryFailureOfLoans(t *testing.T) {
	block := Extent{32 * mib, 4 * mib}
	whole := func(failAt int) (calls []string, lent, back []error) {
		n := newNode(t, 2, Plan{Size: 64 * mib, Align: granule})
		n.must(n.open())
		owners := []*owner{n.program(0, 1, 1), n.program(1, 1, 1)}
		d := n.devices[1]
		before := len(d.Calls())
		if failAt > 0 {
			d.failAt = before + failAt
		}
		lent = n.lend(owners, []uint64{0, 0}, 4*mib, block)
		calls = d.Calls()[before:]
		back = n.each(func(i int) error { return n.segments[i].TakeBack(block) })
		d.failAt = 0
		for _, o := range owners {
			n.must([]error{o.end()})
		}
		n.end()
		return calls, lent, back
	}
	calls, lent, back := whole(0)
	if err := errors.Join(append(lent, back...)...); err != nil {
		t.Fatal(err)
	}
	for k, name := range calls {
		_, lent, _ := whole(k + 1)
		if lent[1] == nil || !strings.Contains(lent[1].Error(), name) {
			t.Errorf("call %d, %s, fails: %v", k+1, name, lent[1])
		}
		if lent[0] == nil && name != "ReleaseChunk" {
			t.Errorf("call %d, %s, fails, and the other PE has no error", k+1, name)
		}
	}
}
