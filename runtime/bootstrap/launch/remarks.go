package launch

import "sync"

// remarks are lines of shmemrun's own that are not yet written. Their number has no limit: a limit
// would stop the job's loop, or lose lines. The job bounds them: it has a few lines for each PE, and
// one for each signal.
type remarks struct {
	mu    sync.Mutex
	more  sync.Cond // of mu: lines or ended has changed
	lines []string
	ended bool // no more lines follow
}

// take waits for lines and returns all of them; none: no more follow.
func (r *remarks) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.lines) == 0 && !r.ended {
		r.more.Wait()
	}
	lines := r.lines
	r.lines = nil
	return lines
}

// end ends the writing of remarks after the last one.
func (r *remarks) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.more.Signal()
}

// say queues a line of shmemrun's own. It never waits for the reader: the job's loop calls it, which
// must forward signals and end the job even if nothing reads the output.
func (o *output) say(line string) {
	r := &o.remarks
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	r.more.Signal()
}

// write writes remarks until the last one.
func (o *output) write() {
	defer close(o.said)
	for {
		lines := o.remarks.take()
		if len(lines) == 0 {
			return
		}
		for _, line := range lines {
			o.writeRemark(line)
		}
	}
}

func (o *output) writeRemark(line string) {
	t := o.errs.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	b := "shmemrun: " + line + "\n"
	if t.open != nil {
		t.open = nil
		b = "\n" + b
	}
	_, _ = o.errs.file.WriteString(b) // there is no other output for the error
}
