package proxy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath"
	"libshmem/runtime/proxy/fastpath/fastpathtest"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// Two jobs start in the same state and take the same steps. The first one posts and receives in Go.
// The second one calls C first and Go only if C declines, as capi/core does. The network is a list
// of operations, and the test picks the next one that arrives. After each step the test compares
// the posted operations, the state of the engine, its memory and its reports, byte for byte.

// twins are the two jobs.
type twins struct {
	t      testing.TB
	rng    *rand.Rand
	name   string
	pes    [2][]*twin // by job: Go only, C first
	source []byte     // the source of puts
	flying []underWay
	owed   []owed
	asked  []asked
	last   []byte // the last message that arrived
	bare   bool   // completions of writes do not imply delivery
	steps  int
	step   string // the current one
	sent   int    // messages
}

// twin is one PE of one job.
type twin struct {
	*Engine
	wire    *wire
	path    *fastpathtest.Path // nil: Go only
	memory  []byte
	fetched [16]uint64 // destinations of operations without a request
	reports []string
	served  int // calls that C served
}

// underWay is a posted operation of both jobs that has not arrived.
type underWay struct {
	from libshmem.PE
	of   [2]onWire
}

// owed is a completion that a PE of both jobs will get.
type owed struct {
	pe libshmem.PE
	c  fabric.Completion
}

// asked is the same request in both jobs.
type asked [2]*Request

// onWire is an operation that an engine has posted.
type onWire struct {
	kind      fabric.Kind
	to        libshmem.PE
	token     fabric.Token // 0 for an injected message
	inject    bool
	notify    bool
	data      uint32
	remote, n uint64
	local     unsafe.Pointer // of a write or a read
	message   []byte
}

func (o *onWire) same(p *onWire) bool {
	return o.kind == p.kind && o.to == p.to && o.token == p.token && o.inject == p.inject && o.notify == p.notify &&
		o.data == p.data && o.remote == p.remote && o.n == p.n && bytes.Equal(o.message, p.message)
}

func (o *onWire) String() string {
	if o.kind != fabric.KindSend {
		return fmt.Sprintf("kind %d of %d bytes to %#x of PE %d, token %d, data %v %d", o.kind, o.n, o.remote, o.to, o.token, o.notify, o.data)
	}
	return fmt.Sprintf("message to PE %d, injected %v, token %d: %+v and % x", o.to, o.inject, o.token, *(*layout.Header)(unsafe.Pointer(&o.message[0])), o.message[layout.HeaderSize:])
}

// wire is the provider of one engine. It lists the posted operations.
type wire struct {
	caps  fabric.Caps
	box   *fastpathtest.Box // takes the posts of C
	room  int               // how many more posts it takes
	shut  bool              // it refuses receive buffers
	posts []onWire
	recvs []posted
	keys  uint64
}

var _ fabric.Provider = (*wire)(nil)

func (w *wire) Caps() fabric.Caps      { return w.caps }
func (w *wire) Addr() []byte           { return []byte("wire") }
func (w *wire) Connect([][]byte) error { return nil }

func (w *wire) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	w.keys++
	return fabric.Region{Base: base, Len: n, Key: w.keys}, nil
}

func (w *wire) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return w.Register(m.Base, m.Len)
}

func (w *wire) Unregister(fabric.Region) error { return nil }

func (w *wire) Recv(buf unsafe.Pointer, n int, _ uintptr, t fabric.Token) error {
	if w.shut {
		return fabric.ErrAgain
	}
	w.recvs = append(w.recvs, posted{buf, n, t})
	return nil
}

func (w *wire) Send(op *fabric.Send) error {
	o := onWire{kind: fabric.KindSend, to: op.To, inject: op.Inject, message: unsafe.Slice((*byte)(op.Buf), op.Len)}
	if !op.Inject {
		o.token = op.Token
	}
	return w.post(o)
}

func (w *wire) Write(op *fabric.RMA) error {
	o := onWire{
		kind: fabric.KindWrite, to: op.PE, token: op.Token, notify: op.Notify, remote: op.Remote, n: op.Len, local: op.Local,
	}
	if op.Notify {
		o.data = op.Data
	}
	return w.post(o)
}

