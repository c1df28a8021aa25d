package job

import (
	"fmt"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// demand is a word of SHMEM_REQUIRE that names a property of the whole job, such as where its heap
// is. Words for properties of a provider are in fabric.Properties.
type demand struct {
	name string
	has  func(f *facts) bool
	why  string // the reason why the job does not have it
	help string // the remedy
}

// demands lists the words for properties of the whole job.
var demands = []demand{
	{
		"network", func(f *facts) bool { return f.network },
		"all PEs share memory", "start the job on several hosts, or leave it out",
	},
	{
		"gpu-heap", func(f *facts) bool { return f.gpuHeap },
		"the heap is in main memory", "set SHMEM_HEAP=device, and check with shmem-info whether there is a GPU",
	},
	{
		"gpu-direct", func(f *facts) bool { return f.gpuHeap && !f.staged },
		"NICs do not reach a heap in GPU memory", "SHMEM_LOG_LEVEL=info says why; SHMEM_GPU_NET selects a path",
	},
	{
		"registration-cache", func(f *facts) bool { return !f.network || f.cached },
		"buffers outside the heap are registered for each operation", "SHMEM_LOG_LEVEL=info says why",
	},
}

// facts are the properties that SHMEM_REQUIRE may demand.
type facts struct {
	network  bool // some PEs share no memory
	cached   bool // no operation over the network registers its buffer
	provider string
	engines  []fabric.Caps // of the endpoint of each engine
	gpuHeap  bool
	staged   bool // bytes of that heap reach the network through main memory
}

// facts collects the properties of this job that SHMEM_REQUIRE may demand.
func (j *Job) facts() *facts {
	f := &facts{gpuHeap: j.heap == config.HeapDevice, staged: j.staged()}
	if j.Network != nil {
		f.network, f.cached, f.provider = true, !j.Network.RegistersBuffers, j.Network.Provider()
	}
	for _, e := range j.Engines {
		f.engines = append(f.engines, e.Caps())
	}
	return f
}

// require returns an error if the job lacks a property that SHMEM_REQUIRE names. It is called when
// everything is open, because only then the properties are known.
func require(words []string, f *facts) error {
	for _, name := range words {
		if err := f.requireOne(name); err != nil {
			return err
		}
	}
	return nil
}

// requireOne returns an error if the job lacks the property of that name: one of the job (demands),
// or one that every endpoint must have (fabric.Properties).
func (f *facts) requireOne(name string) error {
	missing := func(help string, format string, args ...any) error {
		return &shmerr.Error{
			Op: "require", Object: fmt.Sprintf("%q of SHMEM_REQUIRE", name), Cause: shmerr.Causef(shmerr.ErrUnsupported, format, args...), Remedy: help,
		}
	}
	for _, d := range demands {
		if d.name == name && !d.has(f) {
			return missing(d.help, "%s", d.why)
		}
	}
	for i := range fabric.Properties {
		p := &fabric.Properties[i]
		if p.Name != name {
			continue
		}
		for i := range f.engines {
			if c := &f.engines[i]; !p.Has(c) {
				return missing("shmem-info --fabric shows what there is, SHMEM_PROVIDER and SHMEM_NIC_LIST choose; or leave it out",
					"with %s on %s it does not hold that %s", f.provider, c.Domain, p.Text)
			}
		}
	}
	return nil
}
