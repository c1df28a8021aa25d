package launch

import (
	"os"
	"sync"
)

// replies are the frames on their way to one PE, in their order: replies to its requests, and news.
// A PE that is stopped, or that computes, reads none of them. The kernel's buffer holds a few
// hundred small frames or a part of a long one; the rest waits here, and no other PE waits for it.
type replies struct {
	conn *os.File // it is set before the first frame

	mu      sync.Mutex
	frames  [][]byte // not yet written to conn
	writing bool     // a goroutine writes them
}

// send queues a frame, which must not change afterwards. It never waits.
func (a *replies) send(frame []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.frames = append(a.frames, frame)
	if !a.writing {
		a.writing = true
		go a.write()
	}
}

// write writes the queued frames to the PE until there are none.
func (a *replies) write() {
	for {
		a.mu.Lock()
		frames := a.frames
		a.frames = nil
		a.writing = len(frames) > 0
		a.mu.Unlock()
		if len(frames) == 0 {
			return
		}
		for _, f := range frames {
			_, _ = a.conn.Write(f) // a PE that is gone reads nothing: the reaper reports its end
		}
	}
}
