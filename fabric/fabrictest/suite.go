// Package fabrictest tests that a fabric.Provider keeps the rules of the interface: it opens
// endpoints in one process, connects them, and checks the interface's promises and those of their
// Caps.
//
// It knows no provider: the test that runs it passes the function that opens an endpoint.
package fabrictest

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// Open opens one endpoint of the provider under test.
type Open func(fabric.Config) (fabric.Provider, error)

// Limits lists the rules that a provider breaks, each with the reason, which the test prints. The
// other rules of the same test are checked all the same.
type Limits struct {
	BadKey string // an operation with a wrong key may fail without an error
	Wait   string // an arrival may not end a Wait
	Data   string // writes with immediate data do not work although Caps has them
	Close  string // peers of a closed endpoint cannot go on
	Full   string // a target whose socket buffer has been full may never receive again

	Writes  int           // how many Writes may be under way at each of two endpoints that both write; 0: any number
	Unread  time.Duration // for which the target of test Unread may sleep until all bytes are in place; 0: 1 s
	Timeout time.Duration // after which a test gives up; 0: 40 s
}

// Simulated is Limits.Unread of a network that the processor moves packet by packet, under the race
// detector and beside other tests. An endpoint that oversleeps would take minutes.
const Simulated = 30 * time.Second

const (
	tokens  = 576     // tokens of an endpoint: of receive buffers, and from receipt on of operations
	receipt = 64      // receive buffers
	further = 7       // further receive buffers of test MoreReceives
	biggest = 8 << 20 // bytes of the part of the memory that operations change, and of the one that they send
	message = 4096    // bytes of a receive buffer
)

// timeout is the time that a test waits for an event that must happen.
var timeout time.Duration

// Run runs the suite.
func Run(t *testing.T, open Open, limits Limits) {
	RunEach(t, func(*testing.T) Open { return open }, limits)
}

// RunEach runs the suite. opens returns the function by which a test opens its endpoints.
func RunEach(t *testing.T, opens func(*testing.T) Open, limits Limits) {
	if timeout = limits.Timeout; timeout == 0 {
		timeout = 40 * time.Second
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, *suite)
	}{
		{"Messages", messages},
		{"Injected", injected},
		{"OneSided", oneSided},
		{"Delivery", delivery},
		{"WriteThenFlag", writeThenFlag},
		{"WriteThenMessage", writeThenMessage},
		{"MessageOrder", messageOrder},
		{"MoreReceives", moreReceives},
		{"Flood", flood},
		{"Allocations", allocations},
		{"ThreePEs", threePEs},
		{"Unreachable", unreachable},
		{"BadKey", badKey},
		{"Sleep", sleep},
		{"Wake", wake},
		{"Unread", unread},
		{"Arrivals", arrivals},
		{"Notified", notified},
		{"NotifiedWithoutReceives", notifiedWithoutReceives},
		{"NotifiedByMany", notifiedByMany},
		{"Overrun", overrun},
		{"Atomics", atomics},
		{"AtomicSums", atomicSums},
		{"Fences", fences},
		{"SeveralEndpoints", severalEndpoints},
		{"Again", again},
		{"CloseBusy", closeBusy},
		{"Closed", closed},
		{"Registration", registration},
		{"Native", native},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, &suite{open: opens(t), limits: limits}) })
	}
}

// suite has what each test of the suite needs.
type suite struct {
	open   Open
	limits Limits
	config fabric.Config // of the endpoints to open, on top of the needs of each test
}

// with returns the suite for endpoints with another configuration.
func (s *suite) with(c fabric.Config) *suite { return &suite{s.open, s.limits, c} }

// endpoint is a provider's endpoint under test, with memory of its own that peers may write.
type endpoint struct {
	prov   fabric.Provider
	caps   fabric.Caps
	region fabric.Region
	mem    []byte
	comps  []fabric.Completion // completions that the endpoint has polled and no test has removed yet
	owed   []fabric.Token      // receive buffers that could not be posted yet
	batch  [16]fabric.Completion
	came   bool // the result of the last Wait of serve: something has arrived
}

// layout of an endpoint's memory
const (
	atTarget = 0           // peers write here
	atSource = biggest     // this endpoint sends from here
	atBuffer = 2 * biggest // receive buffers
	memory   = 2*biggest + (tokens+further)*message
)

