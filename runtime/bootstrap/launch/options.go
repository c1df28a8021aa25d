package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/hostlist"
	"libshmem/runtime/bootstrap/launch/hostnet"
)

// Exit statuses of shmemrun itself. Those for programs that cannot be started are the shell's, and
// StatusTimeout is that of timeout(1).
const (
	StatusFailure  = 1
	StatusUsage    = 2
	StatusTimeout  = 124
	StatusCannot   = 126 // the program is there but cannot be started
	StatusNotFound = 127
)

// Map selects how PEs are distributed over simulated hosts.
type Map string

// The maps.
const (
	Block  Map = "block"  // host 0 takes the first PEs, host 1 the next
	Cyclic Map = "cyclic" // PEs go round the hosts that still have room
)

// Options describe a job. Validate completes and checks them.
type Options struct {
	PEs     int
	Hosts   string // simulated hosts: "" for none, a number, or sizes as "3,1"
	Map     Map
	Netns   bool          // a network namespace for each simulated host
	Links   hostnet.Links // between those
	Tag     bool          // prefix lines of output with the PE
	Timeout time.Duration // 0: none
	Bind    Bind          // the processors of the PEs
	Program string
	Args    []string // without the program
	Env     []string // the PEs' environment, before shmemrun's own variables
	LibDir  string   // put first in the PEs' LD_LIBRARY_PATH; "" for none
	Stdin   *os.File // for PE 0
	Stdout  *os.File
	Stderr  *os.File

	Remote  []hostlist.Host // the hosts of the PEs; nil for this one
	SSH     []string        // ssh, and options of the user's for it
	Prefix  string          // where libshmem is on those hosts
	Source  string          // where it is on this host
	Sync    bool            // first copy libshmem from this host to those
	Dir     string          // working directory on those hosts
	Exports []string        // names of variables that those hosts get, besides SHMEM_ and NVSHMEM_
	Silence time.Duration   // a host is lost if nothing arrives from it for this time; 0: never

	hostOf []int  // the host of each PE; nil without Hosts
	hosts  int    // number of simulated hosts, or in an agent that of the job's hosts; 0: none were named
	sizes  []int  // how many PEs each host of Remote has
	digest string // of what Sync copies

	// Set only in an agent, which starts some of a job's PEs: which ones, and how many
	// PEs the job has.
	numbers []libshmem.PE
	npes    int
}

// number returns the PE number of the i-th PE that this process starts.
func (o *Options) number(i int) libshmem.PE {
	if o.numbers != nil {
		return o.numbers[i]
	}
	return libshmem.PE(i)
}

// total returns the number of PEs of the whole job.
func (o *Options) total() int { return max(o.npes, o.PEs) }

// Error says why a job could not be started, and with which status shmemrun exits.
type Error struct {
	Status int
	Err    error
}

// Error returns the text of the cause, without the status.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// usageErrorf returns the error of a command line that is wrong.
func usageErrorf(format string, args ...any) error {
	return &Error{StatusUsage, fmt.Errorf(format, args...)}
}

// maxPEs is the most PEs of a job, so that a typing error does not start a million processes.
const maxPEs = 4096

// Validate checks the options against each other and places the PEs.
func (o *Options) Validate() error {
	if o.Bind == "" {
		o.Bind = BindAuto
	}
	if o.Remote != nil && o.PEs == 0 {
		o.PEs = hostlist.Total(o.Remote)
	}
	var sizes []int
	if o.Hosts != "" {
		var err error
		if sizes, err = parseHosts(o.Hosts, &o.PEs); err != nil {
			return err
		}
	}
	switch {
	case o.PEs < 1 || o.PEs > maxPEs:
		return usageErrorf("-n %d: the number of PEs is 1 to %d (say -n N)", o.PEs, maxPEs)
	case o.Program == "":
		return usageErrorf("no program given (say shmemrun -n %d PROG ARGS)", o.PEs)
	case o.Map != Block && o.Map != Cyclic:
		return usageErrorf("--map %s: no such map (say block or cyclic)", o.Map)
	case !o.Bind.Known():
		return usageErrorf("--bind=%s: no such binding (say auto, none, share, core or numa)", o.Bind)
	case o.Netns && sizes == nil:
		return usageErrorf("--host-netns: there are no simulated hosts to put into namespaces (add --hosts H)")
	case o.Links.N > 0 && !o.Netns:
		return usageErrorf("--links: there are no namespaces to link (add --hosts H --host-netns)")
	case o.Timeout < 0:
		return usageErrorf("--timeout: %v is negative (give seconds)", o.Timeout)
	}
	if o.Remote != nil {
		return o.validateRemote()
	}
	if sizes != nil {
		o.hosts = len(sizes)
		o.hostOf = place(sizes, o.Map)
	}
	return nil
}

