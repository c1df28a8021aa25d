package gpustage

// Pulls read bytes that other PEs have announced, or that this PE gets, from their memory.
//
// The PE that has the bytes stores them in memory that the fabric reaches, and sends a request to
// send. This side reads them: directly to their destination if that is main memory, otherwise into
// a chunk of pinned memory, which a copy engine empties. Then it replies that it has finished.
//
// pulls owns the requests and the reads under way, and the chunks that they read into. It does not
// own the gets, to which it reports their bytes through pullGets, nor the order of other messages,
// whose progress it only reads. All methods are called with the engine's lock held, and none waits.

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// pullGets are the gets of this PE, to which pulls report bytes. get is the request ID of a get.
type pullGets interface {
	// CountArrived counts bytes of a get that are in place, or will not arrive: then status is not
	// 0. CountWhenCopied counts bytes that are in place when stream.In has carried out the work
	// that is in it now.
	CountArrived(get uint32, n uint64, status int32)
	CountWhenCopied(get uint32, n uint64)
	// LostRead notes that the provider has completed a read of a get from a lost PE.
	LostRead(get uint32)
}

// pullBytes describes bytes that this PE has to read from the memory of another one.
type pullBytes struct {
	PE     libshmem.PE
	Remote uint64
	Key    uint64
	N      uint64
	Dest   unsafe.Pointer
	Pieces []pullPiece // the destinations of several puts, in order; none: all bytes go to Dest
	Desc   uintptr     // of Dest in main memory
	GPU    bool        // Dest is GPU memory
	Token  uint32      // of the request to send; 0: its PE expects no reply
	Get    uint32      // the get that they belong to; 0: a put
}

// pullPiece is the destination of one put's bytes, in a pull that reads the bytes of several puts.
type pullPiece struct {
	Dest unsafe.Pointer
	In   uint64 // their offset in the bytes to read
	N    uint64
}

// pull is one transfer to this PE, in one or several reads.
type pull struct {
	pullBytes
	n      uint64    // bytes to read; less than N after a failure
	begun  uint64    // bytes whose reads are posted
	landed uint64    // bytes that are in place, or whose copies are in stream.In
	err    int32     // of a read that failed: the provider's error number, or Failed if it could not be posted; else 0
	done   bool      // of a put: the pull is complete, but an earlier one of its PE is not
	lost   bool      // the PE is lost, and the provider has not completed reads of the pull
	after  pullEpoch // work of the same PE that has to be complete first
}

// pullEpoch has the number of pulls and of waiting messages of a PE before its last fence.
type pullEpoch struct{ pulls, kept uint64 }

// pullRead is one read of a pull.
type pullRead struct {
	pull  *pull
	at    uint64 // offset in the pull
	n     uint64
	chunk uint16 // that it reads into, if Dest is GPU memory
}

// pullPeer has the pulls of the puts of one PE.
type pullPeer struct {
	*progress
	pulls   fifo.Queue[*pull] // in order
	fence   uint32            // epoch of the last request to send
	follows pullEpoch         // the work before that epoch, which its pulls have to follow
	blocked uint32            // the last pass in which a read from the PE could not be posted
	failed  time.Time         // when its first pull failed, which holds back later ones; zero: none did
}

// pulls are the one-sided reads with which this PE fetches bytes from the memory of other PEs.
type pulls struct {
	engine   Engine
	streams  *stream.Set
	chunks   *pool
	desc     uintptr // of the chunks
	limit    uint64  // bytes of one read
	gets     pullGets
	from     []pullPeer
	reads    [layout.Tokens]pullRead // by token
	waiting  []*pull                 // pulls with bytes for which no read has been posted
	pass     uint32
	underWay int                  // pulls that are not complete
	late     fifo.Queue[pullRead] // complete reads whose copies wait because stream.In is full
	spare    []*pull
	noRoom   bool          // in this poll a read could not be posted
	failing  []libshmem.PE // PEs whose messages are held back because a pull has failed
	grace    time.Duration // how long these are held back: the constant, except in tests
}

