package proxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath/fastpathtest"
	"libshmem/runtime/proxy/layout"
)

// mode is the behaviour of a fake network.
type mode struct {
	name    string
	caps    fabric.Caps
	again   int               // percent of the posts that are refused
	credits int               // operations under way from one endpoint, 0: any number
	native  bool              // C can post and poll, too
	delay   int               // the most polls for one stage of an operation
	fail    func(*work) int32 // the error of an operation; nil: none fails
	stuck   func(*work) bool  // reports whether an operation does not move; nil: all move
	gpus    *gpus             // nil: main memory only

	noGPU func(fabric.GPUMemory) error // the error of a registration of GPU memory; nil: none fails
}

// fakeNetwork joins the endpoints of one process. It does what its mode's caps allow, and no more
// than they promise, by the numbers of its seed: operations leave late, overtake each other, and
// land in two pieces. It moves when an endpoint is polled.
type fakeNetwork struct {
	t    testing.TB
	mode mode

	mu     sync.Mutex
	rng    *rand.Rand
	now    int
	ends   []*end
	flying []*work // in the order of posting
	pool   []*work
	landed func(pe libshmem.PE) // called after a write changed memory of pe
	cards  []*testGPU           // nil: none
}

// work is an operation under way.
type work struct {
	kind     fabric.Kind
	from, to libshmem.PE
	token    fabric.Token
	inject   bool
	local    unsafe.Pointer
	n        int
	remote   uint64
	key      uint64
	data     []byte // the bytes that have left the source
	notify   bool
	number   uint32
	left     bool
	half     int // where a write was cut when its first piece landed, 0: not yet
	due      int
	refused  int32
}

type posted struct {
	buf   unsafe.Pointer
	n     int
	token fabric.Token
}

// end is one endpoint.
type end struct {
	net       *fakeNetwork
	me        libshmem.PE
	peers     int
	queue     []fabric.Completion
	inbox     []*work // messages that have arrived and wait for a buffer
	recvs     []posted
	busy      map[fabric.Token]bool
	flying    int
	regions   map[uint64]fabric.Region
	keys      uint64
	wake      chan struct{}
	strangers uint64 // completions that the provider dropped, as set by a test
	came      bool   // something arrived since the last Wait
	closed    bool
	box       *fastpathtest.Box // takes the posts of C; nil: C cannot post

	// For tests.
	polls, waits, refusals int
	arms                   int  // calls of Arm
	waiting                bool // within Wait
	wakes                  atomic.Int32
	pollErr                error
}

var _ fabric.Provider = (*end)(nil)

func newFakeNetwork(t testing.TB, m mode, seed uint64, n int) *fakeNetwork {
	w := &fakeNetwork{t: t, mode: m, rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range n {
		w.ends = append(w.ends, &end{
			net: w, me: libshmem.PE(i), busy: map[fabric.Token]bool{}, regions: map[uint64]fabric.Region{},
			wake: make(chan struct{}, 1),
		})
	}
	return w
}

// broken reports that the engine broke a rule of the Provider interface.
func (w *fakeNetwork) broken(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("provider misused: "+format, args...)
}

func (e *end) Caps() fabric.Caps { return e.net.mode.caps }
func (e *end) Addr() []byte      { return fmt.Appendf(nil, "end %d", e.me) }

func (e *end) Connect(addrs [][]byte) error {
	e.peers = len(addrs)
	return nil
}

func (e *end) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.keys++
	r := fabric.Region{Base: base, Len: n, Key: uint64(e.me)<<32 | e.keys, ID: int(e.keys)}
	if e.net.mode.caps.LocalMR {
		r.Desc = uintptr(r.Key) // no address, as with some providers
	}
	e.regions[r.Key] = r
	return r, nil
}

func (e *end) Unregister(r fabric.Region) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if _, ok := e.regions[r.Key]; !ok {
		e.net.broken("PE %d: region %#x is not registered", e.me, r.Key)
	}
	delete(e.regions, r.Key)
	return nil
}

// registered checks a local buffer.
func (e *end) registered(buf unsafe.Pointer, n int, desc uintptr) {
	if !e.net.mode.caps.LocalMR {
		return
	}
	for _, r := range e.regions {
		if o := uint64(uintptr(buf) - uintptr(r.Base)); r.Desc == desc && o <= r.Len && uint64(n) <= r.Len-o {
			return
		}
	}
	e.net.broken("PE %d: local buffer of %d bytes is not in the region of its descriptor", e.me, n)
}

// refuse reports whether a post finds no room.
func (e *end) refuse() bool {
	m := &e.net.mode
	return m.credits > 0 && e.flying >= m.credits || m.again > 0 && e.net.rng.IntN(100) < m.again
}

// more returns the number of further receive buffers: without numbers, all that the queue has room
// for.
func (e *end) more() int {
	if c := &e.net.mode.caps; c.RNRRetries {
		return c.Arrivals
	}
	return 0
}

