package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNCCL reads the variables of NCCL, with a plugin that is there and one that is not.
func TestNCCL(t *testing.T) {
	prefix := t.TempDir()
	plugin, executable, elsewhere := filepath.Join(prefix, "lib", "libshmem_rma.so"), filepath.Join(prefix, "bin", "shmem-doctor"), "/nowhere/bin/shmem-doctor"
	if err := errors.Join(os.Mkdir(filepath.Dir(plugin), 0o700), os.WriteFile(plugin, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.so")
	if err := os.Symlink(plugin, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables  map[string]string
		executable string
		want       Verdict
		text       string // "": no finding
	}{
		{nil, executable, OK, ""},
		{map[string]string{"NCCL_GIN_ENABLE": "0"}, executable, OK, ""},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin}, executable, OK, "unless NCCL_GIN_TYPE=2"},
		{map[string]string{"NCCL_RMA_PLUGIN": link, "NCCL_GIN_TYPE": "2"}, executable, OK, "2.30.7 and later take"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin}, elsewhere, Wrong, "is missing"},
		{map[string]string{"NCCL_RMA_PLUGIN": "none"}, executable, Wrong, "takes no plugin"},
		{map[string]string{"NCCL_RMA_PLUGIN": "/nowhere/libshmem_rma.so"}, executable, Wrong, "there is no such file"},
		{map[string]string{"NCCL_RMA_PLUGIN": "aws-ofi"}, executable, Lacks, "does not name"},
		{map[string]string{"NCCL_RMA_PLUGIN": "aws-ofi," + plugin}, executable, Lacks, "tries aws-ofi before"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin, "NCCL_GIN_ENABLE": "0"}, executable, Wrong, "kernels cannot make requests"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin, "NCCL_GIN_TYPE": "3"}, executable, Wrong, "drives the NIC from the GPU"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin, "NCCL_RMA_DISABLE": "1"}, executable, Lacks, "ncclPutSignal fails"},
	} {
		found := NCCL(c.executable, func(name string) string { return c.variables[name] })
		if c.text == "" {
			if len(found) != 0 {
				t.Errorf("%v: %v", c.variables, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Verdict != c.want || !strings.Contains(found[0].Text, c.text) {
			t.Errorf("%v: %v, want %q", c.variables, found, c.text)
		}
	}
}
