package chaos

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
)

var _ fabric.Joiner = (*Provider)(nil)

// Join implements fabric.Joiner: it adds a PE, if the inner provider can.
func (p *Provider) Join(pe libshmem.PE, addr []byte) error {
	by, ok := p.inner.(fabric.Joiner)
	if !ok {
		return fmt.Errorf("provider %s: PEs cannot join after others have connected", p.caps.Provider)
	}
	if err := by.Join(pe, addr); err != nil {
		return err
	}
	p.reachable[pe] = true
	return nil
}

// Remove implements fabric.Joiner: it ends the connection with a PE. Operations on the PE that are
// delayed go to the inner provider when they are due, and fail there.
func (p *Provider) Remove(pe libshmem.PE) {
	if by, ok := p.inner.(fabric.Joiner); ok {
		by.Remove(pe)
	}
}

// Belated implements fabric.BelatedCounter: it returns how many requests and words of PEs of the job
// the inner provider has dropped because they came too late.
func (p *Provider) Belated() uint64 { return fabric.BelatedOf(p.inner) }
