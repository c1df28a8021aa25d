package bootstrap

import (
	"errors"
	"fmt"
)

// Steps counts the collective steps that a process makes through one launcher, in all its
// bootstraps. After a step that has failed there can be no other: the launcher's next reply would
// belong to the failed one, or that step is still under way in the launcher's library.
type Steps struct {
	N   int   // the number of the last step, which makes its keys unique
	Err error // of the step that has failed
}

// Run makes a collective step: it calls run, and adds the step's name and number to its error.
// After an error each further step fails at once, because the PEs would no longer be at the same
// step.
func (s *Steps) Run(what string, run func() error) error {
	s.N++
	name := fmt.Sprintf("%s %d", what, s.N)
	if s.Err != nil {
		return fmt.Errorf("%s: an earlier step has failed: %w", name, s.Err)
	}
	if s.Err = run(); s.Err == nil {
		return nil
	}
	var missing *MissingError
	if errors.As(s.Err, &missing) {
		missing.Step = name
		return missing
	}
	return fmt.Errorf("%s: %w", name, s.Err)
}
