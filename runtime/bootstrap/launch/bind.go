package launch

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"libshmem/runtime/topo"
)

// Bind selects the processors of each PE (shmemrun --bind).
type Bind string

// The values of Bind.
const (
	BindAuto  Bind = "auto"  // as share, unless there is a reason against it
	BindNone  Bind = "none"  // all processors that shmemrun may use
	BindShare Bind = "share" // an equal share of the cores
	BindCore  Bind = "core"  // one core
	BindNUMA  Bind = "numa"  // one NUMA node
)

var portions = map[Bind]topo.Portion{BindAuto: topo.PortionShare, BindShare: topo.PortionShare, BindCore: topo.PortionCore, BindNUMA: topo.PortionNode}

// Known reports whether a Bind is one of the constants.
func (b Bind) Known() bool {
	_, known := portions[b]
	return known || b == BindNone
}

// binding says on which processors the PEs of this host run. If cpus is nil, they are not bound.
type binding struct {
	cpus    []topo.Set // the processors of each PE
	helpers topo.Set   // processors of no PE, which threads of the library may use
	remark  string     // for the banner
}

// bindPEs decides on which processors the PEs run. By default it binds them only if that cannot do
// harm. root is a prefix of the paths of the system's files, and empty except in tests.
func (o *Options) bindPEs(root string, at *surroundings) (*binding, error) {
	if o.Bind == BindNone {
		return &binding{remark: "not bound (--bind=none)"}, nil
	}
	if at.allowed == "" {
		if o.Bind == BindAuto {
			return &binding{remark: "not bound: the processors of shmemrun are not known"}, nil
		}
		return nil, fmt.Errorf("--bind: the kernel does not say which processors shmemrun may use (leave --bind out)")
	}
	if o.Bind == BindAuto && o.PEs == 1 {
		return &binding{}, nil // the only PE may use the whole machine
	}
	p, err := topo.ReadProcessors(root)
	if o.Bind == BindAuto {
		if reason := o.reasonNotToBind(p, err, at); reason != "" {
			return &binding{remark: "not bound: " + reason + " (--bind binds them all the same)"}, nil
		}
	}
	if err == nil {
		p = p.Within(at.allowed)
	}
	// Without the topology of all allowed processors, each counts as a core of its own.
	if err != nil || p.Online != at.allowed {
		p = topo.Flat(at.allowed)
	}
	b := &binding{cpus: p.Deal(o.PEs, portions[o.Bind], o.gpus(len(p.GPUs)))}
	b.helpers = p.Online
	for _, cpus := range b.cpus {
		b.helpers = b.helpers.Minus(cpus)
	}
	if threads := o.threads(); o.Bind == BindAuto && b.fewest() < threads {
		return &binding{remark: fmt.Sprintf("not bound: OMP_NUM_THREADS=%d, and a share would be %s (--bind binds them all the same)", threads, processors(b.fewest()))}, nil
	}
	b.remark = fmt.Sprintf("bound by shmemrun to %s each, PE %d to %s", processors(b.fewest()), o.number(0), b.cpus[0])
	if b.helpers != "" {
		b.remark += fmt.Sprintf("; threads of the library may also use %s", b.helpers)
	}
	b.remark += " (--bind=none leaves PEs unbound)"
	return b, nil
}

// processors returns a number of processors as a text.
func processors(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return strconv.Itoa(n) + " processors"
}

// fewest returns the number of processors of the PE that has fewest.
func (b *binding) fewest() int {
	n := b.cpus[0].Count()
	for _, cpus := range b.cpus {
		n = min(n, cpus.Count())
	}
	return n
}

// reasonNotToBind returns the reason not to bind PEs by default, or "". A default binding that goes
// wrong unnoticed is worse than none: two jobs might share processors, or threads of a PE one
// processor while others are idle.
func (o *Options) reasonNotToBind(p *topo.Processors, err error, at *surroundings) string {
	placed := o.placedByUser()
	switch {
	case placed != "":
		return placed + " is set"
	case err != nil:
		return err.Error()
	case p.Online != at.allowed:
		return fmt.Sprintf("shmemrun itself may use %d of %d processors", at.allowed.Count(), p.Online.Count())
	case o.PEs > p.Online.Count():
		return fmt.Sprintf("there are %d for %s", o.PEs, processors(p.Online.Count()))
	case at.quota > 0 && at.quota < p.Online.Count():
		return fmt.Sprintf("the control group has time of %d of %d processors", at.quota, p.Online.Count())
	case p.Mixed:
		return "the cores of this machine differ in speed"
	case !at.alone:
		return "another job of shmemrun is on this machine, or may be"
	case at.running > tolerated(p.Online.Count()):
		return fmt.Sprintf("%d other threads run on this machine", at.running)
	}
	return ""
}

// tolerated returns how many running threads of other processes do not keep PEs from being bound:
// an eighth of the processors, at least one. With so few, the kernel would not find idle processors
// for all unbound PEs either.
func tolerated(processors int) int { return max(processors/8, 1) }

// placedByUser returns the environment variable by which the user has placed PEs or their threads
// on processors, for messages: its name, for those of this library with the value; "" if there is
// none. With one, shmemrun binds no PE by default, because the two could contradict each other.
func (o *Options) placedByUser() string {
	for _, name := range []string{"SHMEM_BIND", "NVSHMEM_CPU_AFFINITY"} {
		if v := lookup(o.Env, name); v != "" && !strings.EqualFold(v, "auto") {
			return name + "=" + v
		}
	}
	for _, name := range []string{"GOMP_CPU_AFFINITY", "KMP_AFFINITY"} {
		if lookup(o.Env, name) != "" {
			return name
		}
	}
	if strings.Contains(lookup(o.Env, "OMP_PLACES"), "{") { // processors by number
		return "OMP_PLACES"
	}
	return ""
}

// threads returns how many threads OpenMP is to start in each PE (OMP_NUM_THREADS); 1 if that is
// not set.
func (o *Options) threads() int {
	first, _, _ := strings.Cut(lookup(o.Env, "OMP_NUM_THREADS"), ",")
	n, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// gpus returns, for n GPUs, the number of each PE's GPU, so that a PE is bound near it: programs
// usually choose the GPU with the PE's number on the host. With more PEs than GPUs that choice is
// not known, and gpus returns nil.
func (o *Options) gpus(n int) []int {
	visible := make([]int, n)
	for i := range visible {
		visible[i] = i
	}
	if v, set := variable(o.Env, "CUDA_VISIBLE_DEVICES"); set {
		visible = nil
		for word := range strings.SplitSeq(v, ",") {
			i, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || i < 0 || i >= n {
				break // the driver ends at an invalid entry; a UUID may be valid, but is unknown here
			}
			visible = append(visible, i)
		}
	}
	if o.PEs > len(visible) {
		return nil
	}
	return visible[:o.PEs]
}

// bind restricts the calling thread, and the processes that it starts, to the processors.
func bind(cpus topo.Set) error {
	var set unix.CPUSet
	for _, cpu := range cpus.List() {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(0, &set)
}
