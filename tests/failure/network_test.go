package failure

import (
	"slices"
	"testing"

	"libshmem/fabric/ofi/stub"
)

// tcp has a job go by sockets, in one row of a test's table; routes has it go by others, too.
var tcp = []string{"-x", "SHMEM_PROVIDER=tcp"}

// A route is how PEs of different hosts reach each other.
type route struct {
	name    string   // "": as the row says
	options []string // of shmemrun
	env     []string
	network *stub.Network // nil: sockets, or none at all
}

// routes are those of a row. One over sockets is run over NICs that this machine does not have,
// too: the newest of EFA's, with -whole all of fabric/ofi/stub.
func routes(t *testing.T, options []string) []route {
	t.Helper()
	all := []route{{options: options}}
	at := slices.Index(options, tcp[1])
	if at < 0 {
		return all
	}
	elsewhere := slices.Delete(slices.Clone(options), at-1, at+1)
	for _, n := range stub.Networks(*whole) {
		all = append(all, route{name: " over " + n.Name, options: elsewhere, env: n.Env(stub.Build(t)), network: &n})
	}
	return all
}

// onGPU is onGPU where NICs reach the memory of a GPU.
func (r *route) onGPU(t *testing.T) []string {
	t.Helper()
	env := onGPU(t)
	switch {
	case r.network == nil:
	case r.network.Provider == "cxi": // which takes no dma-bufs (R19d)
		env = append(env, "SHMEM_GPU_NET=peermem")
	default:
		env = append(env, "SHMEM_GPU_NET=dmabuf")
	}
	return env
}
