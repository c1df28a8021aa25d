package launch

import (
	"strconv"
	"strings"

	"libshmem"
	"libshmem/runtime/bootstrap/launcher"
)

// environ builds the environments of the PEs, which differ in few variables.
type environ struct {
	base []string // shared by all; never appended to in place
	npes int
	bind *binding
}

// newEnviron prepares the variables that all PEs have: the user's, with those of shmemrun.
func newEnviron(o *Options, b *binding) environ {
	drop := []string{launcher.EnvFD, launcher.EnvPE, launcher.EnvNPEs, launcher.EnvBind, launcher.EnvCPUs, launcher.EnvHelpers, launcher.EnvBinding, launcher.EnvHosts}
	if o.hostOf != nil {
		drop = append(drop, launcher.EnvHostID)
	}
	const libPath = "LD_LIBRARY_PATH"
	path := ""
	if o.LibDir != "" {
		drop = append(drop, libPath)
		path = o.LibDir
		// An empty old value must not leave a trailing colon, which the
		// loader reads as the current directory.
		if old := lookup(o.Env, libPath); old != "" {
			path += ":" + old
		}
	}
	// By name, where the variable is in base; -1: it is dropped. The last of several values counts.
	indexOf := make(map[string]int, len(o.Env))
	var base []string
	for _, name := range drop {
		indexOf[name] = -1
	}
	for _, v := range o.Env {
		name, _, _ := strings.Cut(v, "=")
		switch at, ok := indexOf[name]; {
		case !ok:
			indexOf[name] = len(base)
			base = append(base, v)
		case at >= 0:
			base[at] = v
		}
	}
	if path != "" {
		base = append(base, libPath+"="+path)
	}
	// A user who requests several links wants all of them used, and libfabric's provider tcp uses
	// several interfaces only if they are named.
	if _, set := indexOf[nicList]; !set && o.Links.N > 1 {
		base = append(base, nicList+"="+strings.Join(o.Links.Names(), ","))
	}
	if b.helpers != "" {
		base = append(base, launcher.EnvHelpers+"="+b.helpers.String())
	}
	if o.hosts > 0 {
		base = append(base, launcher.EnvHosts+"="+strconv.Itoa(o.hosts))
	}
	base = append(base, launcher.EnvBind+"="+string(o.Bind))
	return environ{base: append(base, launcher.EnvBinding+"="+b.remark), npes: o.total(), bind: b}
}

// nicList is the setting that names the NICs of a PE. On simulated hosts shmemrun sets it.
const nicList = "SHMEM_NIC_LIST"

// pe returns the environment of one PE, the i-th that this process starts. host is the number of
// its simulated host, or -1.
func (e environ) pe(i int, pe libshmem.PE, fd, host int) []string {
	env := make([]string, len(e.base), len(e.base)+5)
	copy(env, e.base)
	env = append(env,
		launcher.EnvFD+"="+strconv.Itoa(fd),
		launcher.EnvPE+"="+strconv.Itoa(int(pe)),
		launcher.EnvNPEs+"="+strconv.Itoa(e.npes))
	if e.bind.cpus != nil {
		env = append(env, launcher.EnvCPUs+"="+e.bind.cpus[i].String())
	}
	if host >= 0 {
		env = append(env, launcher.EnvHostID+"="+hostName(host))
	}
	return env
}

// hostName returns the id of a simulated host, as its PEs get it in SHMEM_HOST_ID.
func hostName(host int) string { return "host" + strconv.Itoa(host) }
