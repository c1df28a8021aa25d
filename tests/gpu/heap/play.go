package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/heap/devmem"
)

// player is one PE.
type player struct {
	kind       string
	me, n, gpu int
	in         *bufio.Reader
	out        io.Writer
	dev        *cuda.Device
}

// heaps is the interface of both kinds of heaps.
type heaps interface {
	Heap(i int) gpu.Address
	Commit(end uint64) error
	Committed() uint64
	Close() error
}

func play(part string, in *bufio.Reader, out io.Writer) error {
	p := &player{in: in, out: out}
	if _, err := fmt.Sscan(part, &p.kind, &p.me, &p.n, &p.gpu); err != nil {
		return err
	}
	driver, err := cuda.Open()
	if err != nil {
		return err
	}
	if p.dev, err = driver.Device(p.gpu); err != nil {
		return err
	}
	if p.kind == "pinned" {
		err = p.pinned()
	} else {
		err = p.device()
	}
	if err = errors.Join(err, p.dev.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "done")
	return err
}

func (p *player) note(format string, args ...any) {
	fmt.Fprintf(p.out, "note "+format+"\n", args...)
}

// say sends a word to all PEs and returns those of all.
func (p *player) say(word string) ([]string, error) {
	fmt.Fprintln(p.out, "say", word)
	line, err := p.in.ReadString('\n')
	words := strings.Fields(line)
	if err == nil && len(words) != p.n {
		err = fmt.Errorf("%d words came for %d PEs", len(words), p.n)
	}
	return words, err
}

func (p *player) together() error {
	_, err := p.say("here")
	return err
}

const (
	mib   = 1 << 20
	align = 128 * mib
	most  = 1 << 30
)

// device tests heaps in GPU memory.
func (p *player) device() error {
	way, err := devmem.ParsePath(p.kind)
	if err != nil {
		return err
	}
	l, err := devmem.Listen(p.n)
	if err != nil {
		return err
	}
	defer l.Close()
	names, err := p.say(l.Name())
	if err != nil {
		return err
	}
	plan := devmem.Plan{Size: size(p.dev), Align: align, Me: p.me, Share: way, Timeout: 20 * time.Second}
	for i, name := range names {
		plan.PEs = append(plan.PEs, devmem.Peer{PE: libshmem.PE(i), Socket: name})
	}
	begin := time.Now()
	s, err := devmem.Open(p.dev, l, plan)
	if err != nil {
		return err
	}
	if p.me == 0 {
		p.note("%s, opened in %s, heap at %#x, peers at %#x", p.dev.Name(), since(begin), uint64(s.Heap(0)), uint64(s.Heap(1)))
	}
	for i := range p.n {
		if s.Heap(i) == 0 {
			p.note("no way to PE %d: %v", i, s.Why(i))
		}
	}
	if a := s.Heap(p.me); uint64(a)%align != 0 {
		err = fmt.Errorf("the heap begins at %#x", uint64(a))
	}
	if err == nil {
		err = p.grow(s, plan.Size)
	}
	if err == nil {
		err = errors.Join(p.pointers(s), p.export(s), p.streams(s), p.rate(s))
	}
	if err == nil {
		err = p.together()
	}
	begin = time.Now()
	err = errors.Join(err, s.Close())
	if p.me == 0 {
		p.note("closed in %s", since(begin))
	}
	return err
}

// size returns the size of the heap: less on a fake GPU than on a real one.
func size(dev *cuda.Device) uint64 {
	return min(most, max(dev.Facts().Memory/8/align, 1)*align)
}

// grow commits in steps, and checks that all PEs see all heaps after each.
func (p *player) grow(s heaps, size uint64) error {
	for round, end := range []uint64{8, size / 8, size / 4, size / 2, size} {
		begin, before := time.Now(), s.Committed()
		commit := func() error { return s.Commit(end) }
		if end == size {
			last := commit
			commit = func() error { return p.busy("commits", last) }
		}
		if err := commit(); err != nil {
			return err
		}
		if got := s.Committed() - before; p.me == 0 && got != 0 && end != size {
			p.note("%d MiB more committed in %s", got/mib, since(begin))
		}
		if err := p.exchange(s, byte(round), end); err != nil {
			return fmt.Errorf("with %d bytes: %w", end, err)
		}
	}
	return nil
}

// gap reports whether some PE has no route to the next, which is then left out; routes exist in
// both directions or in none.
func (p *player) gap(s heaps) bool {
	for i := range p.n {
		if s.Heap(i) == 0 {
			return true
		}
	}
	return false
}

