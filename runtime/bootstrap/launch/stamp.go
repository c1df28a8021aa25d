package launch

import (
	"io"
	"sync"
	"time"
)

// stamp records when bytes last arrived from the other side of a connection. The time counts from
// the first call of silent if nothing has arrived before.
type stamp struct {
	mu      sync.Mutex
	last    time.Time
	checked time.Time // when silent was last called
}

// noteBytes records that bytes have arrived.
func (s *stamp) noteBytes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// silent reports whether nothing has arrived for longer than limit. It must be called often: a
// pause of more than half of limit between two calls means that this process was stopped, and has
// not read yet what has arrived meanwhile, so the time then starts again.
func (s *stamp) silent(limit time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.last.IsZero() || now.Sub(s.checked) > limit/2 {
		s.last = now
	}
	s.checked = now
	return now.Sub(s.last) > limit
}

// reader returns a reader that reads from r and calls noteBytes when bytes have arrived.
func (s *stamp) reader(r io.Reader) io.Reader { return &heardReader{s, r} }

// heardReader reads from another reader, and notes in stamp when bytes have arrived.
type heardReader struct {
	stamp *stamp
	from  io.Reader
}

// Read implements io.Reader, and notes the time at which bytes have arrived, from which a silent
// host is detected.
func (h *heardReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.stamp.noteBytes()
	}
	return n, err
}

// firstSilence is an agent's limit of silence until the job sets one.
const firstSilence = 30 * time.Second

// share is the part of a limit of silence, 1/share, after which a side checks again, or sends a
// ping.
const share = 6

// tick returns a channel that fires when it is time to check again whether the other side is
// silent. Without a limit it returns nil, which never fires.
func tick(limit time.Duration) <-chan time.Time {
	if limit <= 0 {
		return nil
	}
	return time.After(limit / share)
}
