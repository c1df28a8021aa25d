package rail_test

import (
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/ofi"
	"libshmem/fabric/rail"
)

// Several endpoints of libfabric are one, over loopback: as two NICs, but for their speed.
func TestOFI(t *testing.T) {
	for _, c := range []struct {
		provider string
		nics     []int // of the ends, in turn
		policy   rail.Policy
	}{
		{"tcp", []int{2}, rail.Split},
		{"tcp", []int{3, 2}, rail.Auto},
		{"tcp;msg", []int{2}, rail.Split},
		{"tcp;msg", []int{3, 2}, rail.Auto},
		{"tcp;ofi_rxm", []int{2}, rail.Split},
	} {
		t.Run(c.provider+", "+c.policy.String(), func(t *testing.T) {
			opened := 0
			fabrictest.Run(t, func(f fabric.Config) (fabric.Provider, error) {
				choice, err := ofi.Choose("", ofi.Hints{Provider: c.provider, NICs: "lo"})
				if err != nil {
					return nil, err
				}
				defer choice.Close()
				var ends []fabric.Provider
				for range c.nics[opened%len(c.nics)] {
					more, err := choice.Open(rail.Inner(f))
					if err != nil {
						return nil, err
					}
					ends = append(ends, more...)
				}
				opened++
				p, err := rail.New(ends, rail.Config{Config: f, Policy: c.policy})
				switch {
				case err != nil:
					return nil, err
				case c.nics[0] == 2:
					return &native{p, t}, nil
				}
				return &looked{p}, nil
			}, fabrictest.Limits{})
		})
	}
}

// native holds that callers in C may send and receive without Go, once there are
// peers. That they do is seen in tests/run, where rings are served in C.
type native struct {
	*rail.Provider
	t *testing.T
}

func (p *native) Connect(addrs [][]byte) error {
	err := p.Provider.Connect(addrs)
	if n := p.Native(); err == nil && (n.Recv == nil || n.Inject == nil) {
		p.t.Error("there are no functions in C to send and receive")
	}
	return err
}

// looked is looked at from C before each Poll, as by a caller that waits there, and
// polled only when something was found.
type looked struct{ *rail.Provider }

func (p *looked) Poll(c []fabric.Completion) (int, error) {
	if !p.HasCompletions() {
		return 0, nil
	}
	return p.Provider.Poll(c)
}