// newPulls returns pulls through chunks, whose local descriptor is desc. A read has at most `limit`
// bytes.
func newPulls(e Engine, s *stream.Set, chunks *pool, desc uintptr, limit uint64, gets pullGets) *pulls {
	return &pulls{engine: e, streams: s, chunks: chunks, desc: desc, limit: limit, gets: gets, grace: grace}
}

// grace is how long the messages of a PE are held back after the bytes of one of its puts could not
// be read. In most cases the PE has died, which the network reports within this time: then the
// messages are dropped, and no reader sees a signal without the bytes before it. If the PE has not
// died, the messages are applied: the PE has the error of its put, and may go on.
const grace = 2 * time.Second

// Connect sets the number of PEs, and the progress for each that arrivals and pulls share.
func (p *pulls) Connect(all []progress) {
	p.from = make([]pullPeer, len(all))
	for i := range all {
		p.from[i].progress = &all[i]
	}
}

// BeginPoll is called when a poll of the engine begins: no read has failed to be posted in it yet.
func (p *pulls) BeginPoll() {
	p.noRoom = false
	for i := len(p.failing) - 1; i >= 0; i-- {
		pe := p.failing[i]
		if peer := &p.from[pe]; time.Since(peer.failed) >= p.grace {
			p.failing = slices.Delete(p.failing, i, i+1)
			peer.failed = time.Time{}
			(*peer.pulls.At(0)).err = 0
			p.countDone(pe)
		}
	}
}

// HoldsBack reports whether messages of a PE are held back because a pull has failed.
func (p *pulls) HoldsBack() bool { return len(p.failing) > 0 }

// NoRoom reports whether a read could not be posted in this poll: the provider's queue was full,
// which may change without a completion.
func (p *pulls) NoRoom() bool { return p.noRoom }

// Put queues the pull of a put that a PE has announced with a request to send. fence is the epoch
// of the request: the pull starts when all work of the PE from before that epoch is complete.
func (p *pulls) Put(b pullBytes, fence uint32) {
	peer := &p.from[b.PE]
	if fence != peer.fence || peer.Pulls.All == 0 {
		peer.fence = fence
		peer.follows = pullEpoch{peer.Pulls.All, peer.Kept.All}
	}
	q := p.add(b)
	q.after = peer.follows
	peer.pulls.Push(q)
	peer.Pulls.All++
}

// Get queues a pull for bytes of a get. It follows no other work, because a get has no order.
func (p *pulls) Get(b pullBytes) { p.add(b) }

// add makes a pull, the transfer of bytes that this PE reads, and adds it to the waiting list. It
// reuses a free record and the record's array of destinations, so that it seldom allocates.
func (p *pulls) add(b pullBytes) *pull {
	var q *pull
	if last := len(p.spare) - 1; last >= 0 {
		q, p.spare = p.spare[last], p.spare[:last]
	} else {
		q = new(pull)
	}
	pieces := append(q.Pieces[:0], b.Pieces...)
	*q = pull{pullBytes: b, n: b.N}
	q.Pieces = pieces
	p.waiting = append(p.waiting, q)
	p.underWay++
	return q
}

// Start delivers complete reads whose copies had to wait for a full stream, and posts reads of
// waiting pulls. A PE from which a read cannot be posted does not stop the pulls from the others.
func (p *pulls) Start() {
	for p.late.Len() > 0 && !p.streams.Full(stream.In) {
		r := p.late.Pop()
		p.deliver(&r)
	}
	if len(p.waiting) == 0 {
		return
	}
	p.pass++
	work := p.waiting
	still := work[:0]
	for _, q := range work {
		peer := &p.from[q.PE]
		if peer.blocked == p.pass || !p.mayStart(peer, q) || !p.start(peer, q) {
			still = append(still, q)
		}
	}
	clear(work[len(still):])
	p.waiting = still
}