func (w *wire) Read(op *fabric.RMA) error {
	return w.post(onWire{kind: fabric.KindRead, to: op.PE, token: op.Token, remote: op.Remote, n: op.Len, local: op.Local})
}

func (w *wire) post(o onWire) error {
	if w.room == 0 {
		return fabric.ErrAgain
	}
	w.room--
	o.message = bytes.Clone(o.message)
	w.posts = append(w.posts, o)
	return nil
}

func (w *wire) Poll([]fabric.Completion) (int, error) { return 0, nil }
func (w *wire) Ready() bool                           { return false }
func (w *wire) Arm() bool                             { return true }
func (w *wire) Wait(time.Duration) (bool, error)      { return false, nil }
func (w *wire) Wake()                                 {}
func (w *wire) Native() fabric.Native                 { return fabric.Native{} }
func (w *wire) Strangers() uint64                     { return 0 }
func (w *wire) ErrorText(c *fabric.Completion) string { return fmt.Sprintf("error %d", c.Err) }
func (w *wire) Close() error                          { return nil }

// inC calls the fast path, if the twin has one, and moves the posts of C to the wire.
func (p *twin) inC(call func(f *fastpathtest.Path) bool) bool {
	if p.path == nil {
		return false
	}
	w := p.wire
	w.box.Limit(w.room, !w.shut)
	did := call(p.path)
	w.box.Messages(func(pe libshmem.PE, m []byte) bool {
		return w.post(onWire{kind: fabric.KindSend, to: pe, inject: true, message: m}) == nil
	})
	w.box.Receives(func(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) bool {
		return w.Recv(buf, n, desc, t) == nil
	})
	if did {
		p.served++
	}
	return did
}

const (
	twinHeap     = 8192
	twinContexts = 2
	plenty       = 1 << 20
)

func newTwins(t testing.TB, m mode, seed uint64, n int) *twins {
	m.caps.VirtualAddress = false // the jobs' memories lie at different addresses
	tw := &twins{t: t, rng: rand.New(rand.NewPCG(seed, 3)), name: fmt.Sprintf("seed %d on %s", seed, m.name), bare: !m.caps.DeliveryComplete}
	tw.source = guarded(t, twinHeap)
	for i := range tw.source {
		tw.source[i] = byte(tw.rng.Uint32())
	}
	for side := range tw.pes {
		ends := make([]Endpoint, n)
		for i := range n {
			p := &twin{wire: &wire{caps: m.caps, room: plenty}, memory: guarded(t, internal+twinHeap)}
			tell := func(err error) { p.reports = append(p.reports, err.Error()) }
			words := new([5]uint32)
			var err error
			p.Engine, err = New(p.wire, i, n, mem.Segment{Base: unsafe.Pointer(&p.memory[0]), Internal: internal, Size: uint64(len(p.memory)), RoundsOffset: internal - 8, RoundsSize: internal / 2},
				wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[4], Sleepers: &words[2], Wakes: &words[3]}, tell)
			if err != nil {
				t.Fatal(err)
			}
			p.Report.ReportTo(tell)
			ends[i] = p.Endpoint()
			if ends[i].Job = token; seed%2 == 1 {
				ends[i].Seal = [2]uint64{seed, token}
			}
			tw.pes[side] = append(tw.pes[side], p)
		}
		for _, p := range tw.pes[side] {
			if err := p.Connect(ends); err != nil {
				t.Fatal(err)
			}
			if _, err := p.OpenContext(twinContexts - 1); err != nil {
				t.Fatal(err)
			}
			if side == 1 {
				p.wire.box = fastpathtest.NewBox(seed, 0, 0)
				n := p.wire.box.Native()
				p.path = fastpathtest.NewPath(fastpath.Config{FastPath: unsafe.Pointer(p.State), Self: n.Self, Poll: n.Poll, Recv: n.Recv, Inject: n.Inject})
			}
		}
	}
	return tw
}

