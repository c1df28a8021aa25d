package heap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// model is the heap as a child would write it: one cell for each granule.
type model struct {
	cells []int // 0: free, else the number of the block
	next  int
	end   int // where the upper part begins, or the last cell ends
}

// runs calls f for every free run, in order, with its first cell and length.
func (m *model) runs(f func(start, n int)) {
	for i := 0; i < m.end; {
		n := 0
		for i+n < m.end && m.cells[i+n] == 0 {
			n++
		}
		if n > 0 {
			f(i, n)
		}
		i += max(n, 1)
	}
}

// fits says where in the run a block of need cells can begin, or -1.
func fits(start, n, need, align int) int {
	at := (start + align - 1) / align * align
	if at+need <= start+n {
		return at
	}
	return -1
}

// best returns the first cell of the smallest run that fits, the lowest of equals.
func (m *model) best(need, align int) int {
	at, size := -1, m.end+1
	m.runs(func(start, n int) {
		if a := fits(start, n, need, align); a >= 0 && n < size {
			at, size = a, n
		}
	})
	return at
}

func (m *model) fill(at, n, id int) error {
	for i := at; i < at+n; i++ {
		if (m.cells[i] == 0) == (id == 0) {
			return fmt.Errorf("cell %d holds %d when %d is put there", i, m.cells[i], id)
		}
		m.cells[i] = id
	}
	return nil
}

// check walks the whole heap and compares every structure with every other.
func (h *Heap) check() error {
	var off, used, want, end uint64
	var live, free int
	inTree := make(map[int32]bool)
	for _, t := range []*tree{&h.free, &h.live} {
		var walk func(i int32, depth int) error
		walk = func(i int32, depth int) error {
			if i == 0 {
				return nil
			}
			b := h.blocks.at(i)
			if inTree[i] || b.live() == t.bySize || depth > 64 {
				return fmt.Errorf("block %d: twice in a tree, in the wrong tree, or %d deep", i, depth)
			}
			inTree[i] = true
			for side, c := range []int32{b.left, b.right} {
				if c != 0 && (t.before(c, b.size, b.off) != (side == 0) || h.blocks.at(c).priority() > b.priority()) {
					return fmt.Errorf("blocks %d and %d are out of order", i, c)
				}
			}
			return errors.Join(walk(b.left, depth+1), walk(b.right, depth+1))
		}
		if err := walk(t.root, 1); err != nil {
			return err
		}
	}
	first := int32(0)
	for i := range h.blocks.blocks {
		if i > 0 && inTree[int32(i)] && h.blocks.blocks[i].off == 0 {
			first = int32(i)
		}
	}
	prev, wasFree := int32(0), false
	for i := first; i != 0; i = h.blocks.at(i).next {
		b := h.blocks.at(i)
		if b.off != off || b.prev != prev || b.size == 0 || b.size%Granule != 0 || !inTree[i] {
			return fmt.Errorf("block %d at %#x does not follow %#x, or is in no tree", i, b.off, off)
		}
		if !b.live() && wasFree {
			return fmt.Errorf("two free blocks meet at %#x", b.off)
		}
		wasFree = !b.live()
		if b.live() {
			live++
			used += b.size
			want += b.want
			end = b.end()
			if roundUp(b.want) != b.size || b.off%(1<<b.align) != 0 {
				return fmt.Errorf("block at %#x: %d bytes asked for, %d taken, aligned to 2^%d", b.off, b.want, b.size, b.align)
			}
		} else {
			free++
		}
		off, prev = b.end(), i
	}
	if off != h.size || prev != h.lastIdx || len(inTree) != live+free {
		return fmt.Errorf("the blocks end at %#x of %#x; %d in trees, %d in the list", off, h.size, len(inTree), live+free)
	}
	s := h.Stats()
	if s.Used != used || s.Wanted != want || s.Live != live || s.FreeBlocks != free || s.End != end || s.Free != h.size-used || s.Peak < end {
		return fmt.Errorf("statistics %+v differ from live %d free %d used %d wanted %d end %d", s, live, free, used, want, end)
	}
	return nil
}