func (e *end) take(t, below fabric.Token) {
	if t >= below || e.busy[t] {
		e.net.broken("PE %d: token %d is in flight or too large", e.me, t)
	}
	e.busy[t] = true
}

func (e *end) Recv(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if m := &e.net.mode; m.again > 0 && e.net.rng.IntN(100) < m.again {
		e.refusals++
		return fabric.ErrAgain
	}
	e.registered(buf, n, desc)
	e.take(t, layout.Tokens+fabric.Token(e.more()))
	if e.recvs = append(e.recvs, posted{buf, n, t}); len(e.recvs) > layout.Receives+e.more() {
		e.net.broken("PE %d: %d receive buffers", e.me, len(e.recvs))
	}
	e.match()
	return nil
}

func (e *end) Send(op *fabric.Send) error {
	return e.post(work{
		kind: fabric.KindSend, to: op.To, token: op.Token, inject: op.Inject, local: op.Buf, n: op.Len,
	}, op.Desc)
}

func (e *end) Write(op *fabric.RMA) error { return e.oneSided(fabric.KindWrite, op) }
func (e *end) Read(op *fabric.RMA) error  { return e.oneSided(fabric.KindRead, op) }

func (e *end) oneSided(kind fabric.Kind, op *fabric.RMA) error {
	if op.Len > e.net.mode.caps.MaxMessage {
		e.net.broken("PE %d: %d bytes in one operation", e.me, op.Len)
	}
	return e.post(work{
		kind: kind, to: op.PE, token: op.Token, inject: op.Inject, local: op.Local, n: int(op.Len),
		remote: op.Remote, key: op.Key, notify: op.Notify, number: op.Data,
	}, op.Desc)
}

func (e *end) post(o work, desc uintptr) error {
	w := e.net
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.refuse() {
		e.refusals++
		return fabric.ErrAgain
	}
	if int(o.to) >= e.peers || o.inject && (o.n > w.mode.caps.MaxInject || o.kind == fabric.KindRead) {
		w.broken("PE %d: kind %d, %d bytes to PE %d, inject %v", e.me, o.kind, o.n, o.to, o.inject)
		return nil
	}
	if !o.inject {
		e.registered(o.local, o.n, desc)
		e.take(o.token, layout.Tokens)
	}
	var p *work
	if n := len(w.pool); n > 0 {
		p, w.pool = w.pool[n-1], w.pool[:n-1]
	} else {
		p = new(work)
	}
	o.data, o.from = p.data[:0], e.me
	*p = o
	if o.inject {
		p.data = append(p.data, unsafe.Slice((*byte)(o.local), o.n)...)
	}
	p.due = w.later()
	e.flying++
	w.flying = append(w.flying, p)
	return nil
}

func (w *fakeNetwork) later() int {
	if w.mode.delay == 0 {
		return w.now
	}
	return w.now + w.rng.IntN(w.mode.delay)
}

// step moves operations that are under way: all of them on a network without delay, else usually
// one operation by one stage.
func (w *fakeNetwork) step() {
	w.now++
	if w.mode.delay == 0 {
		for i := 0; i < len(w.flying); {
			if !w.advance(i) {
				i++
			}
		}
		return
	}
	for range 1 + w.rng.IntN(3) {
		if len(w.flying) == 0 {
			return
		}
		i := w.rng.IntN(len(w.flying))
		for k := range w.flying[i:] {
			if !w.stuck(w.flying[i+k]) {
				i += k
				break
			}
		}
		if w.flying[i].left {
			i = w.first(i) // otherwise all wait for one that is hard to hit
		}
		if w.flying[i].due <= w.now {
			w.advance(i)
		}
	}
}

// advance moves operation i on and reports whether it has arrived.
func (w *fakeNetwork) advance(i int) bool {
	o := w.flying[i]
	if w.stuck(o) {
		return false
	}
	if !o.left {
		w.leave(o)
		if w.mode.delay > 0 && o.refused == 0 {
			o.due = w.later()
			return false
		}
	}
	if o.refused == 0 && (w.first(i) != i || !w.arrive(o)) {
		return false
	}
	w.flying = slices.Delete(w.flying, i, i+1)
	w.ends[o.from].flying--
	if o.kind != fabric.KindSend || o.refused != 0 {
		w.pool = append(w.pool, o)
	}
	return true
}

func (w *fakeNetwork) stuck(o *work) bool { return w.mode.stuck != nil && w.mode.stuck(o) }

