package sim

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/runtime/shmerr"
)

// Network is hosts with NICs, and the wires between them. Its methods, and those of its endpoints,
// may be called from any goroutine.
type Network struct {
	// mu guards everything below and all endpoints, pairs, messages and packets. The exported
	// methods take it. The caller of an unexported one holds it, but for those that use only the
	// model, which does not change.
	mu     sync.Mutex
	model  Model
	seed   uint64
	now    Time
	agenda agenda
	manual bool
	trace  trace

	hosts     []*host
	endpoints []*endpoint    // all that were opened, also those that have died
	faults    []faults.Fault // that Plan has added; events of kind actFault name them by index
	queues    map[int]int    // by host; Model.Queue for the other hosts

	messages []*message         // free ones, to be used again
	packets  []*packet          // free ones
	landed   func(host int)     // set by OnChange; may be nil
	arrived  func(endpoint int) // set by OnWork; may be nil
	waiting  []*endpoint        // endpoints in a Wait that found no event to handle
	held     int                // bytes of messages that are at their target and unread, or wait for a receive buffer
	peakHeld int

	notReadyCount int // how often a message found no receive buffer (Model.Retries)
}

// host is a machine with NICs. Its endpoints share its processor.
type host struct {
	nics  []*nic
	ports []*endpoint // living endpoints; nil: free
	cpu   Time        // until when its processor is busy with posted operations
}

// nic is one port to a rail. Its wire carries one packet at a time, each way.
type nic struct {
	rail               int
	slow               Time // how many times as long as for NIC 0 a packet occupies its wire
	down               bool
	sendFree, recvFree Time   // when the wire is free again, from the NIC and to it
	Out, In            uint64 // bytes
}

// New makes a network without endpoints.
func New(m Model, seed uint64) *Network {
	m.normalise()
	return &Network{model: m, seed: seed, queues: map[int]int{}}
}

// normalise sets numbers that must be at least 1, and are less, to 1.
func (m *Model) normalise() {
	m.MTU, m.NICs, m.Rails, m.Depth = max(m.MTU, 1), max(m.NICs, 1), max(m.Rails, 1), max(m.Depth, 1)
}

// Model returns the network's model.
func (n *Network) Model() Model { return n.model }

// Now returns the virtual time.
func (n *Network) Now() Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// OnChange sets the function f that the network calls, between two events, after it has changed
// memory of an endpoint on a host. f must not call the network.
func (n *Network) OnChange(f func(host int)) { n.landed = f }

// Idle reports whether nothing is under way: no event is planned, and no endpoint has an operation
// in flight, a completion or a message.
func (n *Network) Idle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.endpoints {
		if !e.closed && (e.pending() > 0 || len(e.inbox) > e.inHead || e.unread() || e.flying > 0) {
			return false
		}
	}
	return len(n.agenda.list) == 0
}

// Settled reports whether nothing will happen before something is posted, or read from the socket
// of an endpoint.
func (n *Network) Settled() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.agenda.list) == 0
}

// Waiting returns the bytes of messages at targets that have not read them, or have no receive
// buffer for them: the bytes now, and their maximum so far.
func (n *Network) Waiting() (now, peak int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held, n.peakHeld
}

// Carried returns how many bytes the i-th NIC of a host has sent and received, headers included.
func (n *Network) Carried(host, i int) (out, in uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.host(host).nics[i]
	return c.Out, c.In
}

// host returns host number i, and makes it at its first use. The caller holds mu.
func (n *Network) host(i int) *host {
	for len(n.hosts) <= i {
		h := &host{}
		for k := range n.model.NICs {
			h.nics = append(h.nics, &nic{rail: k % n.model.Rails, slow: 1 + Time(k*n.model.Skew)})
		}
		n.hosts = append(n.hosts, h)
	}
	return n.hosts[i]
}

// address identifies an endpoint: peers get its bytes from Addr.
type address struct {
	host, nic, port uint32
}

// addressSize is the number of bytes in which an address is encoded: magic and three numbers.
const addressSize = 16

var magic = [4]byte{'s', 'i', 'm', 1}

// bytes encodes an address; parseAddress decodes it.
func (a address) bytes() []byte {
	b := append([]byte(nil), magic[:]...)
	b = binary.LittleEndian.AppendUint32(b, a.host)
	b = binary.LittleEndian.AppendUint32(b, a.nic)
	return binary.LittleEndian.AppendUint32(b, a.port)
}

// number returns the address as one number, on which the faults of packets from and to it depend.
func (a address) number() uint64 {
	return uint64(a.host)<<32 | uint64(a.nic)<<16 | uint64(a.port)
}

// parseAddress decodes an address that another endpoint of this network has returned.
func parseAddress(b []byte) (address, error) {
	if len(b) != addressSize || [4]byte(b[:4]) != magic {
		return address{}, shmerr.Causef(shmerr.ErrArgument, "%d bytes are not an address of this network", len(b))
	}
	return address{binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}, nil
}