func (tw *twins) close() {
	for _, side := range tw.pes {
		for _, p := range side {
			if p.path != nil {
				p.path.Close()
				p.wire.box.Close()
			}
			if err := p.Close(); err != nil {
				tw.t.Error(err)
			}
		}
	}
}

// each does one step on PE i of both jobs, and compares the results.
func (tw *twins) each(i libshmem.PE, step string, do func(side int, p *twin) any) {
	tw.steps++
	tw.step = step
	a, b := tw.pes[0][i], tw.pes[1][i]
	x, y := do(0, a), do(1, b)
	if x != y {
		tw.differ(i, "answer", x, y)
	}
	tw.compare(i, a, b)
	tw.flew(i, a, b)
}

func (tw *twins) differ(i libshmem.PE, what string, a, b any) {
	tw.t.Fatalf("%s, step %d (%s): PE %d differs: %s\nin Go: %+v\nin C:  %+v", tw.name, tw.steps, tw.step, i, what, a, b)
}

// flew compares the operations that PE i has posted, and moves them to flying.
func (tw *twins) flew(i libshmem.PE, a, b *twin) {
	for k := range max(len(a.wire.posts), len(b.wire.posts)) {
		if k >= len(a.wire.posts) || k >= len(b.wire.posts) {
			tw.differ(i, "number of posts", len(a.wire.posts), len(b.wire.posts))
		}
		x, y := a.wire.posts[k], b.wire.posts[k]
		if !x.same(&y) {
			tw.differ(i, "post", &x, &y)
		}
		tw.flying = append(tw.flying, underWay{i, [2]onWire{x, y}})
		switch {
		case x.kind == fabric.KindSend:
			if tw.sent++; !x.inject {
				tw.owed = append(tw.owed, owed{i, fabric.Completion{Token: x.token, Kind: x.kind}})
			}
		case x.kind == fabric.KindWrite && tw.bare:
			tw.owed = append(tw.owed, owed{i, fabric.Completion{Token: x.token, Kind: x.kind}})
		}
	}
	a.wire.posts, b.wire.posts = a.wire.posts[:0], b.wire.posts[:0]
}

// compare compares PE i of both jobs.
func (tw *twins) compare(i libshmem.PE, a, b *twin) {
	if !slices.Equal(a.reports, b.reports) {
		tw.differ(i, "reports", a.reports, b.reports)
	}
	a.reports, b.reports = a.reports[:0], b.reports[:0]
	if !bytes.Equal(a.memory, b.memory) || a.fetched != b.fetched {
		tw.differ(i, "memory", "", "")
	}
	if !slices.EqualFunc(a.wire.recvs, b.wire.recvs, func(x, y posted) bool { return x.token == y.token && x.n == y.n }) {
		tw.differ(i, "receive buffers", a.wire.recvs, b.wire.recvs)
	}
	if !slices.Equal(a.ops.Table.Free, b.ops.Table.Free) || a.ops.Table.Bytes != b.ops.Table.Bytes || a.Report.Refused() != b.Report.Refused() || a.bursts.Held != b.bursts.Held {
		tw.differ(i, "state of the port", []any{len(a.ops.Table.Free), a.ops.Table.Bytes, a.Report.Refused(), a.bursts.Held}, []any{len(b.ops.Table.Free), b.ops.Table.Bytes, b.Report.Refused(), b.bursts.Held})
	}
	tw.compareStream(i, a.Engine, b.Engine)
	for s := range a.others {
		if a.others[s] != nil {
			tw.compareStream(i, a.others[s], b.others[s])
		}
	}
	for _, r := range tw.asked {
		if *r[0] != *r[1] {
			tw.differ(i, "request", *r[0], *r[1])
		}
	}
	tw.asked = slices.DeleteFunc(tw.asked, func(r asked) bool { return r[0].Done != 0 })
}

