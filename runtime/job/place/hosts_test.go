package place

import "testing"

// TestSeveralHosts: launchers that tell are believed, where the process meets others by them.
func TestSeveralHosts(t *testing.T) {
	pmix := map[string]string{"PMIX_NAMESPACE": "1", "PMIX_RANK": "0"}
	pmi := map[string]string{"PMI_FD": "5", "PMI_RANK": "0", "PMI_SIZE": "4"}
	for _, c := range []struct {
		what string
		by   map[string]string
		says map[string]string
		want bool
	}{
		{"no launcher", nil, nil, false},
		{"shmemrun, on this host", map[string]string{"SHMEM_LAUNCHER_FD": "7"}, nil, false},
		{"shmemrun with one simulated host", map[string]string{"SHMEM_LAUNCHER_FD": "7"}, map[string]string{"SHMEM_LAUNCHER_HOSTS": "1"}, false},
		{"shmemrun with two", map[string]string{"SHMEM_LAUNCHER_FD": "7"}, map[string]string{"SHMEM_LAUNCHER_HOSTS": "2"}, true},
		{"shmemrun on one host, in a step of two", map[string]string{"SHMEM_LAUNCHER_FD": "7"}, map[string]string{"SLURM_STEP_NUM_NODES": "2"}, false},
		{"a file, in a step of two", map[string]string{"SHMEM_BOOTSTRAP_FILE": "/x"}, map[string]string{"SLURM_STEP_NUM_NODES": "2"}, false},
		{"Open MPI, all here", pmix, map[string]string{"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_SIZE": "4"}, false},
		{"Open MPI, some here", pmix, map[string]string{"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_SIZE": "8"}, true},
		{"Open MPI, half of it said", pmix, map[string]string{"OMPI_COMM_WORLD_SIZE": "8"}, false},
		{"Hydra, all here", pmi, map[string]string{"MPI_LOCALNRANKS": "4"}, false},
		{"Hydra, some here", pmi, map[string]string{"MPI_LOCALNRANKS": "2"}, true},
		{"Slurm, one node", pmi, map[string]string{"SLURM_STEP_NUM_NODES": "1"}, false},
		{"Slurm, two nodes", pmi, map[string]string{"SLURM_STEP_NUM_NODES": "2"}, true},
		{"Slurm, no number", pmi, map[string]string{"SLURM_STEP_NUM_NODES": "many"}, false},
		{"a bootstrap that is refused", nil, map[string]string{"SHMEM_BOOTSTRAP": "launcher", "SHMEM_LAUNCHER_HOSTS": "2"}, false},
	} {
		env := map[string]string{}
		for _, more := range []map[string]string{c.by, c.says} {
			for name, value := range more {
				env[name] = value
			}
		}
		s := around(t, env)
		var environ []string
		for name, value := range env {
			environ = append(environ, name+"="+value)
		}
		if got := SeveralHosts(s.config, environ, Given{}); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