// at returns the living endpoint at an address, or nil. An endpoint that is opened later may have the
// port of one that has died; unless it is at the same NIC, its address is another.
func (n *Network) at(a address) *endpoint {
	if int(a.host) >= len(n.hosts) {
		return nil
	}
	h := n.hosts[a.host]
	if int(a.port) >= len(h.ports) || h.ports[a.port] == nil || h.ports[a.port].addr != a {
		return nil
	}
	return h.ports[a.port]
}

// Open opens an endpoint on a host, at its first free port, so that an endpoint gets the address of
// another one that has died. Config.NICs may name one NIC: nic0, nic1 and so on.
func (n *Network) Open(hostNumber int, cfg fabric.Config) (fabric.Provider, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if cfg.Tokens <= 0 || hostNumber < 0 {
		return nil, &shmerr.Error{Op: "open", Object: "fabric", Cause: shmerr.Causef(shmerr.ErrArgument, "%d tokens on host %d", cfg.Tokens, hostNumber)}
	}
	if cfg.Provider != "" && !strings.EqualFold(cfg.Provider, n.provider()) {
		return nil, &shmerr.Error{Op: "choose", Object: fmt.Sprintf("provider %q", cfg.Provider), Cause: shmerr.Causef(shmerr.ErrNoProvider, "this network has %s only", n.provider())}
	}
	h, chosen := n.host(hostNumber), 0
	if cfg.NICs != "" {
		next := 0 // the index of the NIC that IndexFunc passes next
		chosen = slices.IndexFunc(h.nics, func(*nic) bool { next++; return nicName(next-1) == cfg.NICs })
		if chosen < 0 {
			return nil, &shmerr.Error{Op: "choose", Object: "NIC", Cause: shmerr.Causef(shmerr.ErrSetting, "%q is none of the %d NICs of host %d", cfg.NICs, len(h.nics), hostNumber)}
		}
	}
	caps := n.caps(&cfg, chosen)
	capacity, err := n.capacity(&cfg, &caps, hostNumber)
	if err != nil {
		return nil, &shmerr.Error{Op: "open", Object: nicName(chosen), Cause: err}
	}
	more := 0
	if caps.RNRRetries {
		more = cfg.MoreRecv
	}
	port := slices.Index(h.ports, nil)
	if port < 0 {
		port = len(h.ports)
		h.ports = append(h.ports, nil)
	}
	e := &endpoint{
		net: n, caps: caps, id: len(n.endpoints), nic: h.nics[chosen], addr: address{uint32(hostNumber), uint32(chosen), uint32(port)},
		tokens: cfg.Tokens, capacity: capacity, maxRecv: cfg.MaxRecv + more,
		busy: make([]bool, cfg.Tokens+more), wake: make(chan struct{}, 1), reasons: map[fabric.Token]string{},
	}
	h.ports[port] = e
	n.endpoints = append(n.endpoints, e)
	n.note(didOpen, e, nil, e.addr.number(), uint64(cfg.Tokens))
	return e, nil
}

// nicName returns the name of the i-th NIC of a host.
func nicName(i int) string { return fmt.Sprintf("nic%d", i) }

// provider returns the name of the provider, with that of the model.
func (n *Network) provider() string { return "sim;" + n.model.Name }

// capacity returns the number of completions that the queue of an endpoint holds, and sets
// caps.Arrivals. Where the NIC grants no queue of the requested size, it is the largest power of
// two that the NIC grants, as with fabric/ofi, and caps.Arrivals is smaller.
func (n *Network) capacity(cfg *fabric.Config, caps *fabric.Caps, host int) (int, error) {
	// least is for the completions of the endpoint's own operations. limit is the NIC's; 0: none.
	least, limit := max(cfg.Queue, cfg.Tokens), n.model.Queue
	if hostLimit, ok := n.queues[host]; ok {
		limit = hostLimit
	}
	if caps.Data > 0 {
		caps.Arrivals = cfg.Arrivals
	}
	if caps.RNRRetries {
		caps.Arrivals += cfg.MoreRecv
	}
	if all := least + caps.Arrivals; limit == 0 || all <= limit {
		return all, nil
	}
	all := max(least, 1<<(bits.Len(uint(limit))-1))
	if all > limit {
		return 0, shmerr.Causef(shmerr.ErrArgument, "a queue of %d completions, more than %d (sim says: Invalid argument)", least, limit)
	}
	caps.Arrivals = all - least
	return all, nil
}

// NotReadyCount returns how often a message went back to its sender because there was no receive
// buffer.
func (n *Network) NotReadyCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.notReadyCount
}

// LimitQueues caps the entries of each completion queue that the NICs of one host grant from the
// next Open on; 0: no limit.
func (n *Network) LimitQueues(host, limit int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queues[host] = limit
}

// Queue is the size and the use of an endpoint's completion queue.
type Queue struct {
	Granted int
	Most    int // the most completions that were in it at a time
	Lost    int // completions that found it full
}