// endpoints opens n endpoints and connects them. They are closed with the test.
func (s *suite) endpoints(t *testing.T, n int) []*endpoint {
	t.Helper()
	all := make([]*endpoint, n)
	addrs := make([][]byte, n)
	for i := range all {
		all[i] = s.endpoint(t)
		addrs[i] = all[i].prov.Addr()
	}
	for _, e := range all {
		if err := e.prov.Connect(addrs); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// endpoint opens an endpoint with registered memory, which is not connected yet. It is closed with
// the test.
func (s *suite) endpoint(t *testing.T) *endpoint {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, memory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	e := &endpoint{mem: mem}
	config := s.config
	config.Tokens, config.MaxRecv = tokens, receipt
	if e.prov, err = s.open(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.prov.Close(); err != nil {
			t.Error(err)
		}
	})
	e.caps = e.prov.Caps()
	if e.region, err = e.prov.Register(e.at(0), uint64(len(mem))); err != nil {
		t.Fatal(err)
	}
	return e
}

// at returns the address of the byte at an offset in e's memory.
func (e *endpoint) at(offset int) unsafe.Pointer { return unsafe.Pointer(&e.mem[offset]) }

// remote returns the address, for one-sided operations of peers, of an offset in e's memory.
func (e *endpoint) remote(offset int) uint64 {
	if e.caps.VirtualAddress {
		return uint64(uintptr(e.at(offset)))
	}
	return uint64(offset)
}

// poll polls the endpoint once, moves new completions to e.comps, and returns their number.
func (e *endpoint) poll(t *testing.T) int {
	t.Helper()
	n, err := e.pollFor(t)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pollFor polls the endpoint once like poll, and returns Poll's error instead of failing the test.
// Before that it posts the receive buffers of e.owed. repost puts back those that are still
// refused, at most as many as were read, so no entry is overwritten before it is read.
func (e *endpoint) pollFor(t *testing.T) (int, error) {
	t.Helper()
	owed := e.owed
	e.owed = e.owed[:0]
	for _, tok := range owed {
		e.repost(t, tok)
	}
	n, err := e.prov.Poll(e.batch[:])
	e.comps = append(e.comps, e.batch[:n]...)
	return n, err
}

// until polls all endpoints until ok returns true. It fails the test after timeout.
func until(t *testing.T, all []*endpoint, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for rounds := 0; !ok(); rounds++ {
		idle := true
		for _, e := range all {
			if e.poll(t) > 0 {
				idle = false
			}
		}
		if idle {
			runtime.Gosched() // providers with threads need the processor
			if rounds%64 == 63 && time.Now().After(deadline) {
				t.Fatalf("%s: nothing for %v", what, timeout)
			}
		}
	}
}

// removeCompletion removes the completion of a token from e.comps and returns it; false if it has
// not arrived.
func (e *endpoint) removeCompletion(tok fabric.Token) (fabric.Completion, bool) {
	for i, c := range e.comps {
		if c.Token == tok {
			e.comps = append(e.comps[:i], e.comps[i+1:]...)
			return c, true
		}
	}
	return fabric.Completion{}, false
}

// waitDone waits for the completion of a token, which must be of this kind and without an error.
func (e *endpoint) waitDone(t *testing.T, all []*endpoint, tok fabric.Token, kind fabric.Kind) fabric.Completion {
	t.Helper()
	var c fabric.Completion
	until(t, all, fmt.Sprintf("token %d", tok), func() (ok bool) { c, ok = e.removeCompletion(tok); return ok })
	if c.Err != 0 {
		t.Fatalf("token %d: %s", tok, e.prov.ErrorText(&c))
	}
	if c.Kind != kind {
		t.Fatalf("token %d: kind %d, want %d", tok, c.Kind, kind)
	}
	return c
}

// postRetrying posts an operation. As long as the provider's queue is full (ErrAgain), it polls all
// endpoints and tries again.
func postRetrying(t *testing.T, all []*endpoint, what string, post func() error) {
	t.Helper()
	until(t, all, what, func() bool {
		switch err := post(); err {
		case nil:
			return true
		case fabric.ErrAgain:
			return false
		default:
			t.Fatalf("%s: %v", what, err)
			return false
		}
	})
}

// firstOther is the first token of operations; receive buffers have the tokens below it.
const firstOther = receipt

// pool has the tokens that no operation uses. Completions arrive in any order, so each token is put
// back by itself.
type pool []fabric.Token

// newPool returns a pool of n tokens, all free.
func newPool(n int) pool {
	p := make(pool, n)
	for i := range p {
		p[i] = firstOther + fabric.Token(i)
	}
	return p
}

// next returns a free token. It stays free until take, because the post may be refused.
func (p pool) next() fabric.Token { return p[len(p)-1] }

// take removes the token that next has returned.
func (p *pool) take() { *p = (*p)[:len(*p)-1] }

// receive posts the receive buffer of a token, n bytes of it.
func (e *endpoint) receive(t *testing.T, all []*endpoint, tok fabric.Token, n int) {
	t.Helper()
	postRetrying(t, all, "receive", func() error {
		return e.prov.Recv(e.at(e.buffer(tok)), n, e.region.Desc, tok)
	})
}

// repost posts a receive buffer now or, if the receive queue is full, at a later poll. It does not
// poll, so a loop over completions may call it.
func (e *endpoint) repost(t *testing.T, tok fabric.Token) {
	t.Helper()
	switch err := e.prov.Recv(e.at(e.buffer(tok)), message, e.region.Desc, tok); err {
	case nil:
	case fabric.ErrAgain:
		e.owed = append(e.owed, tok)
	default:
		t.Fatal(err)
	}
}

// buffer returns the offset of a token's receive buffer in e's memory.
func (e *endpoint) buffer(tok fabric.Token) int { return atBuffer + int(tok)*message }

// send posts a message of n bytes at an offset of e's memory, and polls all endpoints while the
// provider refuses it.
func (e *endpoint) send(t *testing.T, all []*endpoint, to libshmem.PE, offset, n int, tok fabric.Token) {
	t.Helper()
	op := fabric.Send{To: to, Buf: e.at(offset), Len: n, Desc: e.region.Desc, Token: tok}
	postRetrying(t, all, "send", func() error { return e.prov.Send(&op) })
}

// rma returns an operation between offset local in e's memory and offset remote in target's memory.
func (e *endpoint) rma(to libshmem.PE, target *endpoint, local, remote, n int, tok fabric.Token) fabric.RMA {
	return fabric.RMA{
		PE: to, Local: e.at(local), Len: uint64(n), Desc: e.region.Desc,
		Remote: target.remote(remote), Key: target.region.Key, Token: tok,
	}
}

// fill writes bytes that depend on their place and on the seed, so that bytes
// from another place or round are noticed.
func fill(b []byte, seed int) {
	for i := 0; i < len(b); i += line {
		copy(b[i:], patternLine(i, seed))
	}
}

// pattern returns byte i of a seed's pattern.
func pattern(i, seed int) byte { return byte(i*7 + i>>8*13 + seed*31 + 1) }

// A line of a pattern is the bytes whose places differ only in the lowest eight bits. Each line is
// a part of the array sevens, so that lines are copied and compared whole: the race detector takes
// ten times as long for single bytes as for many.
const line = 256

// sevens has bytes that rise by 7, modulo 256. Each line of a pattern begins at one of its first
// 256 bytes.
var sevens = func() (b [2 * line]byte) {
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}()

// patternLine returns the line of a seed's pattern that begins at i.
func patternLine(i, seed int) []byte {
	at := int(pattern(i, seed) * 183) // 183 * 7 is 1, modulo 256: sevens has byte v at v * 183
	return sevens[at : at+line]
}

// checkPattern fails the test unless b has the pattern of a seed.
func checkPattern(t *testing.T, what string, b []byte, seed int) {
	t.Helper()
	for at := 0; at < len(b); at += line {
		end := min(at+line, len(b))
		if bytes.Equal(b[at:end], patternLine(at, seed)[:end-at]) {
			continue
		}
		for i := at; i < end; i++ {
			if b[i] != pattern(i, seed) {
				t.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, len(b), b[i], pattern(i, seed))
			}
		}
	}
}
