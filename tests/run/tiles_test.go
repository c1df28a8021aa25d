package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// TestTiles has eager transfers go by NICs of the stub: in tiles where the NIC grants their order,
// or where the user vouches for it, and else as writes with notifications, or as puts with signals
// where messages stay behind writes. Where the user is wrong, the program finds old bytes.
func TestTiles(t *testing.T) {
	build := need.Build(t)
	library := stub.Build(t)
	for _, c := range []struct {
		name, nic, ordered, provider, tile, best string
		args                                     []string
	}{
		{"efa-direct", "inorder=1", "auto", "efa", "128", "128", nil},
		{"efa", "inorder=1 version=2.1", "auto", "efa", "128", "128", nil},
		{"refused", "", "auto", "efa", "0", "1", nil},
		{"vouched", "without=R12b", "4096", "efa", "4096", "4096", nil},
		{"wrong", "", "4096", "efa", "4096", "4096", nil},
		{"wrong-128", "", "128", "efa", "128", "128", nil},
		{"none", "inorder=1", "none", "efa", "0", "1", nil},
		{"chaos", "inorder=1", "auto", "efa", "0", "1", []string{"--chaos", "7,delay=300us"}},
		{"verbs", "provider=verbs", "auto", "verbs", "0", "0", nil},
		{"nics", "nics=8", "auto", "efa", "0", "1", nil},
	} {
		if c.name == "efa" && need.Left("configurations") {
			continue // efa-direct has the same steps
		}
		t.Run(c.name, func(t *testing.T) {
			stub.Set(t, c.nic)
			args := append([]string{"--timeout", "100", "-n", "4", "--hosts", "2"}, c.args...)
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), append(args, filepath.Join(build, "tests", "eager"), "50", c.tile, c.best)...)
			cmd.Env = append(os.Environ(), "SHMEM_PROVIDER="+c.provider, "SHMEM_LIBFABRIC="+library, "SHMEM_ORDERED_BYTES="+c.ordered)
			out, err := cmd.CombinedOutput()
			if strings.HasPrefix(c.name, "wrong") {
				if err == nil || !strings.Contains(string(out), ": byte ") {
					t.Errorf("%v, want bytes that are wrong\n%s", err, out)
				}
				return
			}
			if err != nil || !strings.Contains(string(out), " passed, 0 failed") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
