package launch

import (
	"io"
	"sync"
	"time"
)

// stamp is when something was last heard of the other side of a connection. Its zero value has heard
// something when it is first asked.
type stamp struct {
	mu   sync.Mutex
	last time.Time
	look time.Time // when silent was last asked
}

// hear notes that something has come.
func (s *stamp) hear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// silent reports whether nothing has come for so long. It is to be asked often: a longer pause
// between two questions means that this process was stopped, and what came meanwhile is not read
// yet.
func (s *stamp) silent(limit time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.last.IsZero() || now.Sub(s.look) > limit/2 {
		s.last = now
	}
	s.look = now
	return now.Sub(s.last) > limit
}

// reader is r, whose bytes are heard.
func (s *stamp) reader(r io.Reader) io.Reader { return &heardReader{s, r} }

type heardReader struct {
	stamp *stamp
	from  io.Reader
}

func (h *heardReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.stamp.hear()
	}
	return n, err
}

// firstSilence is the limit before a job says another one.
const firstSilence = 30 * time.Second

// share is the part of a limit after which to look again, or to say something.
const share = 6

// tick is when to look again whether the other side is silent; nil, which never comes, without a
// limit.
func tick(limit time.Duration) <-chan time.Time {
	if limit <= 0 {
		return nil
	}
	return time.After(limit / share)
}