type modelBlock struct {
	off   libshmem.Offset
	want  uint64
	align uint64
	id    int
}

// driver makes the same calls on the heap and on the model.
type driver struct {
	h      *Heap
	m      model
	held   []modelBlock
	uppers []modelBlock
}

const modelCells = 1024

func newDriver() (*driver, error) {
	h, err := New(modelCells*Granule-1, 64*Granule) // rounded up to all cells
	return &driver{h: h, m: model{cells: make([]int, modelCells), next: 1, end: modelCells}}, err
}

func cellsOf(bytes uint64) int { return int((bytes + Granule - 1) / Granule) }

func (d *driver) alloc(size, align uint64) error {
	off, err := d.h.Alloc(size, align)
	want := d.m.best(cellsOf(size), cellsOf(align))
	if err != nil {
		if !errors.Is(err, shmerr.ErrNoMemory) || want >= 0 {
			return fmt.Errorf("alloc %d, %d: %v; the model puts it in cell %d", size, align, err, want)
		}
		return nil
	}
	if uint64(off)%align != 0 || (want < 0 || uint64(off) != uint64(want)*Granule) {
		return fmt.Errorf("alloc %d, %d: at %#x, the model puts it in cell %d", size, align, off, want)
	}
	return d.hold(off, size, align)
}

func (d *driver) hold(off libshmem.Offset, size, align uint64) error {
	d.held = append(d.held, modelBlock{off, size, align, d.m.next})
	d.m.next++
	return d.m.fill(int(off/Granule), cellsOf(size), d.m.next-1)
}

func (d *driver) drop(i int) modelBlock {
	b := d.held[i]
	d.held[i] = d.held[len(d.held)-1]
	d.held = d.held[:len(d.held)-1]
	return b
}

func (d *driver) free(i int) error {
	b := d.drop(i)
	if err := d.h.Free(b.off); err != nil {
		return err
	}
	if err := d.h.Free(b.off); !errors.Is(err, shmerr.ErrAddress) {
		return fmt.Errorf("the second free of %#x: %v", b.off, err)
	}
	return d.m.fill(int(b.off/Granule), cellsOf(b.want), 0)
}

func (d *driver) realloc(i int, size uint64) error {
	b := d.held[i]
	r, err := d.h.Realloc(b.off, size)
	if err != nil {
		if !errors.Is(err, shmerr.ErrNoMemory) || d.m.best(cellsOf(size), cellsOf(b.align)) >= 0 {
			return fmt.Errorf("realloc %#x from %d to %d: %v", b.off, b.want, size, err)
		}
		return nil
	}
	if !r.Moved {
		if r.Offset != b.off {
			return fmt.Errorf("realloc %#x: in place at %#x", b.off, r.Offset)
		}
		d.drop(i)
		if err := d.m.fill(int(b.off/Granule), cellsOf(b.want), 0); err != nil {
			return err
		}
		return d.hold(b.off, size, b.align)
	}
	if r.Copy != min(size, b.want) || uint64(r.Offset)%b.align != 0 {
		return fmt.Errorf("realloc %#x from %d to %d: %+v", b.off, b.want, size, r)
	}
	if at := int(b.off / Granule); at+cellsOf(size) <= d.m.end {
		inPlace := true
		for c := at + cellsOf(b.want); c < at+cellsOf(size); c++ {
			inPlace = inPlace && d.m.cells[c] == 0
		}
		if inPlace {
			return fmt.Errorf("realloc %#x from %d to %d moved although the bytes behind are free", b.off, b.want, size)
		}
	}
	if err := d.hold(r.Offset, size, b.align); err != nil {
		return err
	}
	return d.free(i)
}

// highest returns the highest cell for the upper part, above all blocks below it, or -1.
func (m *model) highest(need, align, above int) int {
	for c := range m.end {
		if m.cells[c] != 0 {
			above = max(above, c+1)
		}
	}
	for at := (len(m.cells) - need) / align * align; at >= max(above, 1); at -= align {
		if !slices.ContainsFunc(m.cells[at:at+need], func(id int) bool { return id != 0 }) {
			return at
		}
	}
	return -1
}

