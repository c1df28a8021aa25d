package launch

import "sync"

// absences are reports of PEs that exited with status 0 although others wait for them. Each is
// added before the waiting PEs learn of it, and the job's loop prints it before it handles anything
// that the waiting PEs do then.
type absences struct {
	mu    sync.Mutex
	noted []func()
}

// note adds a function that prints a report about missing PEs, for the job's loop to call.
func (a *absences) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noted = append(a.noted, f)
}

// drain returns the functions noted so far, each of which prints that PEs are missing from a step,
// and empties the list.
func (a *absences) drain() []func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	noted := a.noted
	a.noted = nil
	return noted
}