// validateRemote spreads the PEs over hosts, and sets Dir to the current directory if it is empty.
// Hosts without PEs are left out.
func (o *Options) validateRemote() error {
	if o.Hosts != "" {
		return usageErrorf("--hosts: hosts are simulated on this machine alone (leave it out, or --host and --hostfile)")
	}
	if o.Dir == "" {
		var err error
		if o.Dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	o.sizes = nil
	all, err := hostlist.Fill(o.Remote, o.PEs, o.Map == Cyclic)
	if err != nil {
		return &Error{StatusUsage, err}
	}
	var used []hostlist.Host
	for i, n := range all {
		if n > 0 {
			used, o.sizes = append(used, o.Remote[i]), append(o.sizes, n)
		}
	}
	o.Remote = used
	return nil
}

// parseHosts reads the value of --hosts, and returns how many PEs each simulated host
// has. If -n was not given, a list of sizes sets *pes.
func parseHosts(s string, pes *int) ([]int, error) {
	var sizes []int
	sum := 0
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > maxPEs {
			return nil, usageErrorf("--hosts %s: %q is not a number from 1 to %d (say 2, or sizes as 3,1; --host names machines)", s, part, maxPEs)
		}
		sizes = append(sizes, n)
		sum += n
	}
	if len(sizes) > 1 {
		if *pes == 0 {
			*pes = sum
		}
		if sum != *pes {
			return nil, usageErrorf("--hosts %s: the sizes add up to %d, but there are %d PEs (say -n %d, or other sizes)", s, sum, *pes, sum)
		}
		return sizes, nil
	}
	hosts := sizes[0]
	if *pes < 1 {
		return nil, usageErrorf("-n %d: the number of PEs is 1 to %d (say -n N)", *pes, maxPEs)
	}
	if hosts > *pes {
		return nil, usageErrorf("--hosts %d: there are only %d PEs and every host needs one (say -n %d, or fewer hosts)", hosts, *pes, hosts)
	}
	sizes = make([]int, hosts)
	for i := range sizes {
		sizes[i] = *pes / hosts
		if i < *pes%hosts {
			sizes[i]++
		}
	}
	return sizes, nil
}

// ParseLinks reads the value of --links: a number, and perhaps a rate.
func ParseLinks(s string) (hostnet.Links, error) {
	const form = "say 2, or 2,rate=200mbit"
	count, rest, rated := strings.Cut(s, ",")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > hostnet.MaxLinks {
		return hostnet.Links{}, usageErrorf("--links %s: %q is not a number from 1 to %d (%s)", s, count, hostnet.MaxLinks, form)
	}
	l := hostnet.Links{N: n}
	if !rated {
		return l, nil
	}
	text, ok := strings.CutPrefix(rest, "rate=")
	scale := uint64(0)
	for unit, factor := range map[string]uint64{"kbit": 1e3, "mbit": 1e6, "gbit": 1e9} {
		if digits, found := strings.CutSuffix(text, unit); found {
			text, scale = digits, factor
		}
	}
	rate, err := strconv.ParseUint(text, 10, 32)
	if !ok || scale == 0 || err != nil || rate == 0 {
		return hostnet.Links{}, usageErrorf("--links %s: %q is not a rate in kbit, mbit or gbit (%s)", s, rest, form)
	}
	l.Rate = rate * scale
	return l, nil
}

// place returns the index of each PE's host. sizes has the number of PEs of each host. Block fills
// one host after the other; Cyclic assigns one PE to each host that has room, round robin.
func place(sizes []int, m Map) []int {
	left := append([]int(nil), sizes...)
	total := 0
	for _, n := range sizes {
		total += n
	}
	hostOf := make([]int, 0, total)
	for len(hostOf) < total {
		for h := range left {
			take := min(left[h], 1)
			if m == Block {
				take = left[h]
			}
			left[h] -= take
			for range take {
				hostOf = append(hostOf, h)
			}
		}
	}
	return hostOf
}

// errStatus returns the exit status for an error.
func errStatus(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return StatusFailure
}
