package efa

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy"
)

// D2, D5 and D7: losses after which a process could continue.
var lossNeeds = []need{
	{name: "D2: a PE is gone before first contact", nic: "version=1.22", test: gone(false)},
	{name: "D2: a PE is gone before first contact, 2.6", nic: "version=2.6 without=R2a", test: gone(false)},
	{name: "D2: a PE is gone before first contact, efa-direct", nic: "version=2.6", test: gone(false)},
	{name: "D5: an injected message to a PE that is gone", nic: "version=1.22", test: gone(true)},
	{name: "D5: an injected message to a PE that is gone, 2.6", nic: "version=2.6 without=R2a", test: gone(true)},
	{name: "D5: a message to a PE that is gone, efa-direct", nic: "version=2.6", test: gone(true)},
	{name: "D5: an injected message to a PE that is gone, cxi", nic: "provider=cxi version=2.3", test: gone(true)},
	{name: "D5: a PE of a job is killed that others write to", nic: "version=1.22", test: killed},
	{name: "D5: a PE of a job is killed that others write to, cxi", nic: "provider=cxi version=2.3", test: killed},
	{name: "D5: a PE of a job is killed that others write to, verbs", nic: "provider=verbs", test: killed},
	{name: "D7: a PE forks on an old kernel, efa", nic: "version=1.22 fork=old", test: forks},
	{name: "D7: a PE forks on an old kernel, efa-direct", nic: "version=2.6 fork=old", test: forks},
	{name: "D7: a PE forks on a new kernel", nic: "version=2.6", test: forks},
}

// In gone PE 2 of three closes. PE 0 then writes to it if they have never communicated, else it
// sends a message to it: it gets the error that the PE is lost, and continues with PE 1. The
// engines are those of a job that survives a loss (OnLost).
func gone(met bool) func(*place) error {
	return func(p *place) error {
		const size = 1 << 16
		all, err := p.engines(3, 4*size, nil)
		if err != nil {
			return err
		}
		if met {
			if err := allToAll(all, size); err != nil {
				return err
			}
		}
		a, source := all[0], make([]byte, size)
		all[2].close(p)
		rest := all[:2]
		if err := post("the operation on PE 2", rest, a, func() proxy.Status {
			if met {
				return a.AMO(2, 0, fabric.OpAdd, 8, 1, 0, nil, nil)
			}
			return a.Put(2, 0, unsafe.Pointer(&source[0]), size, nil)
		}); err != nil {
			return err
		}
		if err := until("PE 2 is told to be lost", rest, func() bool { return slices.Contains(a.lost, 2) }); err != nil {
			return err
		}
		if len(a.lost) != 1 || len(all[1].lost) > 0 {
			return fmt.Errorf("lost are %v, and of PE 1 %v", a.lost, all[1].lost)
		}
		source[size-1] = 77
		if err := post("put to PE 1", rest, a, func() proxy.Status {
			return a.Put(1, size, unsafe.Pointer(&source[0]), size, nil)
		}); err != nil {
			return err
		}
		return until("the put to PE 1", rest, func() bool { return all[1].heap[2*size-1] == 77 })
	}
}

// killed is a job of eight whose PE 3 is killed while PE 0 writes to it: PE 0 gets the error of the
// loss, and the seven others end normally. The launcher may report the end of PE 3 before the
// network does, so there are several such jobs.
func killed(p *place) error {
	const status, jobs = 128 + 9, 5
	program := p.compile("testdata/lost.c")
	for range jobs {
		out, err := p.job(8, []string{"SHMEM_ON_FAILURE=return"}, program, "3", "40000")
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == status {
			err = nil
		}
		if err := ends(out, err, 7); err != nil {
			return err
		}
	}
	return nil
}

func forks(p *place) error {
	out, err := p.job(2, nil, p.compile("testdata/forks.c"))
	return ends(out, err, 2)
}
