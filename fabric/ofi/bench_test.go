package ofi

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// BenchmarkPair has two endpoints of one thread exchange messages and writes, over libfabric's own
// datagrams and over connections that this package makes. A thread that serves both ends needs no
// other to run, so the processor time of a round (cpu-ns) says on a busy machine, too, what an
// operation takes at both ends together.
func BenchmarkPair(b *testing.B) {
	for _, provider := range []string{"net", "net;msg"} {
		for _, x := range []struct {
			name  string
			round func(*duel)
		}{
			{"roundtrip-8", func(d *duel) { d.inject(0, 8); d.inject(1, 8) }},
			{"rate-8", func(d *duel) { d.burst(32, 56) }},
			{"roundtrip-4040", func(d *duel) { d.send(0, 4040); d.send(1, 4040) }},
			{"write-64K", func(d *duel) { d.write(64 << 10) }},
			{"write-1M", func(d *duel) { d.write(1 << 20) }},
			{"poll", func(d *duel) { d.poll(0); d.poll(1) }},
		} {
			b.Run(provider+"/"+x.name, func(b *testing.B) {
				d := newDuel(b, provider)
				x.round(d)
				b.ResetTimer()
				before := processor(b)
				for range b.N {
					x.round(d)
				}
				b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

func processor(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// duel is two endpoints with 2 MiB of memory each.
type duel struct {
	b     *testing.B
	ends  [2]fabric.Provider
	mem   [2][]byte
	reg   [2]fabric.Region
	came  [2]int // messages
	wrote int
	c     [32]fabric.Completion
	s     fabric.Send
	w     fabric.RMA
}

const duelBuffers, duelWrite, duelSend = 48, 60, 61

func newDuel(b *testing.B, provider string) *duel {
	d := &duel{b: b}
	var addrs [][]byte
	for i := range d.ends {
		p, err := Open(fabric.Config{Provider: provider, NICs: "lo", Tokens: 64, MaxRecv: duelBuffers})
		if err != nil {
			b.Skip(err)
		}
		b.Cleanup(func() { _ = p.Close() })
		if d.mem[i], err = unix.Mmap(-1, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
			b.Fatal(err)
		}
		if d.reg[i], err = p.Register(ptr(d.mem[i], 0), 2<<20); err != nil {
			b.Fatal(err)
		}
		d.ends[i], addrs = p, append(addrs, p.Addr())
	}
	for i, p := range d.ends {
		if err := p.Connect(addrs); err != nil {
			b.Fatal(err)
		}
		for tok := range fabric.Token(duelBuffers) {
			d.post(i, tok)
		}
	}
	return d
}

func (d *duel) post(i int, tok fabric.Token) {
	if err := d.ends[i].Recv(ptr(d.mem[i], 1<<20+int(tok)*4096), 4096, d.reg[i].Desc, tok); err != nil {
		d.b.Fatal(err)
	}
}

func (d *duel) poll(i int) {
	n, err := d.ends[i].Poll(d.c[:])
	if err != nil {
		d.b.Fatal(err)
	}
	for _, c := range d.c[:n] {
		switch {
		case c.Err != 0:
			d.b.Fatal(d.ends[i].ErrorText(&c))
		case c.Kind == fabric.KindRecv:
			d.came[i]++
			d.post(i, c.Token)
		case c.Kind == fabric.KindWrite:
			d.wrote++
		}
	}
}

func (d *duel) begin(from, n int, inject bool) {
	d.s = fabric.Send{To: libshmem.PE(1 - from), Buf: ptr(d.mem[from], 0), Len: n, Desc: d.reg[from].Desc, Token: duelSend, Inject: inject}
	for {
		switch err := d.ends[from].Send(&d.s); err {
		case nil:
			return
		case fabric.ErrAgain:
			d.poll(0)
			d.poll(1)
		default:
			d.b.Fatal(err)
		}
	}
}

func (d *duel) inject(from, n int) {
	want := d.came[1-from] + 1
	d.begin(from, n, true)
	for d.came[1-from] < want {
		d.poll(1 - from)
	}
}

func (d *duel) send(from, n int) {
	want := d.came[1-from] + 1
	d.begin(from, n, false)
	for d.came[1-from] < want {
		d.poll(from)
		d.poll(1 - from)
	}
}

func (d *duel) burst(count, n int) {
	want := d.came[1] + count
	for range count {
		d.begin(0, n, true)
	}
	for d.came[1] < want {
		d.poll(1)
	}
}

func (d *duel) write(n uint64) {
	want := d.wrote + 1
	d.w = fabric.RMA{PE: 1, Local: ptr(d.mem[0], 0), Len: n, Desc: d.reg[0].Desc, Key: d.reg[1].Key, Token: duelWrite}
	if d.ends[1].Caps().VirtualAddress {
		d.w.Remote = uint64(uintptr(ptr(d.mem[1], 0)))
	}
	for {
		err := d.ends[0].Write(&d.w)
		if err == nil {
			break
		}
		if err != fabric.ErrAgain {
			d.b.Fatal(err)
		}
		d.poll(0)
		d.poll(1)
	}
	for d.wrote < want {
		d.poll(0)
		d.poll(1)
	}
	d.inject(0, 8)
}

func ptr(b []byte, at int) unsafe.Pointer { return unsafe.Pointer(&b[at]) }
