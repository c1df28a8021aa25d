package launch

import "sync"

// absences are PEs that ended well although others wait for them. They are noted before the waiting
// PEs learn of them, and reported before any act of those: the loop takes them first.
type absences struct {
	mu    sync.Mutex
	noted []func()
}

func (a *absences) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noted = append(a.noted, f)
}

func (a *absences) take() []func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	noted := a.noted
	a.noted = nil
	return noted
}
