package bootstrap

import (
	"errors"
	"fmt"
)

// Steps are the collective calls of all bootstraps that a process has had of one launcher. After
// one that has failed there is no other: the launcher's next answer belongs to that one, or the
// call itself is in the way.
type Steps struct {
	N   int   // so far: a key is used once
	Err error // of the one that has failed
}

// Run makes one, and names it in the error.
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
