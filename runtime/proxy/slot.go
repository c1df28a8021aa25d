package proxy

import (
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/local"
	"libshmem/runtime/proxy/quiet"
)

// use says what a slot's token stands for.
type use uint8

const (
	useSend    use = iota + 1 // a message leaves from the slot's buffer
	useWrite                  // a one-sided write
	useRead                   // a one-sided read
	useReply                  // an answer is expected: fetching atomic
	usePut                    // a put that GPU does
	useGet                    // a get that it does
	usePull                   // a read of its own
	useQueued                 // a message in the slot's buffer waits, see queue.go
	useWaits                  // a one-sided write does
	useDeparts                // a put with GPU memory at one side does
)

// slot is the record of one operation in flight. What every operation needs is
// in its first cache line, and only that is touched unless a signal waits or a
// buffer was registered.
type slot struct {
	use        use
	width      uint8      // of fetch
	lane       quiet.Lane // of the generation that waits for it
	then       bool       // write: send the message in after, of the epoch, when it is done
	registered bool       // write, read: memory has a registration of its own
	flush      bool       // write: the target flushes before it is done; read: this PE does
	turn       uint16     // how often the token was given out
	pe         fabric.PE
	ended      bool           // the PE was lost, and its caller told: the provider still has it
	awaited    bool           // GPU's: quiets wait for it
	bytes      uint64         // write, read: under way
	request    *Request       // nil: quiet waits for it
	fetch      unsafe.Pointer // where a non-blocking fetch puts its value
	epoch      uint64
	number     uint32 // write: that the target knows it by, or noNumber
	length     uint32 // queued: bytes of the message
	hold       hold   // queued: a batch that is to grow
	signalled  bool   // write: a signal follows it
	stream     uint16 // that it belongs to
	_          [4]byte

	after  layout.Header
	memory local.Use      // where registered
	local  unsafe.Pointer // waits: what is written,
	offset int64          // and where to
	until  uint64         // queued: writes that have to be complete, see hold
	next   fabric.Token   // queued, waits: behind it
	_      [12]byte       // to whole cache lines
}

var (
	_ [64]byte = [unsafe.Offsetof(slot{}.after)]byte{}
	_ [0]byte  = [unsafe.Sizeof(slot{}) % 64]byte{}
)

// take gives out a token and its slot; none when all are in flight.
func (e *Engine) take(u use, p *layout.Peer, pe fabric.PE) (fabric.Token, *slot) {
	last := len(e.free) - 1
	if last < 0 {
		e.noCredit(pe, p)
		return 0, nil
	}
	t := e.free[last]
	e.free = e.free[:last]
	s := &e.slots[t]
	p.Tokens++
	// The rest is of a later use only when that sets it; bytes and
	// registered are zero between uses.
	s.use, s.pe, s.lane, s.turn, s.stream = u, pe, e.quiets.Lane(), s.turn+1, uint16(e.number)
	s.then, s.flush, s.request = false, false, nil
	return t, s
}

// question is what an answer has to name: the token and its turn, so that an
// answer that comes twice does not end the next operation of that token.
func (e *Engine) question(t fabric.Token) uint32 {
	return uint32(e.slots[t].turn)<<16 | uint32(t)
}

// give takes a token back.
func (e *Engine) give(t fabric.Token) {
	s := &e.slots[t]
	s.use = 0
	p := &e.peers[s.pe]
	// There are more only until one is given back.
	p.Count[layout.MostUnderWay] = max(p.Count[layout.MostUnderWay], uint64(p.Tokens))
	p.Tokens--
	p.Bytes -= s.bytes
	e.bytes -= s.bytes
	s.bytes = 0
	e.free = append(e.free, t)
}

// finish tells the caller of an operation that it is done.
func (e *Engine) finish(r *Request, status int32, value uint64) {
	e.Finished++
	r.Status, r.Value = status, value
	atomic.StoreUint32(&r.Done, 1)
}
