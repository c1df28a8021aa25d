package wire

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/vishvananda/netns"
)

// kind is what an attack does.
type kind int

const (
	nothing kind = iota
	change       // other bits in one byte
	repeat       // what was sent before is inserted into the same connection once more
	replay       // the connection is made again beside itself, from the host that made it
	reset        // the connection is reset on both sides
	silence      // nothing passes any more
	kinds
)

func (k kind) String() string {
	return [...]string{"nothing", "change", "repeat", "replay", "reset", "silence"}[k]
}

// attack is what happens at a segment with payload that a host sends for the first time.
type attack struct {
	kind
	layer   layer  // of a change
	from    int    // the host
	segment int    // its number among those of the host, from 0
	seed    uint64 // of the rest
	hold    bool   // a replay: nothing passes by the recorded connection until the replay has ended
}

func (a attack) String() string {
	what := a.kind.String()
	if a.kind == change {
		what += " of " + a.layer.String()
	}
	return fmt.Sprintf("%s at segment %d of host %d, seed %d", what, a.segment, a.from, a.seed)
}

// flow is a connection of TCP. Positions count from the first byte that a host sends by it.
type flow struct {
	asked int       // the host that asked for it
	ports [2]uint16 // by host
	begin [2]uint32 // the sequence number of TCP at position 0
	sent  [2][]byte // what each host has sent
	at    [2][]int  // where segments of it began

	messages [2][]message // of libfabric, by host
	changes  []byteChange
	inserted [2]insertion
	held     bool // segments are lost, and TCP sends them again
	reset    bool // both ends are told that the connection is reset
}

// byteChange changes bits of the byte at a position of what a host sends.
type byteChange struct {
	from, at int
	bits     byte
}

// insertion repeats n bytes from position begin on at position at.
type insertion struct{ at, n, begin int }

// proxy passes frames between two hosts. It is a fault proxy below TCP: both ends keep their own
// connection, with their own addresses.
type proxy struct {
	hosts   [2]*host
	running sync.WaitGroup

	mu       sync.Mutex
	provider string
	attack   attack
	flows    []*flow
	seen     [2]int // segments with payload that were sent for the first time
	done     string // what the attack did
	silent   bool
}

func newProxy(hosts [2]*host) *proxy {
	p := &proxy{hosts: hosts}
	for from := range 2 {
		p.running.Add(1)
		go p.pass(from)
	}
	return p
}

// begin prepares for a job.
func (p *proxy) begin(provider string, a attack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.provider = provider
	p.attack, p.flows, p.seen, p.done, p.silent = a, nil, [2]int{}, "", false
}

// result returns how many segments each host has sent, and what the attack did.
func (p *proxy) result() (seen [2]int, done string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen, p.done
}

// pass takes what a host sends to the other one, until the device is closed.
func (p *proxy) pass(from int) {
	defer p.running.Done()
	b := make([]byte, 64<<10)
	for {
		n, err := p.hosts[from].tap.Read(b)
		if err != nil {
			return
		}
		s, ok := parse(b[:n])
		if !ok {
			p.send(1-from, b[:n])
			continue
		}
		p.mu.Lock()
		p.segment(from, &s)
		p.mu.Unlock()
	}
}

// send gives a frame to a host.
func (p *proxy) send(to int, frame []byte) { _, _ = p.hosts[to].tap.Write(frame) }

// sendSegment is send for a segment that was changed.
func (p *proxy) sendSegment(to int, s segment) {
	s.seal()
	p.send(to, s.frame)
}

// flow returns the latest connection of the ports of a segment, or nil.
func (p *proxy) flow(from int, s *segment) *flow {
	for i := len(p.flows) - 1; i >= 0; i-- {
		if f := p.flows[i]; f.ports[from] == s.from() && f.ports[1-from] == s.to() {
			return f
		}
	}
	return nil
}

func (p *proxy) segment(from int, s *segment) {
	if p.silent {
		return
	}
	f := p.flow(from, s)
	if s.has(flagSyn) {
		if !s.has(flagAck) && (f == nil || f.begin[from] != s.number()+1) {
			f = &flow{asked: from}
			f.ports[from], f.ports[1-from] = s.from(), s.to()
			p.flows = append(p.flows, f)
		}
		if f != nil {
			f.begin[from] = s.number() + 1
		}
	}
	if f == nil || s.has(flagSyn|flagRst) {
		p.send(1-from, s.frame)
		return
	}
	at := int(int32(s.number() - f.begin[from]))
	if known := len(f.sent[from]); at >= 0 && at <= known && at+len(s.payload) > known {
		f.sent[from] = append(f.sent[from], s.payload[known-at:]...)
		f.at[from] = append(f.at[from], at)
		f.split(from)
		if p.due(from, f, at, len(s.payload)) {
			p.strike(f, s, at)
		}
		p.seen[from]++
	}
	if p.silent || f.held {
		return
	}
	if f.reset { // bytes on their way may have hidden the first one
		p.sendSegment(from, s.reply())
		return
	}
	for _, c := range f.changes {
		if c.from == from && at <= c.at && c.at < at+len(s.payload) {
			s.payload[c.at-at] ^= c.bits
		}
	}
	if in := f.inserted[from]; in.n > 0 && at >= in.at {
		s.setNumber(s.number() + uint32(in.n))
	}
	if in := f.inserted[1-from]; in.n > 0 {
		if got := int(int32(s.acknowledges() - f.begin[1-from])); got > in.at {
			s.acknowledge(s.acknowledges() - uint32(min(in.n, got-in.at)))
		}
	}
	p.sendSegment(1-from, *s)
	if in := f.inserted[from]; in.n > 0 && at < in.at && at+len(s.payload) == in.at {
		p.insert(from, f, s)
	}
}

