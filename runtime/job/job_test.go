package job

import (
	"io"
	"strings"
	"testing"
)

// TestStartRefusesMalformed: the error names the setting, and comes even if no network is needed.
func TestStartRefusesMalformed(t *testing.T) {
	for environ, want := range map[string]string{
		"NVSHMEM_HCA_LIST=mlx5_0,^mlx5_1": `read setting SHMEM_NIC_LIST="mlx5_0,^mlx5_1": name 2`,
		"SHMEM_NIC_PE_MAPPING=mlx5_0:1:x": `read setting SHMEM_NIC_PE_MAPPING="mlx5_0:1:x": entry 1, "mlx5_0:1:x", at character 10`,
	} {
		if j, err := Start(Options{Environ: []string{environ}, Stderr: io.Discard}); j != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", environ, err)
		}
	}
}
