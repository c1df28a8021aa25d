package proxy

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/early"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	flow "libshmem/runtime/sequence"
)

// receiver handles the messages of other PEs to one context. It drops messages of other jobs and
// repeated messages, stores early ones, and applies the others in the order of posting. It counts
// the numbers of writes that have arrived (arrived.go); the effect of each kind of message on main
// memory is in apply.go. Replies leave through the sender.
//
// Elements change by the CPU's atomic instructions (package mem), like those of operations between
// PEs of the same node.
type receiver struct {
	*operations
	mem.Checker // the memory that messages name
	out         replySender
	numbers     *writeNumbers
	GPU         *gpustage.Stage // nil: no PE of this job has GPU memory
	report      *Report
	shown       []layout.Peer // peers of the first context, whose counters other processes see
	Early       *early.Messages

	Sequences *flow.Streams[uint32] // sequence streams; nil: the provider names the writer
	Flows     []*flow.In            // by PE; nil: no numbered write of the PE has arrived
	Dropped   map[uint64]struct{}   // messages that must not be applied: see signalKey
	merged    layout.Header         // the operation of a batch that is being applied
}

// newReceiver returns the receiver of a context, which sends replies through out.
func newReceiver(o *operations, out replySender, numbers *writeNumbers) receiver {
	return receiver{operations: o, Checker: o.Net.Checker(), out: out, numbers: numbers, Early: early.New(layout.MessageSize)}
}

// Open sets the report, when it is open, and the peers of the first context, whose counters other
// processes see.
func (r *receiver) Open(to *Report, shown []layout.Peer) { r.report, r.shown = to, shown }

// OpenNumbers makes the receiver ready for numbered writes of other PEs. If the provider does not
// name the writer, at most `limit` PEs get a sequence stream, a series of numbers for their writes.
func (r *receiver) OpenNumbers(limit uint32) {
	r.Flows = make([]*flow.In, len(r.Peers))
	if !r.Net.Caps.Source {
		r.Sequences = flow.NewStreams[uint32](limit)
	}
}

// reaches reports whether there is a path to a PE. The first call for a PE asks the network.
func (r *receiver) reaches(pe libshmem.PE) bool {
	p := &r.Peers[pe]
	return p.Reachable || r.out.startPeer(pe, p)
}

// furthest is how far the sequence number of a message may be ahead of the next one. It is more
// than any provider has under way between two endpoints.
const furthest = 1 << 16

// Receive applies a message of n bytes at m, or stores it until all earlier messages of its PE, and
// the writes that it follows, have arrived. It drops a message of a lost PE, of a process outside
// of the job, or that has arrived before.
func (r *receiver) Receive(h *layout.Header, m unsafe.Pointer, n int) {
	if h.From < uint32(len(r.Peers)) && r.Net.IsLost(libshmem.PE(h.From)) {
		return
	}
	if h.From >= uint32(len(r.Peers)) || !r.reaches(libshmem.PE(h.From)) {
		r.report.Refuse("message from PE %d, which is not in this job", h.From)
		return
	}
	p := &r.Peers[h.From]
	if due := p.Received + 1; h.Seq != due || p.Early > 0 {
		if int32(h.Seq-due) < 0 || r.Early.Has(h.From, h.Seq) {
			if !r.Net.Caps.Repeats { // else its sender lost a NIC and could not know that it had arrived
				r.report.Refuse("message %d of PE %d, which has arrived before", h.Seq, h.From)
			}
			return
		}
		if h.Seq-due >= furthest {
			r.Net.Fatal(fmt.Errorf("receive: message %d of PE %d arrived when %d was due: provider %s lost messages "+
				"(name another in SHMEM_PROVIDER)", h.Seq, h.From, due, r.Net.Caps.Provider))
			return
		}
	}
	if !r.checkNeed(h, p) || !r.noteAcknowledged(h, p) || h.Kind == layout.KindVoid && !r.handleVoid(h) {
		return
	}
	shown := &r.shown[h.From].Count
	shown[layout.Received]++
	shown[layout.ReceivedBytes] += uint64(n)
	if h.Seq == p.Received+1 && writesArrived(h, p) {
		r.applyNext(h, p, unsafe.Add(m, layout.HeaderSize), n-layout.HeaderSize)
		r.applyEarly(h.From, p)
	} else {
		if !writesArrived(h, p) {
			p.Count[layout.Held]++
		}
		r.Early.Keep(h.From, h.Seq, unsafe.Slice((*byte)(m), n))
		p.AddEarly()
		r.Recorder.NoteMessage(libshmem.PE(h.From), layout.EventKept, h.Kind, n, h.Seq)
		p.Count[layout.Early]++
	}
	r.out.Drive(libshmem.PE(h.From))
}