// mayStart reports whether a pull may start: the work of the same PE that a fence orders before it
// is complete. Bytes of a get, and a pull that expects no reply, follow nothing. If the bytes go to
// main memory, the stream must also have carried out what was issued before.
func (p *pulls) mayStart(peer *pullPeer, q *pull) bool {
	if q.Get != 0 || q.Token == 0 {
		return true
	}
	if peer.Pulls.Done < q.after.pulls || peer.Kept.Done < q.after.kept {
		return false
	}
	return q.GPU || peer.Issued <= p.streams.LastPassed(stream.In)
}

// start posts reads of a pull until a chunk or the provider's queue is missing. It returns true if
// all reads are posted, or if the pull has failed.
func (p *pulls) start(peer *pullPeer, q *pull) bool {
	for q.begun < q.n && q.err == 0 {
		r := pullRead{pull: q, at: q.begun, n: min(q.n-q.begun, p.limit)}
		var to unsafe.Pointer
		desc := q.Desc
		if q.GPU {
			i, got, ok := p.chunks.AllocateUpTo(q.PE, r.n)
			if !ok {
				return false // a chunk that becomes free leads to the next poll
			}
			r.chunk, r.n = i, min(r.n, got)
			to, desc = p.chunks.At(i), p.desc
		} else {
			to = q.inPlace(&r)
		}
		if !p.post(q, to, desc, &r) {
			if q.GPU {
				p.chunks.ReleaseFor(q.PE, r.chunk)
			}
			if q.err == 0 {
				peer.blocked, p.noRoom = p.pass, true
				return false
			}
			break
		}
		q.begun += r.n
	}
	if q.err != 0 {
		q.n = q.begun // the rest of the pull is dropped
		p.countArrived(q, 0)
	}
	return true
}

// post posts one read of a pull. It returns false if it cannot be posted now, or, if q.err is set,
// has failed.
func (p *pulls) post(q *pull, to unsafe.Pointer, desc uintptr, r *pullRead) bool {
	t, st := p.engine.Read(q.PE, q.Remote+r.at, q.Key, to, r.n, desc)
	if st != call.Done {
		if st == call.Failed {
			q.err = int32(call.Failed)
		}
		return false
	}
	p.reads[t] = *r
	return true
}

// inPlace limits a read into main memory to the bytes of one put, and returns their destination. It
// skips the gap before them.
func (q *pull) inPlace(r *pullRead) unsafe.Pointer {
	for i := range q.Pieces {
		if s := &q.Pieces[i]; r.at < s.In+s.N {
			if gap := int64(s.In - r.at); gap > 0 {
				r.at = s.In
				q.begun += uint64(gap)
				q.landed += uint64(gap)
			}
			r.n = min(r.n, s.In+s.N-r.at)
			return unsafe.Add(s.Dest, r.at-s.In)
		}
	}
	return unsafe.Add(q.Dest, r.at)
}

// HandleRead is called when the provider has completed the read with token t; failed is its error,
// or 0. Bytes for GPU memory are in a chunk, from which a stream copies them on; if the stream is
// full, the read waits in late.
func (p *pulls) HandleRead(t fabric.Token, failed int32) {
	r := p.reads[t]
	p.reads[t].pull = nil
	q := r.pull
	if q.lost {
		p.handleLostRead(&r)
		return
	}
	switch {
	case failed != 0:
		q.err = failed
		if q.GPU {
			p.chunks.ReleaseFor(q.PE, r.chunk)
		}
		p.countArrived(q, r.n)
	case q.GPU && (p.late.Len() > 0 || p.streams.Full(stream.In)):
		p.late.Push(r)
	default:
		p.deliver(&r)
	}
}

// deliver handles a complete read: bytes for GPU memory are in a chunk, and a stream copies them to
// their destination; other bytes are at their destination already.
func (p *pulls) deliver(r *pullRead) {
	q := r.pull
	if q.lost {
		p.handleLostRead(r)
		return
	}
	if q.GPU {
		p.streams.NoteDriverCall(q.driverCall(), q.PE)
		if p.from[q.PE].Stored == p.streams.NextMark(stream.In) {
			p.streams.FlushStores(stream.In) // a fence may order these bytes after the PE's gathered stores
		}
		p.scatter(q, r)
		if q.Get == 0 {
			p.from[q.PE].Issued = p.streams.LastMark(stream.In)
		}
		p.streams.AddChore(stream.In, stream.Chore{For: p, Index: r.chunk, PE: uint32(q.PE)})
	}
	p.countArrived(q, r.n)
}