// Queues returns the size, the peak and the lost completions of the completion queue of each
// endpoint, in the order in which they were opened.
func (n *Network) Queues() []Queue {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]Queue, len(n.endpoints))
	for i, e := range n.endpoints {
		all[i] = Queue{e.capacity, e.peakQueued, e.overran}
	}
	return all
}

// caps returns what an endpoint with a given configuration promises. It has Data, Fence and Atomics
// only if the configuration asks for them. With IfUnordered it has Data and Fence only if messages
// may overtake Writes (without SendAfterWrite). SendComplete is copied first, because
// Config.Delivery makes Writes complete at the target, and not Sends.
func (n *Network) caps(cfg *fabric.Config, nic int) fabric.Caps {
	c := n.model.Caps
	c.Provider, c.Domain, c.Fabric = n.provider(), nicName(nic), fmt.Sprintf("rail%d", nic%n.model.Rails)
	c.SendQueue, c.Speed, c.WaitFD = n.model.Depth, n.model.Bandwidth/uint64(1+nic*n.model.Skew), true
	c.SendComplete, c.RNRRetries = c.DeliveryComplete, n.model.Retries
	c.DeliveryComplete = c.DeliveryComplete || cfg.Delivery && n.model.Delivers
	if cfg.IfUnordered && c.SendAfterWrite {
		c.Fence = false
	}
	if !cfg.Data || cfg.IfUnordered && c.SendAfterWrite {
		c.Data, c.Source, c.DataTakesRecv = 0, false, false
	}
	if !cfg.Fence {
		c.Fence = false
	}
	if !cfg.Atomics {
		c.Atomics, c.AtomicsWithCPU = 0, false
	}
	return c
}

// message is one operation that is under way: a Send, a Write, a Read or an atomic operation.
type message struct {
	gen  uint32 // changes when the operation is over, which makes its events void
	kind fabric.Kind
	from *endpoint
	to   *endpoint
	pair *pair

	number                uint64 // of the call that posted it
	token                 fabric.Token
	inject, notify, fence bool
	data                  uint32 // immediate data, if notify is set
	local                 unsafe.Pointer
	n                     int // bytes
	remote, key           uint64
	op                    fabric.Op // of an atomic operation
	width                 int
	operand, compare      uint64
	old                   uint64 // the value of the word before the atomic operation

	payload       []byte                         // injected bytes
	received      []byte                         // the bytes of a message that have arrived
	slot          int                            // its index in from.live
	early         bool                           // the defect EarlyData has completed it at the target
	reply         bool                           // its packets now go back to the sender
	sent          int                            // packets that have left in the present direction
	landed        []uint64                       // a bit for each packet that has landed
	total         int                            // packets in the present direction
	missing       int                            // packets that have not landed
	unread        int                            // packets that have not been read from a socket
	index         uint64                         // its number among the pair's messages or Writes
	after         struct{ writes, sends uint64 } // how many Writes and messages must land before it
	awaitingReply bool                           // it waits for the handshake of its pair
	again         bool                           // it found no receive buffer, and is on its way once more
	completed     bool                           // the sender's completion is planned
	delivered     bool                           // all its bytes are at the target
	errno         int32
	reason        string
}

// packet is a part of a message.
type packet struct {
	m       *message
	gen     uint32 // m.gen when the packet was sent: if it differs, the message is over
	number  int    // its number among the packets of m in this direction
	n       int    // bytes
	data    []byte
	reply   bool // it goes back to the sender of m
	outcome faults.Outcome
	again   bool // a packet of this number has landed before
	queued  bool // it has been in a socket
	held    int  // the bytes of it that Network.held counts
	half    bool // the first of its two pieces is in memory
}

// newMessage returns a message to fill: a free record, whose generation retire has raised, or a new
// one.
func (n *Network) newMessage() *message {
	last := len(n.messages) - 1
	if last < 0 {
		return &message{gen: 1}
	}
	m := n.messages[last]
	n.messages = n.messages[:last]
	*m = message{gen: m.gen, payload: m.payload[:0], received: m.received[:0], landed: m.landed[:0]}
	return m
}

// newPacket returns a packet to fill: a free one, or a new one.
func (n *Network) newPacket() *packet {
	last := len(n.packets) - 1
	if last < 0 {
		return &packet{}
	}
	p := n.packets[last]
	n.packets = n.packets[:last]
	*p = packet{data: p.data[:0]}
	return p
}

// freePacket puts a packet that is no longer used on the list from which newPacket allocates.
func (n *Network) freePacket(p *packet) {
	if p != nil {
		p.m = nil
		n.packets = append(n.packets, p)
	}
}

// packetsOf returns the number of packets, at most an MTU each, that carry `bytes` bytes: at least
// one.
func (n *Network) packetsOf(bytes int) int { return max(1, (bytes+n.model.MTU-1)/n.model.MTU) }
