package failure

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// nicPEs are on two hosts.
const nicPEs = 4

// dies starts a program of tests/c over a network. A NIC breaks at an operation of PE 1. Each PE
// has every fourth NIC, so this is its second if it has several.
func dies(t *testing.T, n stub.Network, nic, operation int, argv ...string) *job {
	t.Helper()
	build := need.Build(t)
	setting := `[ "$SHMEM_LAUNCHER_PE" = 1 ] && export FAKE_NIC="$FAKE_NIC dies=` + strconv.Itoa(nic) + ` dies_at=` + strconv.Itoa(operation) + `"; exec "$0" "$@"`
	args := list(options(strconv.Itoa(nicPEs), "--hosts", "2"), []string{"sh", "-c", setting, filepath.Join(build, "tests", argv[0])}, argv[1:])
	return start(t, n.Env(stub.Build(t)), filepath.Join(build, "bin", "shmemrun"), args...)
}

// TestNICDies breaks one of the four NICs of a PE during the job: programs end normally with
// correct results, over the remaining NICs, and PEs report the loss.
func TestNICDies(t *testing.T) {
	const second = nicPEs + 1
	lost := regexp.MustCompile(`PE \d: fabric: NIC \S+ does not reach PE \d at its NIC \S+ any more`)
	for _, n := range stub.Networks(true) {
		for _, argv := range [][]string{{"sizes", "1048576", "7"}, {"ordering", "5000"}, {"zz_atomics"}} {
			for _, at := range []int{1, 100, 200} {
				// Among the cases of make test, efa-2.6 is there for the first contact by a NIC
				// that has broken.
				short := at == 100 && (n.Name == stub.Newest && argv[0] != "zz_atomics" || n.Name == "efa-2.6" && argv[0] == "ordering")
				if !*whole && !short {
					continue
				}
				t.Run(argv[0]+" over "+n.Name+", operation "+strconv.Itoa(at), func(t *testing.T) {
					j := dies(t, n.NICs(4, nicPEs), second, at, argv...)
					out := j.wait(0)
					if passed(t, out) == 0 {
						t.Errorf("no check passed:\n%s", out)
					}
					if !lost.MatchString(out) {
						t.Errorf("nothing tells of the loss:\n%s", out)
					}
				})
			}
		}
	}
}

// TestOnlyNICDies breaks the only NIC of a PE: the job ends, and reports the reason.
func TestOnlyNICDies(t *testing.T) {
	why := regexp.MustCompile(`shmem: PE \d: .*(Internal queue pair error|Bad queue pair|libfabric error 5)`)
	for _, n := range stub.Networks(true) {
		// Over verbs a lost injected message causes no error: a failed write does, and without a
		// write the missing answer of a PE.
		if n.Name != stub.Newest && n.Name != "verbs" && !*whole {
			continue
		}
		for _, argv := range [][]string{{"ordering", "5000"}, {"zz_atomics"}} {
			t.Run(argv[0]+" over "+n.Name, func(t *testing.T) {
				if out := dies(t, n.NICs(1, nicPEs), 1, 50, argv...).wait(128 + 6); !why.MatchString(out) {
					t.Errorf("nothing says why:\n%s", out)
				}
			})
		}
	}
}
