package job

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"libshmem/runtime/config"
	"libshmem/runtime/proxy/loop"
)

// reports prints what goes wrong in rings, where one mistake in a kernel can come
// back a million times a second: the first few in full, then how many there were.
type reports struct {
	mu    sync.Mutex
	say   func(text string)
	note  func(text string) // what a user need not see
	now   func() time.Time
	since time.Time
	told  int
	kept  int // not told since
}

// Of each period of reportEvery, reportMost are told.
const (
	reportEvery = 10 * time.Second
	reportMost  = 8
)

func (r *reports) add(err error) {
	var late *loop.LateError
	if errors.As(err, &late) && !late.Grave {
		r.note(err.Error())
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.since) >= reportEvery {
		r.flush()
		r.since, r.told = now, 0
	}
	if r.told == reportMost {
		r.kept++
		return
	}
	r.told++
	r.say(err.Error())
	if r.told == reportMost {
		r.say(fmt.Sprintf("more of these within %v are counted only", reportEvery))
	}
}

// flush tells how many were only counted.
func (r *reports) flush() {
	if r.kept > 0 {
		r.say(fmt.Sprintf("%d more operations of rings failed", r.kept))
		r.kept = 0
	}
}

// close tells what is left to tell.
func (r *reports) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}

// Tell says of a wait for a PE, or of -1, what it has to tell, and below that what the flight
// recorder has.
func (j *Job) Tell(of int, text string) {
	if j.log.Enabled("pe", config.LogWarn) {
		j.log.Tell("pe", config.LogWarn, fmt.Sprintf("PE %d", j.Me), text, j.flight(of))
	}
}

// note is Report for those who ask for more than warnings.
func (j *Job) note(text string) {
	j.log.Printf("pe", config.LogInfo, "PE %d: %s", j.Me, text)
}

// Report says what a wait or a call of this PE has to tell, where the log goes.
func (j *Job) Report(text string) {
	if j.log.Enabled("pe", config.LogWarn) {
		j.log.Say("pe", config.LogWarn, fmt.Sprintf("PE %d: %s", j.Me, text))
	}
}
