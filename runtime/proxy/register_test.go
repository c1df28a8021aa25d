package proxy

import "libshmem/fabric"

// RegisterGPU takes memory of a card, or fails as the mode says.
func (e *end) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	if refuse := e.net.mode.noGPU; refuse != nil {
		if err := refuse(m); err != nil {
			return fabric.Region{}, err
		}
	}
	return e.Register(m.Base, m.Len)
}