func (w *fakeNetwork) leave(o *work) {
	o.left = true
	if w.mode.fail != nil {
		if o.refused = w.mode.fail(o); o.refused != 0 {
			if o.inject {
				w.t.Fatal("an injected operation has no completion to fail")
			}
			w.ends[o.from].complete(fabric.Completion{Token: o.token, Kind: o.kind, Err: o.refused})
			return
		}
	}
	if o.inject {
		return
	}
	if o.kind != fabric.KindRead {
		o.data = append(o.data, w.read(w.see(o.local, o.n))...)
	}
	if o.kind == fabric.KindSend || o.kind == fabric.KindWrite && !w.mode.caps.DeliveryComplete {
		w.ends[o.from].complete(fabric.Completion{Token: o.token, Kind: o.kind, Len: uint64(o.n)})
	}
}

// first returns the first operation that must arrive before operation i, or i.
func (w *fakeNetwork) first(i int) int {
	o, caps := w.flying[i], &w.mode.caps
	for k, before := range w.flying[:i] {
		if before.from != o.from || before.to != o.to {
			continue
		}
		switch {
		case before.kind == fabric.KindSend && o.kind == fabric.KindSend && caps.SendAfterSend,
			before.kind == fabric.KindWrite && o.kind == fabric.KindSend && caps.SendAfterWrite,
			before.kind == fabric.KindWrite && o.kind == fabric.KindWrite && caps.WriteAfterWrite:
			return k
		}
	}
	return i
}

// arrive puts the bytes in place; false after the first piece of two.
func (w *fakeNetwork) arrive(o *work) bool {
	to := w.ends[o.to]
	if o.kind == fabric.KindSend {
		to.inbox = append(to.inbox, o)
		to.match()
		return true
	}
	at := to.remote(o)
	if at == nil {
		w.t.Fatalf("PE %d: %d bytes at %#x of PE %d, outside its regions", o.from, o.n, o.remote, o.to)
	}
	local := fabric.Completion{Token: o.token, Kind: o.kind, Len: uint64(o.n)}
	if o.kind == fabric.KindRead {
		w.write(w.see(o.local, o.n), w.read(at))
		w.ends[o.from].complete(local)
		return true
	}
	if w.mode.delay > 0 && o.n > 1 && o.half == 0 {
		o.half = 1 + w.rng.IntN(o.n-1)
		o.due = w.later()
		w.write(at[o.half:], o.data[o.half:])
		w.changed(o.to)
		return false
	}
	if o.half > 0 {
		at = at[:o.half]
	}
	w.write(at, o.data[:len(at)])
	if o.notify {
		c := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: o.number}
		c.SetFrom(o.from)
		to.complete(c)
	}
	w.changed(o.to)
	if w.mode.caps.DeliveryComplete {
		w.ends[o.from].complete(local)
	}
	return true
}

func (w *fakeNetwork) changed(pe libshmem.PE) {
	w.ends[pe].come()
	if w.landed != nil {
		w.landed(pe)
	}
}

// remote returns the memory of this end that a one-sided operation names.
func (e *end) remote(o *work) []byte {
	r, ok := e.regions[o.key]
	at := o.remote
	if e.net.mode.caps.VirtualAddress {
		at -= uint64(uintptr(r.Base))
	}
	if !ok || at > r.Len || uint64(o.n) > r.Len-at {
		return nil
	}
	return e.net.see(unsafe.Add(r.Base, at), o.n)
}

func (e *end) complete(c fabric.Completion) {
	e.queue = append(e.queue, c)
	e.come()
}

// come ends a Wait because of an arrival.
func (e *end) come() {
	e.came = true
	e.signal()
}

func (e *end) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *end) Poll(c []fabric.Completion) (int, error) {
	w := e.net
	w.mu.Lock()
	defer w.mu.Unlock()
	e.polls++
	w.step()
	most := len(c)
	if w.mode.delay > 0 {
		// The order of completions is not promised.
		w.rng.Shuffle(len(e.queue), func(i, k int) { e.queue[i], e.queue[k] = e.queue[k], e.queue[i] })
		most = 1 + w.rng.IntN(min(4, len(c)))
	}
	n := copy(c[:most], e.queue)
	for i := range n {
		delete(e.busy, c[i].Token)
	}
	e.queue = slices.Delete(e.queue, 0, n)
	return n, e.pollErr
}

func (e *end) Ready() bool { return !e.Arm() }

func (e *end) Arm() bool {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.arms++
	return len(e.queue) == 0
}

func (e *end) Wait(d time.Duration) (bool, error) {
	e.net.mu.Lock()
	e.waits++
	e.waiting = true
	e.net.mu.Unlock()
	select {
	case <-e.wake:
	case <-time.After(d):
	}
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.waiting = false
	came := e.came
	e.came = false
	return came, nil
}

func (e *end) Wake() {
	e.wakes.Add(1)
	e.signal()
}

func (e *end) Native() fabric.Native { return fabric.Native{} }

func (e *end) Strangers() uint64 { return e.strangers }

func (e *end) ErrorText(c *fabric.Completion) string {
	return fmt.Sprintf("the network of the tests says %d", c.Err)
}

func (e *end) Close() error {
	e.closed = true
	return nil
}
