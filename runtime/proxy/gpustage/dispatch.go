package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// The operations of callers. Each goes to the part that can do it: to copies, if the heap is mapped
// here; to the engine and the fabric, if NICs reach both sides; otherwise to puts and gets.

// Performer says which part of the engine performs a put.
type Performer uint8

const (
	ByEngine Performer = iota // the engine, as between two main memories
	ByWrite                   // the engine with a one-sided write of any size: NICs reach both sides
	ByStage                   // the Stage, which has begun, completed or refused it
)

// Put decides whether the Stage performs a put of Engine.Put, or of Engine.PutSignal with the
// signal in after, and then starts it. The status is valid only with ByStage.
func (s *Stage) Put(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) (call.Status, Performer) {
	if err := s.owners.refuseSignal(pe, after); err != nil {
		return s.engine.Fail(err), ByStage
	}
	if err := s.engine.Lost(pe); err != nil {
		return s.engine.Fail(err), ByStage
	}
	gpu := n > 0 && s.Holds(source, n)
	remoteGPU := s.owners.onGPU(pe, offset)
	if remoteGPU && s.copies.Mapped(pe) {
		return s.copies.Put(pe, offset, source, n, gpu, r, after), ByStage
	}
	message := uint64(layout.MaxPut)
	if after != nil {
		message = layout.MaxPayload
	}
	if !gpu && (!remoteGPU || n <= message) {
		return call.Done, ByEngine
	}
	if s.writes && s.reaches(pe, offset, remoteGPU, source, n, gpu) {
		return call.Done, ByWrite
	}
	return s.puts.begin(pe, offset, source, n, gpu, r, after), ByStage
}

// Resume starts the put of a token that was queued after earlier operations, and need not wait any
// more.
func (s *Stage) Resume(t fabric.Token) call.Status {
	return s.puts.resume(t, s.Holds(s.puts.source(t)))
}

// MustFollow reports whether an operation of an epoch on pe has to wait for bytes from before a
// fence that have not been sent, or not been copied onto its mapped heap.
func (s *Stage) MustFollow(pe libshmem.PE, epoch uint64) bool {
	return s.departs.UnsentBefore(pe, epoch) || s.copies.MustFollow(pe, epoch)
}

// copyable reports whether bytes for pe at an offset are copied by copies: this process has mapped
// its heap.
func (s *Stage) copyable(pe libshmem.PE, offset libshmem.Offset) bool {
	return offset >= 0 && s.copies.Mapped(pe) && s.engine.Lost(pe) == nil
}

// PutBytes writes bytes to a mapped heap, and then the signal, if there is one. The bytes may be
// reused when it returns. If ok is false, the heap is not mapped, and nothing was done.
func (s *Stage) PutBytes(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, after *layout.Header) (st call.Status, ok bool) {
	if err := s.owners.refuseSignal(pe, after); err != nil {
		return s.engine.Fail(err), true
	}
	if !s.copyable(pe, offset) {
		return 0, false
	}
	return s.copies.Put(pe, offset, source, n, false, nil, after), true // from main memory, without a request
}

// Store stores an element on a mapped heap. If ok is false, the heap is not mapped, and nothing was
// done.
func (s *Stage) Store(pe libshmem.PE, offset libshmem.Offset, width uint8, value uint64) (st call.Status, ok bool) {
	if !s.copyable(pe, offset) {
		return 0, false
	}
	return s.copies.Store(pe, offset, width, value), true
}

// AMO refuses an atomic operation that the owner of the memory does not support. On a mapped heap
// it puts the operation into a stream of this PE, if the stream can do it. If ok is false, the
// engine has to send it to the owner.
func (s *Stage) AMO(pe libshmem.PE, h *layout.Header) (st call.Status, ok bool) {
	if err := s.owners.refuse(pe, h.Offset, h.Op, h.Width); err != nil {
		return s.engine.Fail(err), true
	}
	if !s.copyable(pe, h.Offset) {
		return 0, false
	}
	return s.copies.AMO(pe, h)
}

// Get starts a get if the Stage has to perform it. If ok is false, the engine reads the bytes
// itself, because both sides are main memory or NICs reach them.
func (s *Stage) Get(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, r *call.Request) (st call.Status, ok bool) {
	if err := s.engine.Lost(pe); err != nil {
		return s.engine.Fail(err), true
	}
	gpu := s.Holds(dest, n)
	remoteGPU := s.owners.onGPU(pe, offset)
	if remoteGPU && s.copies.Mapped(pe) {
		return s.copies.Get(pe, offset, dest, n, gpu, r), true
	}
	if s.reaches(pe, offset, remoteGPU, dest, n, gpu) {
		return 0, false
	}
	return s.gets.begin(pe, offset, dest, n, gpu, remoteGPU && s.heaps.find(pe, offset, n) == nil, r), true
}

// Holds reports whether n bytes at a local address are GPU memory, of the heap or of the program.
func (s *Stage) Holds(p unsafe.Pointer, n uint64) bool {
	return s.state.Staging != 0 && (s.segment.OnGPU(p, n) || s.streams.Holds(p, n))
}

// reaches reports whether the fabric can move bytes between an offset of a PE's heap and a local
// buffer; gpu and remoteGPU say which of them are GPU memory.
func (s *Stage) reaches(pe libshmem.PE, offset libshmem.Offset, remoteGPU bool, local unsafe.Pointer, n uint64, gpu bool) bool {
	return (!remoteGPU || s.heaps.find(pe, offset, n) != nil) && (!gpu || s.heaps.region(local, n) != nil)
}

