package proxy

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wait"
	"libshmem/runtime/proxy/wake"
)

// null is a network that takes all operations, moves no bytes and completes all of them at the next
// Poll. It answers messages that ask for an answer, in the name of a PE that does not exist. A
// measurement with it has only the cost of an Engine.
type null struct {
	caps  fabric.Caps
	recvs [layout.Receives]posted
	given int // receive buffers so far
	taken int
	queue []fabric.Completion // with room for all operations that can be under way
	sent  []uint32            // answers, by PE
}

var _ fabric.Provider = (*null)(nil)

func (n *null) Caps() fabric.Caps { return n.caps }
func (n *null) Addr() []byte      { return []byte("null") }
func (n *null) Connect(addrs [][]byte) error {
	n.sent = make([]uint32, len(addrs))
	n.queue = make([]fabric.Completion, 0, layout.Tokens)
	return nil
}

func (n *null) Register(base unsafe.Pointer, size uint64) (fabric.Region, error) {
	return fabric.Region{Base: base, Len: size, Key: 1}, nil
}

func (n *null) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return n.Register(m.Base, m.Len)
}
func (n *null) Unregister(fabric.Region) error { return nil }

func (n *null) Recv(buf unsafe.Pointer, size int, _ uintptr, t fabric.Token) error {
	n.recvs[n.given%layout.Receives] = posted{buf, size, t}
	n.given++
	return nil
}

func (n *null) Send(op *fabric.Send) error {
	if h := (*layout.Header)(op.Buf); h.Kind == layout.KindFlush || h.Fetch != 0 {
		if n.taken == n.given {
			return fabric.ErrAgain
		}
		to := n.recvs[n.taken%layout.Receives]
		n.taken++
		n.sent[op.To]++
		*(*layout.Header)(to.buf) = layout.Header{Kind: layout.KindReply, Job: h.Job, From: uint32(op.To), Seq: n.sent[op.To], Token: h.Token}
		n.complete(to.token, fabric.KindRecv)
	}
	if !op.Inject {
		n.complete(op.Token, fabric.KindSend)
	}
	return nil
}

// complete stores one field at a time: an appended literal would cost a stall of 7 ns that no proxy
// has (see Engine.move).
func (n *null) complete(t fabric.Token, k fabric.Kind) {
	n.queue = n.queue[:len(n.queue)+1]
	c := &n.queue[len(n.queue)-1]
	c.Token, c.Kind = t, k
	c.Len, c.Err = layout.HeaderSize, 0
}

func (n *null) Write(op *fabric.RMA) error {
	n.complete(op.Token, fabric.KindWrite)
	return nil
}

func (n *null) Read(op *fabric.RMA) error {
	n.complete(op.Token, fabric.KindRead)
	return nil
}

func (n *null) Poll(c []fabric.Completion) (int, error) {
	k := copy(c, n.queue)
	n.queue = n.queue[:copy(n.queue, n.queue[k:])]
	return k, nil
}

func (n *null) Ready() bool                         { return len(n.queue) > 0 }
func (n *null) Arm() bool                           { return len(n.queue) == 0 }
func (n *null) Wait(d time.Duration) (bool, error)  { wait.Sleep(d); return false, nil }
func (n *null) Wake()                               {}
func (n *null) Native() fabric.Native               { return fabric.Native{} }
func (n *null) Strangers() uint64                   { return 0 }
func (n *null) ErrorText(*fabric.Completion) string { return "" }
func (n *null) Close() error                        { return nil }

// newNull makes an engine over a null network, with memory of 1 MiB.
func newNull(t testing.TB, npes int, caps fabric.Caps) *Engine {
	return newNullOn(t, &null{caps: caps}, npes)
}

func newNullOn(t testing.TB, prov fabric.Provider, npes int) *Engine {
	memory := guarded(t, internal+1<<20)
	var words [5]uint32
	e, err := New(prov, 0, npes,
		mem.Segment{Base: unsafe.Pointer(&memory[0]), Internal: internal, Size: uint64(len(memory))},
		wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[4], Sleepers: &words[2], Wakes: &words[3]},
		func(err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]Endpoint, npes)
	for i := range ends {
		ends[i] = e.Endpoint()
	}
	if err := e.Connect(ends); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// BenchmarkEngine measures the cost of an operation for the proxy over a network without cost:
// operations are posted in batches of 16, to one PE or to several in turn, with a poll after each
// batch that takes their completions.
func BenchmarkEngine(b *testing.B) {
	for _, caps := range []struct {
		name string
		fabric.Caps
	}{
		{"ordered", fabric.Caps{
			MaxMessage: 1 << 30, MaxInject: 64, WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true,
		}},
		{"unordered", fabric.Caps{MaxMessage: 1 << 30, MaxInject: 64, DeliveryComplete: true}},
	} {
		e := newNull(b, 65, caps.Caps)
		for _, peers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", caps.name, peers), func(b *testing.B) { benchEngine(b, e, peers) })
		}
	}
}

func benchEngine(b *testing.B, e *Engine, peers int) {
	const batch = 16
	large := max(uint64(layout.MaxPayload+1), 4096)
	at := e.ops.Net.Segment.Base
	var r Request
	for _, op := range []struct {
		name string
		post func(pe libshmem.PE) Status
	}{
		{"put8", func(pe libshmem.PE) Status { return e.Put(pe, 64, at, 8, nil) }},
		{"put1000", func(pe libshmem.PE) Status { return e.Put(pe, 64, at, 1000, nil) }},
		{"put4096", func(pe libshmem.PE) Status { return e.Put(pe, 64, at, large, nil) }},
		{"get4096", func(pe libshmem.PE) Status { return e.Get(pe, 64, at, large, nil) }},
		{"add", func(pe libshmem.PE) Status { return e.AMO(pe, 64, fabric.OpAdd, 8, 1, 0, nil, nil) }},
		{"fetch", func(pe libshmem.PE) Status { return e.AMO(pe, 64, fabric.OpFetchAdd, 8, 1, 0, nil, &r) }},
		{"put8_signal", func(pe libshmem.PE) Status { return e.PutSignal(pe, 64, at, 8, 128, 1, fabric.OpAdd, nil) }},
		{"put4096_signal", func(pe libshmem.PE) Status { return e.PutSignal(pe, 64, at, large, 128, 1, fabric.OpAdd, nil) }},
	} {
		b.Run(op.name, func(b *testing.B) {
			b.ReportAllocs()
			for i, n := 0, 0; n < b.N; {
				i++
				switch st := op.post(libshmem.PE(1 + i%peers)); st {
				case Failed:
					b.Fatal(e.Err())
				case Again:
				default:
					n++
				}
				if i%batch == 0 {
					if _, err := e.Poll(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			for t := e.QuietBegin(); e.QuietDone(t) == Pending; {
				if _, err := e.Poll(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/1e6/b.Elapsed().Seconds(), "M/s")
		})
	}
}
