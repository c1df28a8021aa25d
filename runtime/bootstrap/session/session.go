// Package session brings together PEs that know nothing of each other but the name of PE 0's host
// and a port there, as the pods of a job in Kubernetes do. The rest is runtime/bootstrap/uid.
//
// A PE may start before all others: the name may not resolve yet, it may resolve to another address
// a moment later, and PEs that have connected may be replaced. Until all PEs have met, each PE
// therefore tries again, from the name on, where a try fails. After that the job is one of uid, and
// a process that is late for a place in it learns that another process has the place.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/guard"
	"libshmem/runtime/shmerr"
)

// Env is the setting with the address.
const Env = "SHMEM_BOOTSTRAP_SESSION"

// Options describe this PE and its job.
type Options struct {
	Place    uid.Place
	PE       libshmem.PE
	Size     int
	Timeout  time.Duration     // how long to wait for the other PEs, above 0
	Survives bool              // the PE continues when others fail (SHMEM_ON_FAILURE=return)
	Warn     func(text string) // gets the reason of a wait that lasts
}

const (
	// pause is the time between two tries.
	pause = 200 * time.Millisecond
	// try is the time to reach PE 0 at the addresses of its name, before the name is resolved
	// again.
	try = 2 * time.Second
	// quiet is the time that a PE waits without saying what it waits for.
	quiet = 10 * time.Second
	// shortest is the least number of characters of a secret. A process that reaches PE 0 gets a
	// proof that PE 0 knows the secret, and can then try guesses against the proof by itself.
	shortest = 16
)

// Join brings this PE together with the others at the address of the session. Until the timeout it
// tries again, because PE 0 may start later, or an earlier job may still be there.
func Join(o Options) (*uid.Member, error) {
	w := &wait{Options: o, since: time.Now(), said: map[string]bool{}}
	// The error of a try that the timeout has cut off says less than the error of the one before.
	var last error
	for {
		m, err := w.attempt()
		late := time.Since(w.since) >= o.Timeout
		switch {
		case err == nil:
			return m, nil
		case isFinal(err):
			return nil, w.explain(err)
		case !late || last == nil:
			last = err
		}
		if late {
			return nil, w.explain(last)
		}
		w.report(err)
		time.Sleep(min(pause, o.Timeout))
	}
}

// isFinal reports whether another try to join is of no use: PEs are missing, or the error is not of
// a try to connect.
func isFinal(err error) bool {
	var missing *bootstrap.MissingError
	var failed *tryError
	return errors.As(err, &missing) || !errors.As(err, &failed)
}

// occupied reports whether PE 0 has refused this process because another one has its place. A
// refusal that is not part of a uid.Unreached has another reason: PE 0 was replaced and does not
// know this PE's connection, and the next try begins anew.
func occupied(err error) bool {
	var unreached *uid.Unreached
	var refusal *uid.Refusal
	return errors.As(err, &unreached) && errors.As(unreached.Last, &refusal)
}

// tryError is an error after which the next try may be a success.
type tryError struct{ error }

// Unwrap returns the error itself.
func (e *tryError) Unwrap() error { return e.error }

// wait is the state of one PE's wait for the others, over all tries.
type wait struct {
	Options
	since time.Time
	said  map[string]bool // reasons that were reported
}

// attempt tries once to find PE 0 and to join the job.
func (w *wait) attempt() (*uid.Member, error) {
	ctx, cancel := context.WithDeadline(context.Background(), w.since.Add(w.Timeout))
	defer cancel()
	id, err := uid.Session(ctx, w.Place, w.PE == 0)
	var unresolved *uid.NameError
	if errors.As(err, &unresolved) {
		return nil, &tryError{err}
	}
	if err != nil {
		return nil, err
	}
	m, err := uid.Join(uid.Options{
		ID: id, PE: w.PE, Size: w.Size, Connect: min(try, w.Timeout), Timeout: w.Timeout, Survives: w.Survives, Name: "session",
	})
	var refusal *uid.Refusal
	var cannotListen *uid.ListenError
	switch {
	case err == nil:
	case errors.As(err, &cannotListen), errors.As(err, &refusal) && !refusal.Later:
		return nil, err
	default:
		return nil, &tryError{err}
	}
	stop := w.reportMissing(m)
	// A PE that has connected may end before the others connect. The second barrier shows that it
	// still runs when the last PE has connected.
	if err = m.Barrier(); err == nil {
		err = m.Barrier()
	}
	stop()
	if err == nil {
		m.NoteStarted()
		return m, nil
	}
	m.Abandon()
	return nil, &tryError{err}
}