// In exchange each PE writes into its own heap and into that of the next, and each reads the data
// of all: at both ends and where a chunk may begin.
func (p *player) exchange(s heaps, round byte, end uint64) error {
	at := []uint64{0, 2*mib - 4, 34*mib - 4, end/2 - 4, end - 8}
	block := func(by int) []byte { return bytes.Repeat([]byte{byte(by + 1), round}, 4) }
	check := func(owner, by int) error {
		got := make([]byte, 8)
		for _, o := range at {
			if s.Heap(owner) == 0 || o+8 > end {
				continue
			}
			if err := p.dev.CopyOut(got, s.Heap(owner)+gpu.Address(o)); err != nil {
				return err
			}
			if !bytes.Equal(got, block(by)) {
				return fmt.Errorf("PE %d reads %v at %d of PE %d, where PE %d wrote %v", p.me, got, o, owner, by, block(by))
			}
		}
		return nil
	}
	write := func(owner int) error {
		for _, o := range at {
			if s.Heap(owner) == 0 || o+8 > end {
				continue
			}
			if err := p.dev.CopyIn(s.Heap(owner)+gpu.Address(o), block(p.me)); err != nil {
				return err
			}
		}
		return p.together()
	}
	err := write(p.me)
	for i := range p.n {
		if err == nil {
			err = check(i, i)
		}
	}
	if err == nil {
		err = p.together()
	}
	if err != nil {
		return err
	}
	next, by := (p.me+1)%p.n, (p.me+p.n-1)%p.n
	if s.Heap(by) == 0 {
		by = p.me
	}
	if err := write(next); err != nil {
		return err
	}
	return errors.Join(check(p.me, by), p.together())
}

// pointers prints the driver's attributes of addresses in the heaps.
func (p *player) pointers(s *devmem.Segment) error {
	if p.me != 0 {
		return nil
	}
	for i := range 2 {
		if s.Heap(i) == 0 {
			continue
		}
		got, err := p.dev.Pointer(s.Heap(i) + 40*mib)
		if err != nil {
			return err
		}
		if got.Place != gpu.OnDevice || got.Base > s.Heap(i)+40*mib || got.Base+gpu.Address(got.Size) <= s.Heap(i)+40*mib {
			return fmt.Errorf("the driver says of the heap of PE %d: %+v", i, got)
		}
		p.note("the driver on 40 MiB into the heap of PE %d: on GPU %d, from %d MiB on, %d MiB, buffer %d",
			i, got.Device, (int64(got.Base)-int64(s.Heap(i)))/mib, got.Size/mib, got.Buffer)
	}
	var word [1]byte
	if got, err := p.dev.Pointer(address(&word[0])); err != nil || got.Place != gpu.Pageable {
		return fmt.Errorf("the driver says of memory of Go: %+v, %w", got, err)
	}
	return nil
}

// export makes dma-bufs of the heap where the driver can.
func (p *player) export(s *devmem.Segment) error {
	if !p.dev.Facts().DMABuf {
		if p.me == 0 {
			p.note("no dma-buf on this GPU")
		}
		return nil
	}
	begin, n := time.Now(), 0
	for _, e := range s.Extents() {
		fd, err := p.dev.ExportDMABuf(s.Heap(p.me)+gpu.Address(e.Offset), e.Size)
		if err != nil {
			return fmt.Errorf("%d bytes from %d on: %w", e.Size, e.Offset, err)
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
		n++
	}
	if p.me != 0 {
		return nil
	}
	p.note("%d dma-bufs of the parts of the heap in %s", n, since(begin))
	f := p.dev.Facts()
	p.note("NICs: access %v, to mapped memory %v; order of writes %d, ways to flush %d", f.RDMA, f.RDMAVMM, f.WritesOrdering, f.FlushWrites)
	if err := p.dev.SyncMemops(s.Heap(p.me)); err != nil {
		p.note("copies are not made synchronous: %v", err)
	}
	if f.FlushWrites&1 != 0 {
		for _, all := range []bool{false, true} {
			begin := time.Now()
			if err := p.dev.FlushWrites(all); err != nil {
				return err
			}
			p.note("flush of a NIC's writes, for all GPUs: %v: %.1f us", all, float64(time.Since(begin).Nanoseconds())/1e3)
		}
	}
	fd, err := p.dev.ExportDMABuf(s.Heap(p.me), s.Committed())
	if err != nil {
		p.note("no dma-buf of all of it: %v", err)
		return nil
	}
	p.note("one dma-buf of all of it")
	return unix.Close(fd)
}