// scatter puts the copies of a read's bytes, from its chunk to the destinations of its puts, into
// the stream. A read may have the bytes of several puts, and of only a part of a put.
func (p *pulls) scatter(q *pull, r *pullRead) {
	from := p.chunks.At(r.chunk)
	if len(q.Pieces) == 0 {
		p.streams.CopyAhead(stream.In, unsafe.Add(q.Dest, r.at), from, r.n)
		return
	}
	for i := range q.Pieces {
		s := &q.Pieces[i]
		begin, end := max(s.In, r.at), min(s.In+s.N, r.at+r.n)
		if begin < end {
			p.streams.CopyAhead(stream.In, unsafe.Add(s.Dest, begin-s.In), unsafe.Add(from, begin-r.at), end-begin)
		}
	}
}

// driverCall returns the purpose of a driver call for the pull, for reports.
func (q *pull) driverCall() backlog.Call {
	if q.Get != 0 {
		return backlog.CallGet
	}
	return backlog.CallCame
}

// Follow performs the chore of a pull: a chunk has been copied, and is free.
func (p *pulls) Follow(c *stream.Chore) { p.chunks.ReleaseFor(libshmem.PE(c.PE), c.Index) }

// countArrived counts n more bytes of a pull. When all of them have arrived, or a read has failed
// and none is under way, the pull is complete: its PE gets the reply to the request to send, and
// the get, or the progress for the PE's puts, is updated.
func (p *pulls) countArrived(q *pull, n uint64) {
	if q.landed += n; q.landed < q.n && q.err == 0 || q.landed < q.begun {
		return
	}
	if q.begun < q.n { // a read failed, and the reads of the rest were not posted
		q.n = q.begun
		if i := slices.Index(p.waiting, q); i >= 0 {
			p.waiting = slices.Delete(p.waiting, i, i+1)
		}
	}
	if q.Token != 0 {
		sendOrQueue(p.engine, noOperation, q.PE, layout.Header{Kind: layout.KindFinished, Token: q.Token, Operand: uint64(uint32(q.err))})
	}
	p.underWay--
	if q.Get != 0 {
		if q.GPU && q.err == 0 {
			p.gets.CountWhenCopied(q.Get, q.N)
		} else {
			p.gets.CountArrived(q.Get, q.N, q.err)
		}
		p.spare = append(p.spare, q)
		return
	}
	q.done = true
	p.countDone(q.PE)
}

// countDone counts the pulls of a PE's puts that are done, in order, up to one that has failed.
func (p *pulls) countDone(pe libshmem.PE) {
	peer := &p.from[pe]
	for peer.pulls.Len() > 0 && (*peer.pulls.At(0)).done {
		if (*peer.pulls.At(0)).err != 0 {
			if peer.failed.IsZero() {
				peer.failed = time.Now()
				p.failing = append(p.failing, pe)
			}
			return
		}
		p.spare = append(p.spare, peer.pulls.Pop())
		peer.Pulls.Done++
	}
}

// UnderWay returns the number of pulls that are not complete.
func (p *pulls) UnderWay() int { return p.underWay }

// CheckIdle returns an error that describes the pulls under way, or nil if there are none. Tests
// call it at their end.
func (p *pulls) CheckIdle() error {
	if len(p.waiting) != 0 || p.underWay != 0 || p.late.Len() != 0 || p.noRoom {
		return fmt.Errorf("%d pulls, %d of them not begun, %d reads late, no room %v", p.underWay, len(p.waiting), p.late.Len(), p.noRoom)
	}
	for i := range p.from {
		if n := p.from[i].pulls.Len(); n != 0 {
			return fmt.Errorf("%d pulls of PE %d", n, i)
		}
	}
	return nil
}
