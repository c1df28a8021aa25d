package failure

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
)

// tcp makes a job use sockets, in one row of a test's table; with routes it uses other routes, too.
var tcp = []string{"-x", "SHMEM_PROVIDER=tcp"}

// A route is how PEs of different hosts reach each other.
type route struct {
	name    string   // "": as in the row
	options []string // of shmemrun
	env     []string
	network *stub.Network // nil: sockets, or no network
}

// networks returns the routes of a row. A row over sockets also runs over NICs that this machine
// does not have (fabric/ofi/stub): with -whole over all of them; otherwise, if no other row checks
// the same property of NICs, over the newest of EFA's.
func networks(t *testing.T, options []string, always bool) []route {
	t.Helper()
	all := []route{{options: options}}
	at := slices.Index(options, tcp[1])
	if at < 0 || !always && !*whole {
		return all
	}
	elsewhere := slices.Delete(slices.Clone(options), at-1, at+1)
	for _, n := range stub.Networks(*whole) {
		all = append(all, route{name: " over " + n.Name, options: elsewhere, env: n.Env(stub.Build(t)), network: &n})
	}
	return all
}

// onGPU returns the same for NICs that reach GPU memory.
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

// unrouted are the tests between hosts that do not use routes, with the rule of the stub that is
// the reason.
var unrouted = map[string]string{
	// Strangers find a PE by a port of a range. An address of EFA has the number of a queue pair
	// and a random key, which a stranger cannot guess.
	"TestStrangerEndpoints": "G13b",
}

// TestRoutes: every test with a job between hosts also runs over NICs of the stub, or is in the
// list.
func TestRoutes(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	between, routed := regexp.MustCompile(`"--hosts"|\btcp\b`), regexp.MustCompile(`\b(networks|starts|dies)\(`)
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, function := range strings.Split(string(text), "\nfunc ")[1:] {
			name, _, _ := strings.Cut(function, "(")
			body, _, _ := strings.Cut(function, "\n}\n")
			if !strings.HasPrefix(name, "Test") || name == "TestRoutes" || !between.MatchString(body) && !routed.MatchString(body) {
				continue
			}
			found[name] = true
			if rule, listed := unrouted[name]; listed == routed.MatchString(body) {
				t.Errorf("%s: runs over NICs of the stub: %v, and is in the list: %v (%s)", name, !listed, listed, rule)
			}
		}
	}
	if len(found) < 10 {
		t.Errorf("only %d tests with jobs between hosts were found", len(found))
	}
	for name, rule := range unrouted {
		if !found[name] || !strings.HasPrefix(stub.Rules()[rule], "efa") {
			t.Errorf("the list has %s with rule %s: no such test between hosts, or no such rule of efa", name, rule)
		}
	}
}