// compareStream compares one context of PE i.
func (tw *twins) compareStream(i libshmem.PE, a, b *Engine) {
	if x, y := alike(a), alike(b); x != y {
		tw.differ(i, "state", fields(x, y), fields(y, x))
	}
	if x, y := a.rest(), b.rest(); x != y {
		tw.differ(i, "engine", fields(x, y), fields(y, x))
	}
	if !slices.Equal(a.ops.Quiets.Dirty(), b.ops.Quiets.Dirty()) || !slices.Equal(a.ops.Net.Unposted[:a.NUnposted], b.ops.Net.Unposted[:b.NUnposted]) {
		tw.differ(i, "lists", a.ops.Quiets.Dirty(), b.ops.Quiets.Dirty())
	}
	if !slices.Equal(a.ops.Quiets.Late, b.ops.Quiets.Late) || !slices.Equal(a.out.Queues, b.out.Queues) || !slices.Equal(a.out.Unsent, b.out.Unsent) {
		tw.differ(i, "queues", []any{a.ops.Quiets.Late, a.out.Queues, a.out.Unsent}, []any{b.ops.Quiets.Late, b.out.Queues, b.out.Unsent})
	}
	for pe := range a.ops.Peers {
		x, y := a.ops.Peers[pe], b.ops.Peers[pe]
		v, w := a.within(x.Batch), b.within(y.Batch)
		x.Batch, y.Batch = nil, nil
		if x != y || v != w {
			tw.differ(i, fmt.Sprintf("peer %d of context %d", pe, a.ops.Number), fields(x, y)+fmt.Sprint(v), fields(y, x)+fmt.Sprint(w))
		}
		if a.ops.Number == 0 {
			for k := range min(x.Recorded, 4) {
				if v, w := a.eventAt(&x, k), b.eventAt(&y, k); v != w {
					tw.differ(i, fmt.Sprintf("event %d before the last of PE %d", k, pe), flight.Recorded{Entry: layout.Entry{What: v}},
						flight.Recorded{Entry: layout.Entry{What: w}})
				}
			}
		}
	}
}

// eventAt returns an event of a PE, so many before its last one, without its time.
func (e *Engine) eventAt(p *layout.Peer, before uint32) uint64 {
	at := p.Ring*layout.RingEvents + (p.Recorded-1-before)%layout.RingEvents
	return (*layout.Entry)(unsafe.Add(e.Records, uintptr(at)*unsafe.Sizeof(layout.Entry{}))).What
}

// within returns the offset of an address in the buffers of an engine, or 0 for nil.
func (e *Engine) within(at unsafe.Pointer) uintptr {
	if at == nil {
		return 0
	}
	return uintptr(at) - uintptr(e.ops.Net.Buffers)
}

// fields lists the fields of x that differ in y.
func fields[T any](x, y T) (text string) {
	v, w := reflect.ValueOf(x), reflect.ValueOf(y)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "_" && fmt.Sprint(v.Field(i)) != fmt.Sprint(w.Field(i)) {
			text += fmt.Sprintf("%s %v, ", name, v.Field(i))
		}
	}
	return text
}

// alike returns the state that C works on, without addresses and times.
func alike(e *Engine) layout.State {
	x := *e.State
	x.Peers, x.Dirty, x.Unposted, x.Buffers, x.Scratch, x.Segment, x.Contexts, x.Shown, x.Records = nil, nil, nil, nil, nil, nil, nil, nil, nil
	x.Tick = 0
	return x
}

// rests returns the state of a context that only Go works on.
type rests struct {
	open                                               Ticket
	wanted, listed, drafts, records, jams              bool
	pending                                            [3]int
	unmet, failed, kept, bytes, dropped, sticks, flows int
	lost                                               [2]string
	err                                                string
}

func (e *Engine) rest() rests {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return rests{
		open: e.ops.Quiets.Open, wanted: e.ops.Quiets.Wanted, listed: e.listed, drafts: e.out.Drafted != 0, records: e.out.Recording, jams: e.out.Jammed, pending: e.ops.Quiets.Pending,
		unmet: e.ops.Quiets.Unmet, failed: e.ops.Quiets.Failed(), kept: e.in.Early.Len(), bytes: e.in.Early.Bytes(), dropped: len(e.in.Dropped), sticks: len(e.stuckContexts), flows: len(e.in.Flows),
		lost: [2]string{text(e.ops.Quiets.Lost()[0]), text(e.ops.Quiets.Lost()[1])}, err: text(e.ops.Net.Err),
	}
}
