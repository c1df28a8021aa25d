package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestBad: one clear message for each mistake, which names the call as the program does.
func TestBad(t *testing.T) {
	build := need.Build(t)
	lib := filepath.Join(build, "lib")
	program, other, newer := built(t, build, "bad"), filepath.Join(t.TempDir(), "libnvshmem_host.so.3"), filepath.Join(t.TempDir(), "newer")
	compile(t, "gcc", "-shared", "-fPIC", "-Wl,-soname,libnvshmem_host.so.3", "testdata/wheel.c", "-o", other)
	compile(t, "gcc", "-std=gnu11", "-O1", "-I../../include/nvshmem", "testdata/bad.c", "testdata/newer.c", "-o", newer, "-L"+lib, "-lnvshmem_host", "-ldl")
	// Linked as with NVIDIA's library.
	old := filepath.Join(t.TempDir(), "old")
	compile(t, "gcc", "-std=gnu11", "-O1", "-I../../include/nvshmem", "testdata/bad.c", "-o", old, filepath.Join(lib, "libnvshmem_host.so.3"), "-Wl,-rpath-link,"+lib, "-ldl")
	const (
		finalized  = "shmem: nvshmem_team_sync: the library is not initialised"
		of         = " (pass NVSHMEM_TEAM_WORLD, NVSHMEM_TEAM_SHARED or a team that a split of this library has made)"
		overridden = " was destroyed (use its handle before nvshmem_team_destroy only)"
	)
	for _, c := range []struct {
		name, program string
		args          []string
		status        int
		says          string
	}{
		{"attributes", program, nil, 0, "shmem: nvshmemx_init_attr: attributes of version 0x300a0, the library has 0x10090 and 0x20090 " +
			"(the program's headers are newer than the library: compile it against those of this one)"},
		{"id", program, nil, 1, "shmem: nvshmemx_get_uniqueid: uid is NULL (pass the address of a nvshmemx_uniqueid_t)"},
		{"rank", program, nil, 1, "shmem: nvshmemx_set_attr_uniqueid_args: PE 5 of 2 (PEs are numbered from 0, so that myrank is from 0 to nranks - 1)"},
		{"communicator", program, nil, 1, "shmem: nvshmemx_init_attr: attr holds no communicator (set mpi_comm to the address of one)"},
		{"headers", newer, nil, 1, "shmem: nvshmem_init: the program was compiled against headers of NVSHMEM 3.10.2, the library has the names of 3.8.0 " +
			"(run it with the library that came with the headers, or compile it against those of this one)"},
		{"attributes and headers", newer, []string{"garbage"}, 3, "shmem: nvshmemx_init_attr: the program was compiled against headers of NVSHMEM 3.10.2"},
		{"twice", old, []string{"twice", other}, 134, "shmem: nvshmem_init: two libraries libnvshmem_host.so.3 are loaded: " + lib + "/libnvshmem_host.so.3, which leads to this one, " +
			"and " + other + " (preload the first one, or link the program with libshmem's libnvshmem_host.so again)\n" + finalized},
		{"foreign", program, nil, 134, "shmem: PE 0: nvshmem_team_sync: team 8 does not exist" + of},
		{"pointer", program, nil, 134, "shmem: PE 0: nvshmem_long_sum_reduce: team 1444127424 does not exist" + of},
		{"ask", program, nil, 134, "shmem: PE 0: nvshmem_team_my_pe: team 8 does not exist" + of},
		{"stale", program, nil, 134, "shmem: PE 0: nvshmem_barrier: team 1031" + overridden},
		{"again", program, nil, 134, "shmem: PE 0: nvshmem_team_translate_pe: team 1031" + overridden},
		{"contexts", program, nil, 134, "shmem: PE 0: nvshmem_team_split_strided: num_contexts is -1 (use 0 or more)"},
		{"pe", program, nil, 134, "shmem: PE 0: nvshmem_int_p: PE 1 does not exist, there are 1 (use 0 to nvshmem_n_pes() - 1)"},
		{"finalized", program, nil, 134, finalized},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := c.args
			if args == nil {
				args = []string{c.name}
			}
			cmd := exec.Command(c.program, args...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib, "SHMEM_HEAP=host")
			var errors strings.Builder
			cmd.Stderr = &errors
			out, _ := cmd.Output()
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.HasPrefix(errors.String(), c.says) ||
				strings.Count(errors.String(), "\n") != strings.Count(c.says, "\n")+1 {
				t.Errorf("status %d\n%s%s", status, out, errors.String())
			}
		})
	}
}
