package chaos

import (
	"fmt"

	"libshmem/fabric"
)

// Read parses SHMEM_CHAOS, the faults to inject into the network of this many PEs; nil: none.
func Read(text string, pes int) (*Plan, error) {
	if text == "" {
		return nil, nil
	}
	plan, err := Parse(text)
	if err == nil {
		err = plan.Check(pes)
	}
	if err != nil {
		return nil, fmt.Errorf("read setting SHMEM_CHAOS=%q: %w", text, err)
	}
	return &plan, nil
}

// Open opens a provider by open and, if plan is not nil, puts a Provider around it that injects the
// faults of the plan. kills: this process carries out the Kills and Panics of the plan.
func Open(open func(fabric.Config) (fabric.Provider, error), c fabric.Config, plan *Plan, kills bool) (fabric.Provider, error) {
	if plan == nil {
		return open(c)
	}
	inner, err := open(Inner(c))
	if err != nil {
		return nil, err
	}
	return New(inner, c, *plan, kills)
}
