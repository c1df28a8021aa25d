package place

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// around returns the surroundings of an environment.
func around(t *testing.T, env map[string]string) *surroundings {
	t.Helper()
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	cfg, _, err := config.Parse(environ)
	if err != nil {
		t.Fatal(err)
	}
	return &surroundings{config: cfg, env: environment(environ)}
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		what string
		env  map[string]string
		want config.Bootstrap
		why  string
	}{
		{"no launcher started it", nil, "singleton", "no launcher"},
		{"variables of no launcher", map[string]string{"PATH": "/bin", "RANK": "1", "SHMEM_LAUNCHER_FD": ""}, "singleton", "no launcher"},
		{"shmemrun", map[string]string{"SHMEM_LAUNCHER_FD": "7"}, "launcher", "SHMEM_LAUNCHER_FD"},
		{"a file", map[string]string{"SHMEM_BOOTSTRAP_FILE": "/x"}, "file", "SHMEM_BOOTSTRAP_FILE"},
		{"shmemrun and a file", map[string]string{"SHMEM_BOOTSTRAP_FILE": "/x", "SHMEM_LAUNCHER_FD": "7"}, "launcher", "SHMEM_LAUNCHER_FD"},
		{"Open MPI and a file", map[string]string{"SHMEM_BOOTSTRAP_FILE": "/x", "PMIX_NAMESPACE": "1", "PMIX_RANK": "0"}, "file", "SHMEM_BOOTSTRAP_FILE"},
		{"a pod of an indexed Job", map[string]string{"SHMEM_BOOTSTRAP_SESSION": "job-0.svc:7000", "JOB_COMPLETION_INDEX": "1"}, "session", "SHMEM_BOOTSTRAP_SESSION, JOB_COMPLETION_INDEX"},
		{"torchrun and a session", map[string]string{"SHMEM_BOOTSTRAP_SESSION": "job-0.svc:7000", "RANK": "1", "WORLD_SIZE": "2"}, "session", "SHMEM_BOOTSTRAP_SESSION, RANK, WORLD_SIZE"},
		{"a session of unique ids", map[string]string{"SHMEM_BOOTSTRAP_SESSION": "job-0.svc:7000"}, "singleton", "no launcher"},
		{"a pod without a session", map[string]string{"JOB_COMPLETION_INDEX": "1", "SHMEM_BOOTSTRAP_NPES": "2"}, "singleton", "no launcher"},
		{"a plugin below Open MPI", map[string]string{"SHMEM_BOOTSTRAP_PLUGIN": "/x.so", "PMIX_NAMESPACE": "1", "PMIX_RANK": "0"}, "plugin", "SHMEM_BOOTSTRAP_PLUGIN"},
		{"forced", map[string]string{"SHMEM_LAUNCHER_FD": "7", "SHMEM_BOOTSTRAP": "singleton"}, "singleton", "SHMEM_BOOTSTRAP"},
		{"Open MPI", map[string]string{"PMIX_NAMESPACE": "prterun-1", "PMIX_RANK": "0"}, "pmix", "PMIX_NAMESPACE, PMIX_RANK"},
		{"mpirun below srun --mpi=pmi2", map[string]string{"PMIX_NAMESPACE": "1", "PMIX_RANK": "0", "PMI_FD": "7", "PMI_RANK": "0", "PMI_SIZE": "2"}, "pmix", "PMIX_NAMESPACE, PMIX_RANK"},
		{"Hydra", map[string]string{"PMI_FD": "7", "PMI_RANK": "0", "PMI_SIZE": "2"}, "pmi", "PMI_FD, PMI_RANK, PMI_SIZE"},
		{"Hydra, to connect to", map[string]string{"PMI_PORT": "host:1", "PMI_ID": "0"}, "pmi", "PMI_PORT, PMI_ID"},
		{"shmemrun below Hydra", map[string]string{"PMI_PORT": "host:1", "PMI_ID": "0", "SHMEM_LAUNCHER_FD": "7"}, "launcher", "SHMEM_LAUNCHER_FD"},
		{"srun --mpi=none", map[string]string{"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "slurm", "SLURM_STEP_ID, SLURM_PROCID"},
		{"the script of sbatch", map[string]string{"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "singleton", "no launcher"},
		{"Open MPI, whose helper srun has started", map[string]string{"PMIX_NAMESPACE": "1", "PMIX_RANK": "3", "SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "pmix", "PMIX_NAMESPACE, PMIX_RANK"},
		{"srun --mpi=pmi2", map[string]string{"PMI_FD": "7", "PMI_RANK": "0", "PMI_SIZE": "2", "SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "pmi", "PMI_FD, PMI_RANK, PMI_SIZE"},
		{"a file below srun", map[string]string{"SHMEM_BOOTSTRAP_FILE": "/x", "SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "file", "SHMEM_BOOTSTRAP_FILE"},
		{"forced, in capitals", map[string]string{"SHMEM_BOOTSTRAP": "Singleton"}, "singleton", "SHMEM_BOOTSTRAP"},
		{"forced to what would be taken", map[string]string{"SHMEM_LAUNCHER_FD": "7", "SHMEM_BOOTSTRAP": "launcher"}, "launcher", "SHMEM_BOOTSTRAP"},
	} {
		w, why, err := choose(around(t, c.env))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if w.name != c.want || why != c.why {
			t.Errorf("%s: %s because of %s, not %s because of %s", c.what, w.name, why, c.want, c.why)
		}
	}
}

// What the program gives comes before what it was started with, unless another bootstrap is forced.
func TestGivenComesFirst(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want config.Bootstrap
		why  string
	}{
		{map[string]string{}, "uid", "a unique id"},
		{map[string]string{"SHMEM_LAUNCHER_FD": "7"}, "uid", "a unique id"},
		{map[string]string{"SHMEM_LAUNCHER_FD": "7", "SHMEM_BOOTSTRAP": "launcher"}, "launcher", "SHMEM_BOOTSTRAP"},
		{map[string]string{"SHMEM_BOOTSTRAP": "uid"}, "uid", "SHMEM_BOOTSTRAP"},
	} {
		s := around(t, c.env)
		s.given = Given{UID: new(uid.ID), NPEs: 1}
		if w, why, err := choose(s); err != nil || w.name != c.want || why != c.why {
			t.Errorf("%v: %+v because of %s, %v", c.env, w, why, err)
		}
	}
}

// So does a communicator.
func TestCommunicatorComesFirst(t *testing.T) {
	s := around(t, map[string]string{"SHMEM_LAUNCHER_FD": "7", "PMIX_NAMESPACE": "1", "PMIX_RANK": "0"})
	comm := 0
	s.given = Given{MPIComm: unsafe.Pointer(&comm)}
	if w, why, err := choose(s); err != nil || w.name != "mpi" || why != "an MPI communicator" {
		t.Errorf("%+v because of %s, %v", w, why, err)
	}
	if _, err := openMPI(s); err == nil || !strings.Contains(err.Error(), "MPI is not up") {
		t.Errorf("without MPI: %v", err)
	}
}

// Forcing a bootstrap that this process was not started for is an error: nothing else is taken in
// its place.
func TestForcedInVain(t *testing.T) {
	for _, w := range bootstraps {
		if w.needs == "" {
			continue
		}
		_, _, err := choose(around(t, map[string]string{"SHMEM_BOOTSTRAP": string(w.name)}))
		if !errors.Is(err, shmerr.ErrSetting) || !strings.Contains(err.Error(), "SHMEM_BOOTSTRAP="+string(w.name)) ||
			!strings.Contains(err.Error(), w.needs) {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

// SHMEM_BOOTSTRAP takes exactly the bootstraps that there are, and the last one needs no sign.
func TestBootstraps(t *testing.T) {
	names := []string{string(config.BootstrapAuto)}
	for _, w := range bootstraps {
		names = append(names, string(w.name))
		if w.sign == nil || w.open == nil {
			t.Errorf("%s is not complete", w.name)
		}
	}
	if taken := config.Lookup("SHMEM_BOOTSTRAP").Choices; !slices.Equal(names, taken) {
		t.Errorf("there are %v, SHMEM_BOOTSTRAP takes %v", names, taken)
	}
	if last := bootstraps[len(bootstraps)-1]; last.sign(around(t, nil)) == "" || last.needs != "" {
		t.Errorf("%s comes last, and may not be there", last.name)
	}
}

// As getenv has it.
func TestFirstOfANameCounts(t *testing.T) {
	if env := environment([]string{"A=1", "A=2", "B", "C=x=y"}); len(env) != 2 || env["A"] != "1" || env["C"] != "x=y" {
		t.Errorf("%v", env)
	}
}
