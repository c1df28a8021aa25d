package launch

import "sync"

// remarks is the queue of shmemrun's own lines of output. It has no limit, which would stop the
// job's loop or lose lines. It does not grow far: a job has a few lines for each PE, and one for
// each signal.
type remarks struct {
	mu    sync.Mutex
	more  sync.Cond // of mu: lines or ended has changed
	lines []string
	ended bool // no more lines follow
}

// wait waits for lines and returns all of them. It returns none when end was called and all lines
// have been returned.
func (r *remarks) wait() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.lines) == 0 && !r.ended {
		r.more.Wait()
	}
	lines := r.lines
	r.lines = nil
	return lines
}

// end ends the queue: no more lines follow.
func (r *remarks) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.more.Signal()
}

// say queues a line of shmemrun's own. It never waits for the reader: the job's loop calls it,
// which must forward signals and end the job even if nothing reads the output.
func (o *output) say(line string) {
	r := &o.remarks
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	r.more.Signal()
}

// write writes the remarks to standard error until end is called.
func (o *output) write() {
	defer close(o.remarksWritten)
	for {
		lines := o.remarks.wait()
		if len(lines) == 0 {
			return
		}
		for _, line := range lines {
			o.writeRemark(line)
		}
	}
}

// writeRemark writes a line. On a terminal it first ends an unfinished line of a PE.
func (o *output) writeRemark(line string) {
	t := o.errs.lock
	t.mu.Lock()
	defer t.mu.Unlock()
	b := "shmemrun: " + line + "\n"
	if t.open != nil {
		t.open = nil
		b = "\n" + b
	}
	_, _ = o.errs.file.WriteString(b) // there is no other output for the error
}