// bound has the model find out where the upper part begins.
func (d *driver) bound() {
	d.m.end = modelCells
	for _, u := range d.uppers {
		d.m.end = min(d.m.end, int(u.off/Granule))
	}
}

func (d *driver) allocUpper(size, align uint64, above int) error {
	off, err := d.h.AllocUpper(size, align, uint64(above)*Granule)
	want := d.m.highest(cellsOf(size), cellsOf(align), above)
	if err != nil {
		if !errors.Is(err, shmerr.ErrNoMemory) || want >= 0 {
			return fmt.Errorf("%d bytes above, aligned to %d: %v; the model puts them in cell %d", size, align, err, want)
		}
		return nil
	}
	if want < 0 || uint64(off) != uint64(want)*Granule {
		return fmt.Errorf("%d bytes above, aligned to %d: at %#x, the model puts them in cell %d", size, align, off, want)
	}
	if start, n, ok := d.h.Block(off + libshmem.Offset(size) - 1); start != off || n != size || !ok {
		return fmt.Errorf("the last of %d bytes at %#x is of a block at %#x, %d bytes, %v", size, off, start, n, ok)
	}
	d.uppers = append(d.uppers, modelBlock{off, size, align, d.m.next})
	d.m.next++
	d.bound()
	return d.m.fill(want, cellsOf(size), d.m.next-1)
}

func (d *driver) freeUpper(i int) error {
	u := d.uppers[i]
	d.uppers = slices.Delete(d.uppers, i, i+1)
	d.bound()
	if err := d.h.FreeUpper(u.off); err != nil {
		return err
	}
	if err := d.h.FreeUpper(u.off); !errors.Is(err, shmerr.ErrAddress) {
		return fmt.Errorf("the second free of %#x: %v", u.off, err)
	}
	return d.m.fill(int(u.off/Granule), cellsOf(u.want), 0)
}

// step takes one action, chosen by three numbers.
func (d *driver) step(action uint8, size uint16, pick uint8) error {
	// Mostly small, sometimes up to the whole heap.
	bytes := uint64(size)%(8*Granule) + 1
	if pick%8 == 0 {
		bytes = uint64(size) + 1
	}
	if action%16 == 15 && len(d.uppers) > 0 {
		return d.freeUpper(int(pick) * len(d.uppers) / 256)
	}
	if action%32 == 14 && len(d.uppers) < 8 {
		whole := uint64(cellsOf(bytes)) * Granule
		return d.allocUpper(whole, Granule<<(pick%5), int(pick))
	}
	if len(d.held) == 0 {
		action = 0
	}
	switch action % 8 {
	case 0, 1, 2:
		return d.alloc(bytes, Granule)
	case 3:
		return d.alloc(bytes, Granule<<(pick%7))
	case 4, 5:
		return d.realloc(int(pick)*len(d.held)/256, bytes)
	default:
		return d.free(int(pick) * len(d.held) / 256)
	}
}

func TestAgainstModel(t *testing.T) {
	const seeds, steps = 10, 10000
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		d, err := newDriver()
		if err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			x := rnd.Uint32()
			err := d.step(uint8(x), uint16(x>>8), uint8(x>>24))
			if err == nil && i%16 == 0 {
				err = d.h.check()
			}
			if err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
		for len(d.held) > 0 {
			if err := d.free(0); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for len(d.uppers) > 0 {
			if err := d.freeUpper(0); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if s := d.h.Stats(); s.Used != 0 || s.FreeBlocks != 1 || s.End != 0 || s.LargestFree != modelCells*Granule {
			t.Errorf("seed %d: an empty heap is not one free block: %+v", seed, s)
		}
	}
}

func FuzzHeap(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 255, 1, 8, 6, 0, 0, 0})
	f.Add([]byte{3, 200, 3, 6, 3, 200, 3, 6, 4, 255, 255, 0, 7, 0, 0, 128})
	f.Fuzz(func(t *testing.T, script []byte) {
		d, err := newDriver()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(script) >= 4 && err == nil; script = script[4:] {
			if err = d.step(script[0], uint16(script[1])|uint16(script[2])<<8, script[3]); err == nil {
				err = d.h.check()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
