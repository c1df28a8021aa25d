package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNCCL reads the variables of NCCL, with a plugin that is there and one that is not.
func TestNCCL(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "libshmem_rma.so")
	if err := os.WriteFile(plugin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.so")
	if err := os.Symlink(plugin, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables map[string]string
		plugin    string
		want      Verdict
		text      string // "": no finding
	}{
		{nil, plugin, OK, ""},
		{map[string]string{"NCCL_GIN_ENABLE": "0"}, plugin, OK, ""},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin}, plugin, OK, "unless NCCL_GIN_TYPE=2"},
		{map[string]string{"NCCL_RMA_PLUGIN": link, "NCCL_GIN_TYPE": "2"}, plugin, OK, "2.30.7 and later take"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin}, plugin + ".gone", Wrong, "is missing"},
		{map[string]string{"NCCL_RMA_PLUGIN": "none"}, plugin, Wrong, "takes no plugin"},
		{map[string]string{"NCCL_RMA_PLUGIN": "/nowhere/libshmem_rma.so"}, plugin, Wrong, "there is no such file"},
		{map[string]string{"NCCL_RMA_PLUGIN": "aws-ofi"}, plugin, Lacks, "does not name"},
		{map[string]string{"NCCL_RMA_PLUGIN": "aws-ofi," + plugin}, plugin, Lacks, "tries aws-ofi before"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin, "NCCL_GIN_ENABLE": "0"}, plugin, Wrong, "kernels cannot make requests"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin, "NCCL_GIN_TYPE": "3"}, plugin, Wrong, "drives the NIC from the GPU"},
		{map[string]string{"NCCL_RMA_PLUGIN": plugin, "NCCL_RMA_DISABLE": "1"}, plugin, Lacks, "ncclPutSignal fails"},
	} {
		found := NCCL(c.plugin, func(name string) string { return c.variables[name] })
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
