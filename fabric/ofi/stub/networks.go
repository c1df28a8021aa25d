package stub

import (
	"fmt"
	"strings"
)

// A Network is a provider of one version, and the settings with which a job opens it.
type Network struct {
	Name     string
	Settings string // FAKE_NIC
	Provider string // SHMEM_PROVIDER
	Fabric   string // SHMEM_FABRIC; "": the default
	Blind    bool   // the queue has no descriptor to wait for (R8a, R8b, R8f)
}

// Newest is the name of the network that make test runs programs on; make test-full has the rest.
const Newest = "efa-direct-2.6"

// networks are the providers that the stub stands for, the newest version of each first.
var networks = []Network{
	{"efa-direct-2.6", "provider=efa version=2.6", "efa", "", false},
	{"efa-direct-2.4", "provider=efa version=2.4", "efa", "", false},
	{"efa-direct-2.3", "provider=efa version=2.3", "efa", "efa-direct", false},
	{"efa-direct-2.1", "provider=efa version=2.1", "efa", "efa-direct", true},
	{"efa-2.6", "provider=efa version=2.6", "efa", "efa", false},
	// As if the provider kept its shared memory although no peer is on this host.
	{"efa-2.6-shm", "provider=efa version=2.6 without=R8i", "efa", "efa", true},
	{"efa-2.1", "provider=efa version=2.1", "efa", "", true},
	{"efa-1.22", "provider=efa version=1.22", "efa", "", true},
	{"cxi-2.3", "provider=cxi version=2.3", "cxi", "", false},
	{"cxi-1.22", "provider=cxi version=1.22", "cxi", "", false},
	{"verbs", "provider=verbs", "verbs", "", false},
}

// Networks returns all networks, or the newest alone.
func Networks(all bool) []Network {
	if all {
		return networks
	}
	return []Network{Named(Newest)}
}

// Named returns the simulated network with a name, and panics if there is none.
func Named(name string) Network {
	for _, n := range networks {
		if n.Name == name {
			return n
		}
	}
	panic("there is no network " + name)
}

// With returns the network with more settings of the NICs.
func (n Network) With(settings string) Network {
	n.Settings += " " + settings
	return n
}

// NICs returns the network with this many NICs for each PE of a job on one machine.
func (n Network) NICs(each, pes int) Network {
	n.Name = fmt.Sprintf("%s-nics-%d", n.Name, each)
	return n.With(fmt.Sprintf("nics=%d", each*pes))
}

// Env lists the environment variables with which a process uses the network of a stub library.
func (n Network) Env(library string) []string {
	return []string{"FAKE_NIC=" + n.Settings, "SHMEM_LIBFABRIC=" + library, "SHMEM_PROVIDER=" + n.Provider, "SHMEM_FABRIC=" + n.Fabric}
}

// Rules maps the ids of the rows in rules.tsv to their providers. Lists of untested features name a
// row as the reason.
func Rules() map[string]string {
	text, err := source.ReadFile("rules.tsv")
	if err != nil {
		panic(err)
	}
	rules := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if row := strings.Split(line, "\t"); len(row) > 1 && !strings.HasPrefix(row[0], "#") {
			rules[row[0]] = row[1]
		}
	}
	return rules
}
