package place

import (
	"strings"
	"testing"

	"libshmem"
)

// TestSessionNumbers: what a pod, a worker of torchrun or a script says about the place of a PE.
func TestSessionNumbers(t *testing.T) {
	pod := map[string]string{"JOB_COMPLETION_INDEX": "2", "SHMEM_BOOTSTRAP_NPES": "3"}
	with := func(more ...string) map[string]string {
		env := map[string]string{}
		for name, value := range pod {
			env[name] = value
		}
		for _, kv := range more {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		return env
	}
	for _, c := range []struct {
		what string
		env  map[string]string
		pe   libshmem.PE
		size int
		err  string
	}{
		{"a pod", pod, 2, 3, ""},
		{"torchrun in a pod", with("RANK=7", "WORLD_SIZE=12", "SHMEM_BOOTSTRAP_NPES="), 7, 12, ""},
		{"a rank alone", with("RANK=7"), 2, 3, ""},
		{"a script in a pod", with("RANK=7", "WORLD_SIZE=12", "SHMEM_BOOTSTRAP_PE=1"), 1, 3, ""},
		{"a pod of no indexed Job", with("JOB_COMPLETION_INDEX="), 0, 0, "the number of this PE is not known (set SHMEM_BOOTSTRAP_PE; Kubernetes sets JOB_COMPLETION_INDEX"},
		{"a pod, no number of PEs", with("SHMEM_BOOTSTRAP_NPES="), 0, 0, "the number of PEs is not known (set SHMEM_BOOTSTRAP_NPES; in a Job of Kubernetes it is completions)"},
		{"more pods than PEs", with("SHMEM_BOOTSTRAP_NPES=2"), 0, 0, "JOB_COMPLETION_INDEX=2, SHMEM_BOOTSTRAP_NPES=2: there is no such PE"},
		{"a rank that is none", with("RANK=x", "WORLD_SIZE=2"), 0, 0, `RANK="x": it is not the number of a PE`},
		{"a size that is none", with("RANK=0", "WORLD_SIZE=-2", "SHMEM_BOOTSTRAP_NPES="), 0, 0, `WORLD_SIZE="-2": it is not a number of PEs`},
	} {
		pe, size, err := sessionNumbers(around(t, c.env))
		if pe != c.pe || size != c.size || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: PE %d of %d, %v; not PE %d of %d, %q", c.what, pe, size, err, c.pe, c.size, c.err)
		}
	}
}
