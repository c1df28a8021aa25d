package run

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestNICSettings chooses NICs by NVSHMEM's settings, and checks the banner.
func TestNICSettings(t *testing.T) {
	need.Namespaces(t)
	build := need.Build(t)
	for _, c := range []struct {
		set    []string
		passes bool
		says   []string
	}{
		{[]string{"SHMEM_NIC_LIST=", "NVSHMEM_HCA_PE_MAPPING=eth1:1:1,eth0:1:1"}, true, []string{"on eth1, by SHMEM_NIC_PE_MAPPING\n"}},
		{[]string{"SHMEM_NIC_LIST=", "NVSHMEM_HCA_LIST=eth1:1,eth0:1"}, true, []string{"on eth1,eth0, policy auto\n"}},
		{[]string{"NVSHMEM_HCA_PE_MAPPING=eth1", "SHMEM_NIC_LIST=eth0,eth5,eth1"}, true, []string{
			"on eth0,eth1, policy auto\n",
			"SHMEM_NIC_PE_MAPPING is ignored: SHMEM_NIC_LIST=eth0,eth5,eth1 comes first",
			"SHMEM_NIC_LIST names eth5, which is not a NIC that can be used with eth0, eth1",
		}},
		{[]string{"SHMEM_NIC_LIST=", "SHMEM_NIC_PE_MAPPING=eth5"}, false, []string{"SHMEM_NIC_PE_MAPPING=eth5 allows none of "}},
	} {
		args := []string{"-n", "2", "--hosts", "2", "--host-netns", "--links", "2", "--timeout", "50", "-x", "SHMEM_LOG_LEVEL=info"}
		for _, s := range c.set {
			args = append(args, "-x", s)
		}
		out, err := exec.Command(filepath.Join(build, "bin", "shmemrun"), append(args, filepath.Join(build, "tests", "zz_signal"))...).CombinedOutput()
		for _, says := range c.says {
			if (err == nil) != c.passes || !strings.Contains(string(out), says) {
				t.Errorf("%v: %v, it does not say %q in\n%s", c.set, err, says, out)
			}
		}
	}
}
