package launch

import "sync"

// absences are reports of PEs that exited with status 0 although others wait for them. Each is
// noted before the waiting PEs learn of it, and the job's loop prints it before it handles anything
// that those do then.
type absences struct {
	mu    sync.Mutex
	noted []func()
}

// note adds a function that prints a report.
func (a *absences) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noted = append(a.noted, f)
}

// take returns the functions noted so far, and forgets them.
func (a *absences) take() []func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	noted := a.noted
	a.noted = nil
	return noted
}