// The messages of other PEs.

// Apply handles a message of another PE that concerns GPU memory, or that must not be applied
// before an earlier message that does. A message that cannot be applied yet is stored. For any
// other message it does nothing and returns false.
func (s *Stage) Apply(h *layout.Header, payload unsafe.Pointer, n int) bool {
	switch {
	case h.Kind <= layout.KindFlush: // atomic operations, elements, puts and flushes
		return s.arrivals.Apply(h, payload, n)
	case h.Kind == layout.KindRequestToSend:
		s.handleRequestToSend(h, payload, n)
	case h.Kind == layout.KindFinished:
		s.handleFinished(h)
	case h.Kind == layout.KindFetch:
		s.handleFetch(h)
	case h.Kind == layout.KindData:
		s.gets.handleData(h, payload, n)
	case h.Kind == layout.KindExtent:
		s.heaps.handleExtent(h)
	default:
		return false
	}
	return true
}

// handleRequestToSend starts to read the bytes that a PE announces with a request to send, and lets
// the signals of its puts follow them.
func (s *Stage) handleRequestToSend(h *layout.Header, payload unsafe.Pointer, n int) {
	pieces := (n - layout.RequestToSendSize) / layout.PieceOfSendSize
	if n < layout.RequestToSendSize || pieces > layout.MaxPieces || n != s.requested.Size(pieces) {
		s.check.FailMalformed(h)
		return
	}
	r := &s.requested
	mem.Copy(unsafe.Pointer(r), payload, n)
	if r.Get != 0 && pieces == 0 {
		s.gets.handleRequest(h, &r.RequestToSend)
		return
	}
	at, ok := s.findDestinations(h, pieces)
	if !ok {
		return
	}
	s.heaps.Flush() // the signals may follow bytes that a NIC has written
	s.pulls.Put(pullBytes{
		PE: libshmem.PE(h.From), Remote: h.Operand, Key: h.Extra, N: r.N, Dest: at, Pieces: s.pieces, Desc: s.gets.desc,
		GPU: s.segment.NamesGPU(h.Offset), Token: h.Token,
	}, r.Fence)
	s.arrivals.MarkBusy(libshmem.PE(h.From))
	for _, i := range s.order[:pieces] {
		if p := &r.Pieces[i]; p.Signals {
			s.signal(h.From, p)
		}
	}
	s.pulls.Start()
}

// findDestinations finds the destination of the bytes of a request to send: at, or with several
// puts the destinations in s.pieces, and in s.order the pieces in the order of posting. If ok is
// false, the request is refused, and the job fails.
func (s *Stage) findDestinations(h *layout.Header, pieces int) (at unsafe.Pointer, ok bool) {
	r := &s.requested
	s.pieces = s.pieces[:0]
	if pieces == 0 {
		at = s.check.Target(h, h.Offset, r.N)
		return at, at != nil
	}
	in, end, seen := uint64(0), uint64(0), uint64(0)
	for i := range pieces {
		p := &r.Pieces[i]
		if p.N == 0 || s.segment.NamesGPU(p.Offset) != s.segment.NamesGPU(h.Offset) || r.Get != 0 || int(p.Order) >= pieces || seen>>p.Order&1 != 0 {
			s.check.FailMalformed(h)
			return nil, false
		}
		if at = s.check.Target(h, p.Offset, uint64(p.N)); at == nil {
			return nil, false
		}
		seen |= 1 << p.Order
		s.order[p.Order] = uint8(i)
		in = alignPiece(end)
		end = in + uint64(p.N)
		s.pieces = append(s.pieces, pullPiece{at, in, uint64(p.N)})
	}
	if end != r.N {
		s.check.FailMalformed(h)
		return nil, false
	}
	return nil, true
}

// signal applies the signal of a put after the bytes that were announced with it.
func (s *Stage) signal(from uint32, p *layout.PieceOfSend) {
	s.after = layout.Header{Kind: layout.KindAMO, From: from, Op: p.Op, Width: 8, Offset: p.Signal, Operand: p.Operand}
	if !s.arrivals.Apply(&s.after, nil, 0) {
		s.engine.Apply(&s.after, nil, 0)
	}
}

// HandleRead is called when a read of Engine.Read is complete; failed is its error, or 0.
func (s *Stage) HandleRead(t fabric.Token, failed int32) { s.pulls.HandleRead(t, failed) }

// handleFinished handles the reply to a request to send of this PE: the other PE has read the
// bytes, or could not read them.
func (s *Stage) handleFinished(h *layout.Header) {
	if h.Token&layout.ChunkToken != 0 {
		s.departs.HandleFinished(h)
	} else {
		s.puts.handleFinished(h)
	}
}

// handleFetch handles the request of another PE's get: it starts to copy the bytes out of GPU
// memory.
func (s *Stage) handleFetch(h *layout.Header) {
	at := s.check.Target(h, h.Offset, h.Operand)
	switch {
	case at == nil:
	case s.segment.NamesGPU(h.Offset):
		s.departs.Serve(libshmem.PE(h.From), h.Token, at, h.Operand)
	default:
		s.check.FailMalformed(h)
	}
}