// strike does what the attack is, at a segment that is about to pass.
func (p *proxy) strike(f *flow, s *segment, at int) {
	a := p.attack
	rng := rand.New(rand.NewPCG(a.seed, 4))
	n := len(s.payload)
	switch a.kind {
	case change:
		in := p.places(f, at, n)
		one := in[rng.IntN(len(in))]
		bits := byte(1 + rng.IntN(255))
		f.changes = append(f.changes, byteChange{a.from, at + one, bits})
		p.done = fmt.Sprintf("changes byte %d of %d by %#x: %x", one, n, bits, s.payload[:min(n, 160)])
	case repeat:
		p.repeats(rng, f, at+n)
	case replay:
		record := append([]byte(nil), f.sent[f.asked]...)
		if rng.IntN(3) == 0 {
			record = record[:rng.IntN(len(record)+1)]
		}
		from, to := f.asked, net.TCPAddr{IP: net.IPv4(198, 18, 0, byte(2-f.asked)), Port: int(f.ports[1-f.asked])}
		p.done = fmt.Sprintf("sends %d bytes to %v again", len(record), &to)
		f.held = a.hold
		p.running.Add(1)
		go p.replay(f, from, to.String(), record)
	case reset:
		there := s.with(nil)
		there.flags(flagRst | flagAck)
		p.sendSegment(1-a.from, there)
		p.sendSegment(a.from, s.reply())
		f.reset = true
		p.done = "resets a connection"
	case silence:
		p.silent = true
		p.done = "lets nothing pass any more"
	}
}

// due reports whether the attack is due at a segment of n bytes, the latest of a host. What is
// repeated goes between two messages: the end of a segment that is not full is that of a message.
func (p *proxy) due(from int, f *flow, at, n int) bool {
	a := p.attack
	if a.kind == nothing || p.done != "" || a.from != from || p.seen[from] < a.segment {
		return false
	}
	switch a.kind {
	case change:
		return len(p.places(f, at, n)) > 0
	case repeat:
		return n < full && len(whole(f.at[from], len(f.sent[from]))) > 0
	}
	return true
}

// places returns the bytes of a segment that are of the attack's layer.
func (p *proxy) places(f *flow, at, n int) (all []int) {
	for i := range n {
		if l, ok := f.layer(p.provider, p.attack.from, at+i); ok && l == p.attack.layer {
			all = append(all, i)
		}
	}
	return all
}

// full is the payload of a full segment: the device's 1,500 bytes, less headers and a time stamp.
const full = 1500 - ipBytes - 32

// whole returns the segments that have whole messages, most likely: neither they nor the ones before
// them are full.
func whole(at []int, end int) (found [][2]int) {
	before := full
	for i, begin := range at {
		next := end
		if i+1 < len(at) {
			next = at[i+1]
		}
		if before < full && next-begin < full {
			found = append(found, [2]int{begin, next})
		}
		before = next - begin
	}
	return found
}

// repeats inserts a segment that a host has sent before behind the one that ends at a position.
func (p *proxy) repeats(rng *rand.Rand, f *flow, at int) {
	from := p.attack.from
	all := whole(f.at[from], len(f.sent[from]))
	one := all[rng.IntN(len(all))]
	f.inserted[from] = insertion{at, one[1] - one[0], one[0]}
	p.done = fmt.Sprintf("repeats bytes %d to %d behind byte %d: %x", one[0], one[1], at, f.sent[from][one[0]:min(one[1], one[0]+128)])
}

// insert sends what is inserted behind a segment.
func (p *proxy) insert(from int, f *flow, s *segment) {
	in := f.inserted[from]
	more := s.with(f.sent[from][in.begin : in.begin+in.n])
	more.setNumber(s.number() + uint32(len(s.payload)))
	p.sendSegment(1-from, more)
}

// replay makes a connection from a host's namespace, sends what was recorded of a flow, and waits
// until the other side closes it.
func (p *proxy) replay(f *flow, from int, to string, record []byte) {
	defer p.running.Done()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		f.held = false
	}()
	runtime.LockOSThread() // never unlocked: the thread ends in the namespace
	if err := netns.Set(netns.NsHandle(p.hosts[from].space.Fd())); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_, _ = c.Write(record)
	_ = c.SetReadDeadline(time.Now().Add(limit * time.Second))
	_, _ = io.Copy(io.Discard, c)
}
