package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/quiet"
	"libshmem/runtime/proxy/rma"
)

// sender has the messages of a context to other PEs, and the order of its operations on each PE.
type sender struct {
	batches
	rma    *rma.Transfers
	gpu    GPU // nil: no PE of this job has GPU memory
	engine above

	sending   fabric.Send  // operand of calls through Provider: on the stack it would be allocated
	drafted   fabric.Token // of the message that draftQueued has drafted; 0: none
	driving   bool         // the head of a queue is being posted
	recording bool         // the draft is a record of a batch
	jammed    bool         // the head of some queue found no room

	queues []fabric.PE // PEs whose operations wait, see queue.go; some may have none left
	parked []parked
	spare  []parked
}

// above is the engine of a sender.
type above interface {
	// unreachable handles a PE that the network has given up.
	unreachable(pe fabric.PE, err error)
	// stick notes that an operation found no room: retry is called when there may be some.
	stick()
}

// parked is one of the engine's own messages that found no room. Callers' messages are never
// parked: they get Again.
type parked struct {
	pe    fabric.PE
	lane  quiet.Parity
	epoch uint64 // of the message
	h     layout.Header
}

// retry tries again what found no room, and reports whether something still waits.
func (x *sender) retry() bool {
	x.unpark()
	x.Quiets.CoverLate()
	x.driveAll()
	return x.noRoom()
}

// noRoom reports whether something waits for room.
func (x *sender) noRoom() bool { return len(x.parked)+len(x.Quiets.Late) > 0 || x.jammed }

// drop forgets what waits to go to a PE that is lost. Its operations are ended by the caller.
func (x *sender) drop(pe fabric.PE, p *layout.Peer) {
	kept := x.parked[:0]
	for _, m := range x.parked {
		if m.pe == pe {
			x.Quiets.Pending[m.lane]--
			continue
		}
		kept = append(kept, m)
	}
	x.parked, p.Parked = kept, 0
	x.closeBatch(p)
	p.Queued = 0
}

// routed reports whether operations on a PE may be posted. The first operation finds it out.
func (x *sender) routed(p *layout.Peer, pe fabric.PE) bool { return p.Reachable || x.Meet(pe, p) }

func (x *sender) Meet(pe fabric.PE, p *layout.Peer) bool {
	if p.Reachable = x.Net.Reachable(pe); p.Reachable {
		x.rma.Numbers.Meet(p, x.Net.Caps.Source)
		x.Recorder.Deal(pe)
	}
	return p.Reachable
}

// begin gives a caller's operation a header to fill, for send. If the operation has to wait its
// turn, it returns no header, and a status. The header is filled where the provider reads it. If it
// were filled elsewhere and copied at once, its narrow stores would still be under way when the
// wide loads of the copy come, which takes 8 ns more.
func (x *sender) begin(pe fabric.PE, n int) (*layout.Header, Status) { return x.start(pe, n, true) }

// start is begin; merges says that the operation may share its message with others.
func (x *sender) start(pe fabric.PE, n int, merges bool) (*layout.Header, Status) {
	p := &x.Peers[pe]
	if !x.routed(p, pe) {
		return nil, x.Net.Fail(x.Net.NoRoute(pe))
	}
	if x.Parked(p) {
		return nil, x.NoTurn(pe, p)
	}
	if p.Queued > 0 || x.Burst >= layout.BurstAfter || x.overtakes(pe, p, x.Epoch) {
		if h, st := x.beginLater(p, pe, n, merges); h != nil || st != Done {
			return h, st
		}
	}
	if layout.HeaderSize+n > x.Net.Caps.MaxInject && !x.Room(pe, p, 0) {
		return nil, Again
	}
	if st := x.Admit(pe, p, layout.HeaderSize+n); st != Done {
		return nil, st
	}
	if h := x.draft(p, pe, n); h != nil {
		return h, Done
	}
	return nil, Again
}

// Parked reports whether messages to p are parked: a caller's message would overtake them. It
// tries to send them first, because injected messages make room without a completion, and so
// without a call of Complete.
func (x *sender) Parked(p *layout.Peer) bool {
	if p.Parked > 0 {
		x.unpark()
	}
	return p.Parked > 0
}

// Admit returns whether a caller may send p a message of n bytes. It asks for an answer when p owes
// answers for half of its units.
func (x *sender) Admit(pe fabric.PE, p *layout.Peer, n int) Status {
	if p.Asked-p.Acked < uint64(x.Calm) {
		return Done
	}
	return x.admitLate(pe, p, n)
}

func (x *sender) admitLate(pe fabric.PE, p *layout.Peer, n int) Status {
	switch st := x.Flush(pe); {
	case st == Failed:
		return Failed
	case p.Asked-p.Acked+x.Cost(n) > uint64(x.Window):
		x.NoCredit(pe, p)
		return Again
	}
	return Done
}
