package stats

import (
	"encoding/binary"
	"errors"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

// Scope says for which object a counter counts.
type Scope uint8

// The scopes.
const (
	Peer Scope = iota // each PE with which this PE communicates
	Own               // this PE
	NIC               // each NIC of this PE
)

// Unit is the unit of a counter.
type Unit uint8

// The units.
const (
	Times Unit = iota
	Bytes
	Nanoseconds
)

// A Counter describes a counter of the list Counters.
type Counter struct {
	Name  string
	Scope Scope
	Unit  Unit
	Most  bool // the value is a maximum over time, so that values must not be summed
}

// Numbers of the counters that follow those of package proxy (layout.Counted of them).
const (
	Stalls = layout.Counted + iota
	StallNS
	ProxyStallNS
	RegistrationHits
	RegistrationMisses
	RegistrationSingle
	RegistrationStale
	RegistrationEvicted
	RegisteredBytes
	NICOps
	NICBytesOut
	NICBytesIn
	NICLost
	ProxyOverslept
	StrangersRefused
	WaitYields
	WaitSwitches
	WaitMoves
	WaitSleeps
	WaitLate
	WaitMembarriers
	WaitMembarriersShared
	WaitWakes
)

// Counters is the list of all counters. A program finds a counter by its name; its
// number, the index here, may differ in the next run.
var Counters = []Counter{
	layout.MessageBytes:       {"message_bytes", Peer, Bytes, false},
	layout.Atomics:            {"atomics", Peer, Times, false},
	layout.Elements:           {"elements", Peer, Times, false},
	layout.Puts:               {"puts", Peer, Times, false},
	layout.PutSignals:         {"put_signals", Peer, Times, false},
	layout.Control:            {"control_messages", Peer, Times, false},
	layout.Received:           {"received_messages", Peer, Times, false},
	layout.ReceivedBytes:      {"received_bytes", Peer, Bytes, false},
	layout.Writes:             {"writes", Peer, Times, false},
	layout.WriteBytes:         {"write_bytes", Peer, Bytes, false},
	layout.Reads:              {"reads", Peer, Times, false},
	layout.ReadBytes:          {"read_bytes", Peer, Bytes, false},
	layout.Retries:            {"retries", Peer, Times, false},
	layout.NoCredit:           {"no_credit", Peer, Times, false},
	layout.NoTurn:             {"no_turn", Peer, Times, false},
	layout.Parked:             {"parked_messages", Peer, Times, false},
	layout.Early:              {"early_messages", Peer, Times, false},
	layout.Numbered:           {"numbered_writes", Peer, Times, false},
	layout.Notified:           {"notified_writes", Peer, Times, false},
	layout.Held:               {"held_messages", Peer, Times, false},
	layout.Waited:             {"queued_operations", Peer, Times, false},
	layout.Merged:             {"merged_operations", Peer, Times, false},
	layout.MostUnderWay:       {"most_under_way", Peer, Times, true},
	layout.MostUnacknowledged: {"most_unacknowledged", Peer, Times, true},
	Stalls:                    {"stalls", Own, Times, false},
	StallNS:                   {"stall_ns", Own, Nanoseconds, false},
	ProxyStallNS:              {"proxy_stall_ns", Own, Nanoseconds, false},
	RegistrationHits:          {"registration_hits", Own, Times, false},
	RegistrationMisses:        {"registration_misses", Own, Times, false},
	RegistrationSingle:        {"registration_single", Own, Times, false},
	RegistrationStale:         {"registration_stale", Own, Times, false},
	RegistrationEvicted:       {"registration_evicted", Own, Times, false},
	RegisteredBytes:           {"registered_bytes", Own, Bytes, false},
	NICOps:                    {"nic_operations", NIC, Times, false},
	NICBytesOut:               {"nic_bytes_out", NIC, Bytes, false},
	NICBytesIn:                {"nic_bytes_in", NIC, Bytes, false},
	NICLost:                   {"nic_lost", NIC, Times, false},
	ProxyOverslept:            {"proxy_overslept", Own, Times, false},
	StrangersRefused:          {"strangers_refused", Own, Times, false},
	WaitYields:                {"wait_yields", Own, Times, false},
	WaitSwitches:              {"wait_switches", Own, Times, false},
	WaitMoves:                 {"wait_moves", Own, Times, false},
	WaitSleeps:                {"wait_sleeps", Own, Times, false},
	WaitLate:                  {"wait_late", Own, Times, false},
	WaitMembarriers:           {"wait_membarriers", Own, Times, false},
	WaitMembarriersShared:     {"wait_membarriers_shared", Own, Times, false},
	WaitWakes:                 {"wait_wakes", Own, Times, false},
}

// Find returns the number of the counter with that name, or -1.
func Find(name string) int {
	for i := range Counters {
		if Counters[i].Name == name {
			return i
		}
	}
	return -1
}

// PE has the values of all counters of one PE.
type PE struct {
	Values []uint64           // by the counter's number
	NICs   []fabric.RailCount // the traffic of each NIC
	Peers  []PeerCounters     // for each other PE with which something was counted

	endpoints []*proxy.EndpointPage // status pages of its endpoints
}

// PeerCounters is a PE's counters for one other PE.
type PeerCounters struct {
	PE    libshmem.PE
	Count [layout.Counted]uint64
	Now   Gauges
}

// Gauges are numbers of the present moment, for one other PE.
type Gauges struct {
	UnderWay       uint64 // operations posted with a token, by which they are reported complete, and not complete
	Bytes          uint64 // bytes of one-sided operations under way
	Unacknowledged uint64 // units of messages that the PE has not acknowledged; a large message has several
	Parked         uint64 // the engine's own messages that could not be posted yet
	Early          uint64 // messages that arrived before writes or messages that they follow
	Flushing       bool   // the PE has not replied to a flush request yet
}

// BytesOut returns all bytes sent to the PE, in messages and by writes.
func (l *PeerCounters) BytesOut() uint64 {
	return l.Count[layout.MessageBytes] + l.Count[layout.WriteBytes]
}

// BytesIn returns all bytes received from the PE, in messages and by reads of this PE.
func (l *PeerCounters) BytesIn() uint64 {
	return l.Count[layout.ReceivedBytes] + l.Count[layout.ReadBytes]
}

// Collect adds up the counters in the status pages of a PE and of its endpoints.
func Collect(page *statuspage.PE, endpoints []*proxy.EndpointPage) PE {
	p := PE{Values: make([]uint64, len(Counters)), endpoints: endpoints}
	if page != nil {
		p.Values[Stalls], p.Values[StallNS] = page.Stalls, page.Stall
		p.effort(&page.Effort)
	}
	var lines []PeerCounters
	for _, e := range endpoints {
		for len(lines) < len(e.Peers) {
			lines = append(lines, PeerCounters{PE: libshmem.PE(len(lines))})
		}
		for i := range e.Peers {
			s, l := &e.Peers[i], &lines[i]
			layout.AddCounts(&l.Count, &s.Count)
			l.Now.UnderWay += uint64(s.UnderWay)
			l.Now.Bytes += s.Bytes
			l.Now.Unacknowledged += s.Unacknowledged
			l.Now.Parked += uint64(s.Parked)
			l.Now.Early += uint64(s.Early)
			l.Now.Flushing = l.Now.Flushing || s.Flushing
		}
		p.Values[ProxyStallNS] += uint64(e.Stalled)
		p.Values[ProxyOverslept] += e.Overslept
		p.Values[StrangersRefused] += e.Strangers
		p.register(e.Registered)
		for _, n := range e.NICs {
			p.nic(n)
		}
	}
	var all [layout.Counted]uint64
	for _, l := range lines {
		if layout.AddCounts(&all, &l.Count); l.Count != [layout.Counted]uint64{} {
			p.Peers = append(p.Peers, l)
		}
	}
	copy(p.Values, all[:])
	return p
}

// effort copies the counts of how the PE's threads have waited, by yields, sleeps and so on, from
// the PE's status page.
func (p *PE) effort(w *statuspage.Effort) {
	p.Values[WaitYields], p.Values[WaitSwitches], p.Values[WaitMoves] = w.Yields, w.Switches, w.Moves
	p.Values[WaitSleeps], p.Values[WaitLate], p.Values[WaitWakes] = w.Sleeps, w.Late, w.Wakes
	p.Values[WaitMembarriers], p.Values[WaitMembarriersShared] = w.Membarriers, w.MembarriersShared
}

// register adds the counters of one endpoint's registration cache.
func (p *PE) register(c mrcache.Counts) {
	p.Values[RegistrationHits] += c.Hits
	p.Values[RegistrationMisses] += c.Misses
	p.Values[RegistrationSingle] += c.Single
	p.Values[RegistrationStale] += c.Stale
	p.Values[RegistrationEvicted] += c.Evicted
	p.Values[RegisteredBytes] += c.Bytes
}

// nic adds the traffic that one endpoint had over a NIC, which several endpoints may use.
func (p *PE) nic(n fabric.RailCount) {
	p.NICs = addNIC(p.NICs, n)
	p.Values[NICOps] += n.Ops
	p.Values[NICBytesOut] += n.Out
	p.Values[NICBytesIn] += n.In
	p.Values[NICLost] += n.Lost
}

// addNIC adds the traffic n to the entry of its NIC, or appends an entry.
func addNIC(nics []fabric.RailCount, n fabric.RailCount) []fabric.RailCount {
	for i := range nics {
		if e := &nics[i]; e.NIC == n.NIC {
			e.Ops, e.Out, e.In, e.Lost = e.Ops+n.Ops, e.Out+n.Out, e.In+n.In, e.Lost+n.Lost
			return nics
		}
	}
	return append(nics, n)
}

// OfNIC returns the value of a counter for one NIC; false if the counter is not per NIC.
func OfNIC(counter int, n *fabric.RailCount) (uint64, bool) {
	switch counter {
	case NICOps:
		return n.Ops, true
	case NICBytesOut:
		return n.Out, true
	case NICBytesIn:
		return n.In, true
	case NICLost:
		return n.Lost, true
	}
	return 0, false
}

// Encode returns the counters of a PE as bytes for the table of the job. The bytes are few, because
// all PEs get them: the values, the NICs, and the PE to which this one sent most bytes.
func (p *PE) Encode() []byte {
	var b []byte
	for _, v := range p.Values {
		b = binary.AppendUvarint(b, v)
	}
	most := PeerCounters{PE: libshmem.NoPE}
	for _, l := range p.Peers {
		if l.BytesOut() > most.BytesOut() {
			most = l
		}
	}
	b = binary.AppendUvarint(b, uint64(most.PE+1))
	b = binary.AppendUvarint(b, most.BytesOut())
	b = binary.AppendUvarint(b, uint64(len(p.NICs)))
	for _, n := range p.NICs {
		b = binary.AppendUvarint(b, uint64(len(n.NIC)))
		b = append(b, n.NIC...)
		for _, v := range []uint64{n.Ops, n.Out, n.In, n.Lost} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// Row is one PE's counters as Encode has encoded them.
type Row struct {
	Values []uint64
	Most   libshmem.PE // the PE to which this one sent most bytes, or NoPE
	Bytes  uint64      // how many bytes it sent to that PE
	NICs   []fabric.RailCount
}

var errRow = errors.New("the counters of a PE are cut off")

// Decode reads what Encode has written, the counters of a PE and of its NICs. PEs of one job have
// the same list of counters.
func Decode(b []byte) (Row, error) {
	bad := false
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			bad = true
			return 0
		}
		b = b[n:]
		return v
	}
	r := Row{Values: make([]uint64, len(Counters))}
	for i := range r.Values {
		r.Values[i] = next()
	}
	r.Most, r.Bytes = libshmem.PE(next())-1, next()
	nics := next()
	if bad || nics > uint64(len(b)) {
		return r, errRow
	}
	for range nics {
		n := next()
		if bad || n > uint64(len(b)) {
			return r, errRow
		}
		name := string(b[:n])
		b = b[n:]
		r.NICs = append(r.NICs, fabric.RailCount{NIC: name, Ops: next(), Out: next(), In: next(), Lost: next()})
	}
	if bad || len(b) > 0 {
		return r, errRow
	}
	return r, nil
}
