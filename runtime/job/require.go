package job

import (
	"fmt"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// demand is one requirement of SHMEM_REQUIRE that does not concern the network alone.
type demand struct {
	name string
	has  func(j *Job) bool
	why  string // the reason why it is not there
	help string
}

// demands lists them.
var demands = []demand{
	{
		"network", func(j *Job) bool { return j.Network != nil },
		"all PEs share memory", "start the job on several hosts, or leave it out",
	},
	{
		"gpu-heap", func(j *Job) bool { return j.heap == config.HeapDevice },
		"the heap is in main memory", "set SHMEM_HEAP=device, and see by shmem-info whether there is a GPU",
	},
	{
		"gpu-direct", func(j *Job) bool { return j.heap == config.HeapDevice && !j.staged() },
		"NICs do not reach a heap in GPU memory", "SHMEM_LOG_LEVEL=info says why; SHMEM_GPU_NET names a way",
	},
	{
		"registration-cache", func(j *Job) bool { return j.Network == nil || j.Network.Cached },
		"buffers outside the heap are registered for each operation", "SHMEM_LOG_LEVEL=info says why",
	},
}

// require checks SHMEM_REQUIRE. It is called when everything is open.
func (j *Job) require() error {
	for _, name := range j.Config.Require {
		if err := j.requireOne(name); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) requireOne(name string) error {
	missing := func(help string, format string, args ...any) error {
		return &shmerr.Error{
			Op: "require", Object: fmt.Sprintf("%q of SHMEM_REQUIRE", name), Cause: shmerr.Causef(shmerr.ErrUnsupported, format, args...), Remedy: help,
		}
	}
	for _, d := range demands {
		if d.name == name && !d.has(j) {
			return missing(d.help, "%s", d.why)
		}
	}
	for i := range fabric.Properties {
		p := &fabric.Properties[i]
		if p.Name != name {
			continue
		}
		for _, e := range j.Engines {
			if c := e.Caps(); !p.Has(&c) {
				return missing("shmem-info --fabric shows what there is, SHMEM_PROVIDER and SHMEM_NIC_LIST choose; or leave it out",
					"with %s on %s it does not hold that %s", j.Network.Provider(), c.Domain, p.Text)
			}
		}
	}
	return nil
}