// applyNext applies the message that is next in the sequence of its PE, unless it is the signal of
// a write that failed.
func (r *receiver) applyNext(h *layout.Header, p *layout.Peer, payload unsafe.Pointer, n int) {
	p.Receive()
	if !r.isDropped(h) {
		r.dispatch(h, payload, n)
	}
	r.Recorder.NoteMessage(libshmem.PE(h.From), layout.EventApplied, h.Kind, layout.HeaderSize+n, h.Seq)
}

var _ [early.BlockSize - layout.HeaderSize]struct{} // the first block of a stored message has its header

// applyEarly applies the stored messages of a PE that are now next in sequence. It stops at the
// first one that is missing, or that has to follow a numbered write which has not arrived.
func (r *receiver) applyEarly(from uint32, p *layout.Peer) {
	for p.Early > 0 {
		seq := p.Received + 1
		begin := r.Early.Begin(from, seq)
		if begin == nil || !writesArrived((*layout.Header)(unsafe.Pointer(unsafe.SliceData(begin))), p) {
			return
		}
		kept := r.Early.Remove(from, seq)
		m := unsafe.Pointer(unsafe.SliceData(kept))
		p.RemoveEarly()
		r.applyNext((*layout.Header)(m), p, unsafe.Add(m, layout.HeaderSize), len(kept)-layout.HeaderSize)
		r.Early.Reuse(kept)
	}
}

// replyActivity replies to an activity request with what this PE's program does. If the reply
// cannot be posted now, it sends nothing: the PE sends another request with its next report.
func (r *receiver) replyActivity(pe libshmem.PE) {
	text := []byte(r.report.Activity())
	if n := min(len(text), layout.MaxPayload); n > 0 {
		r.out.SendBytes(pe, r.Epoch, noParity, &layout.Header{Kind: layout.KindActivityReply}, unsafe.Pointer(&text[0]), n)
	}
}

// reportActivity passes the text of an activity reply to the report.
func (r *receiver) reportActivity(h *layout.Header, payload unsafe.Pointer, n int) {
	r.report.PassActivity(libshmem.PE(h.From), string(unsafe.Slice((*byte)(payload), n)))
}

// replySender is what a receiver needs of the sender of its context: it sends the replies to
// messages, and posts operations that waited for a message. The type sender implements it.
type replySender interface {
	// startPeer is called before the first message of a PE, and reports whether there is a path to
	// the PE.
	startPeer(pe libshmem.PE, p *layout.Peer) bool
	// sendOwn sends a reply, or parks it until the provider's queue has space. SendBytes sends a
	// message with a payload of n bytes, or returns Again.
	sendOwn(pe libshmem.PE, epoch uint64, parity parity, h layout.Header)
	SendBytes(pe libshmem.PE, epoch uint64, parity parity, h *layout.Header, payload unsafe.Pointer, n int) call.Status
	// HandleFlushReply handles the reply to a flush. It returns false if no flush was under way.
	HandleFlushReply(h *layout.Header) bool
	// Drive posts the queued operations on a PE that need not wait any longer: a message of that PE
	// may have been the reply that they waited for.
	Drive(pe libshmem.PE)
}
