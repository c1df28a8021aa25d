package start

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// An implementation of MPI: how a program is built with it, and started.
type implementation struct {
	name     string
	compiler string
	flags    []string
	run      []string
}

var implementations = []implementation{
	{"Open MPI", "mpicc.openmpi", nil,
		[]string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"}},
	{"MPICH", "gcc", []string{"-DMPICH", "-l:libmpich.so.12"}, []string{"mpiexec.hydra", "-n", "3"}},
}

func (m implementation) compile(t *testing.T, name string) string {
	t.Helper()
	lib := filepath.Join(need.Build(t), "lib")
	program := filepath.Join(t.TempDir(), name)
	args := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-I../../include", "-o", program,
		"testdata/mpi.c", "-L" + lib, "-lshmem", "-Wl,-rpath," + lib}, m.flags...)
	cc.Run(t, m.compiler, args...)
	return program
}

func TestMPI(t *testing.T) {
	for _, m := range implementations {
		t.Run(m.name, func(t *testing.T) {
			program := m.compile(t, "mpi")
			for _, c := range []struct {
				args   []string
				env    []string
				status int
				want   []string
			}{
				{[]string{"comm"}, []string{"SHMEM_DEBUG=1"}, 0, []string{"3 PEs on 1 host", "bootstrap mpi;", "PE 0 done", "PE 2 done"}},
				{[]string{"world"}, []string{"SHMEM_DEBUG=1"}, 0, []string{"3 PEs on 1 host", "bootstrap mpi;", "PE 0 done", "PE 2 done"}},
				{[]string{"null"}, nil, 22, []string{"shmemx_init_attr: attr holds no communicator"}},
				{[]string{"absent"}, []string{"SHMEM_BOOTSTRAP_TIMEOUT=1"}, 1, []string{"shmem_init: broadcast of MPI: PE 0 did not come within 1s (find out why"}},
				{[]string{"late"}, nil, 21, []string{"shmemx_init_attr: join job: MPI is not up"}},
			} {
				e := run(t, c.env, m.run[0], append(append(m.run[1:len(m.run):len(m.run)], program), c.args...)...)
				// A launcher has a status of its own for a job that fails.
				if (e.status == 0) != (c.status == 0) {
					t.Errorf("%v: status %d:\n%s", c.args, e.status, e.out)
				}
				for _, want := range c.want {
					if !strings.Contains(e.out, want) {
						t.Errorf("%v: it does not say %q:\n%s", c.args, want, e.out)
					}
				}
			}
		})
	}
}
