package pmi

import (
	"fmt"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
)

const (
	// publishAfter is how long a PE waits in a barrier before it publishes that it waits. Usually a
	// barrier takes less.
	publishAfter = time.Second
	// lookupTime bounds the search for the PEs that wait, after the timeout of a barrier.
	lookupTime = 10 * time.Second
)

// barrier waits until all PEs have called it, as the step s.steps.N. After the timeout it returns
// an error that names the PEs that have not published that they wait; Steps.Run adds the step's
// name to it. With a timeout of 0 it waits for ever.
func (s *session) barrier(timeout time.Duration) error {
	if err := s.conn.send(command("barrier_in")); err != nil {
		return err
	}
	began, end := time.Now(), deadline(timeout)
	publish := began.Add(publishAfter)
	if timeout > 0 {
		publish = began.Add(min(publishAfter, timeout/4))
	}
	w := &waiting{session: s}
	// The PE waits first until it is time to publish, and then until the timeout.
	for until := publish; ; {
		err := w.read(until)
		switch {
		case err == errLate && until == end:
			missing, err := w.findMissing()
			switch {
			case err != nil:
				return fmt.Errorf("some PEs did not come within %v, and the launcher does not name them: %w", timeout, err)
			case w.over:
				return nil
			case len(missing) == 0:
				return fmt.Errorf("all PEs have arrived, but the launcher does not say so within %v", timeout)
			}
			return &bootstrap.MissingError{Missing: missing, Waited: timeout}
		case err == errLate:
			until = end
			if err := w.publish(); err != nil {
				return err
			}
		case err != nil:
			return err
		case w.over && w.owed == 0:
			return nil
		}
	}
}

// waiting is a barrier under way. Meanwhile the PE may publish and look up names over the same
// connection, so a line that arrives may belong to either.
type waiting struct {
	*session
	over bool // the launcher has ended the barrier
	owed int  // replies to publish_name that have not arrived yet
	// Of the last lookup_name.
	found   bool // the name was found
	replied bool // the reply has arrived
}

// read reads and handles one line of the launcher.
func (w *waiting) read(end time.Time) error {
	r, err := w.conn.read(end)
	if err != nil {
		return err
	}
	why := r.failed()
	switch {
	case r.cmd == "barrier_out" && !w.over:
		if why != "" {
			return fmt.Errorf("the launcher ends the barrier with %s", why)
		}
		w.over = true
	case r.cmd == "publish_result" && w.owed > 0:
		w.owed-- // if it failed, other PEs report this PE as missing, too
	case r.cmd == "lookup_result":
		w.replied, w.found = true, why == "" && r.fields["port"] != ""
	default:
		return fmt.Errorf("%w: cmd=%s in a barrier", errFormat, show(r.cmd))
	}
	return nil
}

// name returns the name that a PE publishes when it waits in this step.
func (s *session) name(pe libshmem.PE) string {
	return fmt.Sprintf("shmem-%s-%d-%d", s.kvs, s.steps.N, pe)
}

// publish publishes a name by which other PEs know that this PE waits in the barrier.
func (w *waiting) publish() error {
	w.owed++
	return w.conn.send(command("publish_name", "service", w.name(w.rank), "port", "here"))
}

// findMissing looks up the name of each other PE, and returns the PEs that have not published that
// they wait. It returns nil if the barrier ends meanwhile.
func (w *waiting) findMissing() (missing []libshmem.PE, err error) {
	end := time.Now().Add(lookupTime)
	for pe := range libshmem.PE(w.size) {
		if pe == w.rank {
			continue
		}
		w.replied = false
		if err := w.conn.send(command("lookup_name", "service", w.name(pe))); err != nil {
			return nil, err
		}
		for !w.replied {
			if err := w.read(end); err != nil {
				return nil, err
			}
		}
		if w.over {
			return nil, nil
		}
		if !w.found {
			missing = append(missing, pe)
		}
	}
	return missing, nil
}