// explain returns err with this PE, the address at which it has waited for PE 0, the cause and a
// remedy. An error that names missing PEs, or is not of a try to connect, is returned unchanged.
func (w *wait) explain(err error) error {
	var missing *bootstrap.MissingError
	var failed *tryError
	if errors.As(err, &missing) || !errors.As(err, &failed) {
		return err
	}
	remedy, why := w.reason(err)
	host, herr := os.Hostname()
	if herr != nil {
		host = "without a name"
	}
	return &shmerr.Error{
		Op: "join job", Object: fmt.Sprintf("PE %d of %d, on host %s", w.PE, w.Size, host),
		Cause:  fmt.Errorf("it waited %v for PE 0 at %s: %w", w.Timeout, w.Place.Address, why),
		Remedy: remedy,
	}
}

// reason returns, for the error of the last try to connect, the remedy to print and the cause.
func (w *wait) reason(err error) (remedy string, why error) {
	var unresolved *uid.NameError
	var unreached *uid.Unreached
	errors.As(err, &unreached)
	switch {
	case errors.As(err, &unresolved):
		return "see that " + Env + " has the name of PE 0's host; in Kubernetes, that the headless service exists, " +
			"publishes addresses that are not ready, and is the subdomain of the pods; SHMEM_BOOTSTRAP_TIMEOUT waits longer", unresolved
	case occupied(err):
		return "find out which other process has this number; a PE that has ended is not replaced: start all PEs again", unreached.Last
	case unreached != nil && errors.Is(err, uid.ErrSecret):
		return "give all PEs the same " + Env + " and the same SHMEM_BOOTSTRAP_SECRET", unreached.Last
	case unreached != nil:
		return "see that PE 0 runs, and that no firewall or NetworkPolicy keeps this host from the port; SHMEM_BOOTSTRAP_TIMEOUT waits longer", unreached.Last
	}
	return "find out why that PE has ended; a larger SHMEM_BOOTSTRAP_TIMEOUT waits longer", err
}

// report says why the PE waits: at once if waiting alone is unlikely to help, else when it has
// waited for the time quiet.
func (w *wait) report(err error) {
	if !occupied(err) && !errors.Is(err, uid.ErrSecret) && time.Since(w.since) < quiet {
		return
	}
	remedy, why := w.reason(err)
	w.say(fmt.Sprintf("PE %d waits for PE 0 at %s: %v (%s)", w.PE, w.Place.Address, why, remedy))
}

// say passes a text to Warn, each text only once.
func (w *wait) say(text string) {
	if w.Warn != nil && !w.said[text] {
		w.said[text] = true
		w.Warn(text)
	}
}

// reportMissing makes PE 0 name the PEs that have not connected, when it has waited for the time
// quiet. stop ends that, and waits until a report under way is written.
func (w *wait) reportMissing(m *uid.Member) (stop func()) {
	if w.PE != 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	guard.Go("the bootstrap", func() {
		defer close(ended)
		select {
		case <-done:
		case <-time.After(quiet):
			if missing := m.Missing(); len(missing) > 0 {
				w.say(fmt.Sprintf("PE 0 at %s waits for %s (find out why they are late; it gives up after %v)", w.Place.Address, shmerr.PEs(missing), w.Timeout))
			}
		}
	})
	return func() {
		close(done)
		<-ended
	}
}

// UniqueID returns the id of the job that meets at a place, for a program that passes it to each PE
// itself. It waits until the name of the place resolves.
func UniqueID(p uid.Place, timeout time.Duration) (uid.ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for {
		id, err := uid.Session(ctx, p, false)
		var unresolved *uid.NameError
		if !errors.As(err, &unresolved) {
			return id, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return id, fmt.Errorf("make unique id: session %q: %w (see that %s has the name of PE 0's host; SHMEM_BOOTSTRAP_TIMEOUT waits longer than %v)",
				p.Address, err, Env, timeout)
		}
	}
}

// Secret returns the secret of the settings: text, or the content of the file. At most one of the
// two may be set; "" is returned if neither is.
func Secret(text, file string) (string, error) {
	from := "SHMEM_BOOTSTRAP_SECRET"
	if file != "" {
		if text != "" {
			return "", fmt.Errorf("join job: SHMEM_BOOTSTRAP_SECRET and SHMEM_BOOTSTRAP_SECRET_FILE are both set (unset one of them)")
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("join job: read the secret of SHMEM_BOOTSTRAP_SECRET_FILE: %w (mount the file with it, readable by this user)", err)
		}
		text, from = string(b), "the file of SHMEM_BOOTSTRAP_SECRET_FILE, "+file+","
	}
	trimmed := strings.TrimSpace(text)
	if n := utf8.RuneCountInString(trimmed); n < shortest && (file != "" || text != "") {
		return "", fmt.Errorf("join job: %s has %d characters, at least %d are needed (use 32 random hexadecimal digits)", from, n, shortest)
	}
	return trimmed, nil
}
