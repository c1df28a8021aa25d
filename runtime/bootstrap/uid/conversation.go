package uid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/guard"
)

// conversation is one side of an exchange of frames between a PE and the root that outlives
// its connections. Each frame has a number, from 1; a side keeps a frame until the other has
// acknowledged it, and sends it again on the next connection.
//
// An envelope precedes each frame: its number, and the number of the last frame that arrived from
// the other side, 8 bytes each, little endian. A number of 0 is an envelope without a frame.
type conversation struct {
	mu    sync.Mutex
	cond  sync.Cond
	out   [][]byte // frames that the other side may not have yet; the first is number acked+1
	acked uint64   // number of frames that the other side has acknowledged
	got   uint64   // number of frames that have arrived and were delivered
	conn  net.Conn // nil: there is no connection now
	next  uint64   // number of the frame to write next on conn
	owe   bool     // an acknowledgement of frames that have arrived is to be sent
	shut  bool     // end was called
}

// newConversation returns a conversation without a connection.
func newConversation() *conversation {
	s := &conversation{}
	s.cond.L = &s.mu
	return s
}

// envelopeLen is the size of the numbers before each frame on a connection: the frame's own number,
// and that of the last frame received.
const envelopeLen = 16

// errNumbers reports numbers of frames that cannot be right: the connection ends.
var errNumbers = errors.New("the other side counts the frames wrongly")

// send queues a whole frame, which write sends. It never waits.
func (s *conversation) send(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, frame)
	s.cond.Broadcast()
}

// received returns the number of frames that have arrived.
func (s *conversation) received() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// settle waits until the other side has acknowledged all frames, but no longer than limit, and
// reports whether it has.
func (s *conversation) settle(limit time.Duration) bool {
	late := false
	t := time.AfterFunc(limit, guard.Func("the bootstrap", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.cond.Broadcast()
	}))
	defer t.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.out) > 0 && !late && !s.shut {
		s.cond.Wait()
	}
	return len(s.out) == 0
}

// trimLocked drops the frames up to number n, which the other side has acknowledged. It returns an
// error if n cannot be right.
func (s *conversation) trimLocked(n uint64) error {
	if n < s.acked || n > s.acked+uint64(len(s.out)) {
		return fmt.Errorf("%w: it has %d of %d", errNumbers, n, s.acked+uint64(len(s.out)))
	}
	if n > s.acked {
		s.out = append([][]byte(nil), s.out[n-s.acked:]...)
		s.acked = n
		s.cond.Broadcast()
	}
	return nil
}

// run exchanges frames over a connection until it breaks or closeConnection or end is called, and
// returns why it ended. has is how many frames the other side has received. run calls deliver with
// each frame, once and in order; an error of deliver ends the connection. Only one run at a time
// may be active.
func (s *conversation) run(conn net.Conn, has uint64, deliver func(wire.Frame) error) error {
	s.mu.Lock()
	if err := s.trimLocked(has); err != nil || s.shut {
		s.mu.Unlock()
		conn.Close()
		return errors.Join(err, net.ErrClosed)
	}
	// The handshake has told the other side how many frames have arrived: nothing is owed.
	s.conn, s.next, s.owe = conn, s.acked+1, false
	s.mu.Unlock()

	var writer sync.WaitGroup
	writer.Go(guard.Func("the bootstrap", func() { s.write(conn) }))
	err := s.read(conn, deliver)
	s.mu.Lock()
	s.conn = nil
	s.cond.Broadcast()
	s.mu.Unlock()
	conn.Close()
	writer.Wait()
	return err
}

// closeConnection closes the present connection. The conversation continues on the next one.
func (s *conversation) closeConnection() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeConnectionLocked()
}

// end closes the present connection, and ends the conversation: no connection follows.
func (s *conversation) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	s.closeConnectionLocked()
}

// closeConnectionLocked closes the present connection, if there is one, and wakes the goroutines
// that wait for a change of the conversation. The caller holds s.mu.
func (s *conversation) closeConnectionLocked() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.cond.Broadcast()
}

// write writes frames and acknowledgements to a connection until it ends. Each is preceded by the
// frame's number, 0 for none, and the number of the last frame received. Frames stay in s.out until
// they are acknowledged, and are sent again over the next connection.
func (s *conversation) write(conn net.Conn) {
	var b []byte
	for {
		s.mu.Lock()
		for s.conn == conn && !s.owe && s.next > s.acked+uint64(len(s.out)) {
			s.cond.Wait()
		}
		if s.conn != conn {
			s.mu.Unlock()
			return
		}
		s.next = max(s.next, s.acked+1)
		number := uint64(0)
		var frame []byte
		if i := s.next - s.acked - 1; i < uint64(len(s.out)) {
			number, frame = s.next, s.out[i]
			s.next++
		}
		s.owe = false
		b = binary.LittleEndian.AppendUint64(b[:0], number)
		b = binary.LittleEndian.AppendUint64(b, s.got)
		s.mu.Unlock()
		buffers := net.Buffers{b, frame}
		if _, err := buffers.WriteTo(conn); err != nil {
			conn.Close() // read then returns an error
			return
		}
	}
}

// read reads frames from a connection, and calls deliver with each, until the connection ends. The
// number of each frame must be one more than that of the last one, over all connections of the
// conversation.
func (s *conversation) read(conn net.Conn, deliver func(wire.Frame) error) error {
	for {
		var e [envelopeLen]byte
		if _, err := io.ReadFull(conn, e[:]); err != nil {
			return err
		}
		number, ack := binary.LittleEndian.Uint64(e[:]), binary.LittleEndian.Uint64(e[8:])
		s.mu.Lock()
		err := s.trimLocked(ack)
		want := s.got + 1
		s.mu.Unlock()
		if err == nil && number != 0 && number != want {
			err = fmt.Errorf("%w: frame %d came, not %d", errNumbers, number, want)
		}
		if err != nil {
			return err
		}
		if number == 0 {
			continue
		}
		f, err := wire.Read(conn)
		if err != nil {
			return err
		}
		if err := deliver(f); err != nil {
			return err
		}
		s.mu.Lock()
		s.got, s.owe = want, true
		s.cond.Broadcast()
		s.mu.Unlock()
	}
}

// ended reports whether end was called.
func (s *conversation) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}
