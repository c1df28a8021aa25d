package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// In TestTeamsOfGPUs PEs share fake GPUs: as init assigns them, as the program chooses after init,
// and without any.
func TestTeamsOfGPUs(t *testing.T) {
	build := need.Build(t)
	program := built(t, build, "sem02gpu")
	for _, c := range []struct {
		name, settings string
		pes            int
		args           []string
	}{
		{"in turn", "works=1 devices=2", 5, []string{"-n", "5", program, "2"}},
		{"hosts", "works=1 devices=2", 6, []string{"-n", "6", "--hosts", "4,2", program, "2"}},
		{"one", "works=1 devices=1", 3, []string{"-n", "3", program, "1"}},
		{"chosen", "works=1 devices=2", 4, []string{"-n", "4", program, "2", "chosen"}},
		{"chosen hosts", "works=1 devices=2", 5, []string{"-n", "5", "--hosts", "3,2", program, "2", "chosen"}},
		{"none", "", 4, []string{"-n", "4", "--hosts", "2", program}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := onFakeGPUs(t, build, c.settings, c.args...)
			if c.settings == "" {
				cmd = exec.Command(launcher(build), append([]string{"--timeout", "60"}, c.args...)...)
				cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_HEAP=host")
			}
			cmd.Env = append(cmd.Env, "SHMEM_PROVIDER=tcp")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), " passed\n") != c.pes {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestTeamInit makes teams of any PEs by a unique ID, on one node, between hosts and with both, and
// checks that wrong teams are refused.
func TestTeamInit(t *testing.T) {
	build := need.Build(t)
	program := built(t, build, "teaminit")
	for _, c := range []struct {
		args, program []string
		pes           int
		says          []string
	}{
		{[]string{"-n", "1"}, nil, 1, nil},
		{[]string{"-n", "5"}, nil, 5, nil},
		{[]string{"-n", "4", "--hosts", "4"}, nil, 4, nil},
		{[]string{"-n", "7", "--hosts", "4,3"}, nil, 7, nil},
		{[]string{"-n", "3"}, []string{"same"}, 3, []string{
			"PE 2: nvshmemx_team_init: PE 1 and PE 2 are both number 1 of the team (pass another pe_idx_in_team on each)",
		}},
		{[]string{"-n", "3", "--hosts", "3"}, []string{"same"}, 3, []string{
			"PE 0: nvshmemx_team_init: PE 1 and PE 2 are both number 1 of the team (pass another pe_idx_in_team on each)",
		}},
		{[]string{"-n", "1"}, []string{"refusals"}, 1, []string{
			"PE 0: nvshmemx_team_init: 0xffffffffffffffff is no id of a team (pass an id that nvshmemx_team_get_uniqueid has given a PE of this job)",
			"PE 0: nvshmemx_team_init: the mask does not say that uniqueid of config counts (pass NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID)",
			"PE 0: nvshmemx_team_init: config is NULL (pass one with the unique ID of the team)",
			"PE 0: nvshmemx_team_init: number 0 of a team of 2 PEs, in a job of 1 (use 1 to 1 PEs, and numbers from 0 on)",
			"PE 0: nvshmemx_team_init: number 1 of a team of 1 PEs, in a job of 1 (use 1 to 1 PEs, and numbers from 0 on)",
			"PE 0: nvshmemx_team_init: team is NULL (pass the address of an nvshmem_team_t)",
			"PE 0: nvshmemx_team_get_uniqueid: uniqueid is NULL (pass the address of an nvshmemx_team_uniqueid_t)",
			"PE 0: nvshmemx_team_init: a configuration of version 0x30040, the library has 0x20040 (compile the program against the headers of this library,",
		}},
	} {
		argv := slices.Concat([]string{"--timeout", "60"}, c.args, []string{program}, c.program)
		t.Run(strings.Join(slices.Concat(c.args, c.program), " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(launcher(build), argv...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_PROVIDER=tcp", "SHMEM_HEAP=host")
			var errors strings.Builder
			cmd.Stderr = &errors
			out, err := cmd.Output()
			if err != nil || strings.Count(string(out), " passed\n") != c.pes || (c.says == nil) != (errors.Len() == 0) {
				t.Errorf("%v\n%s%s", err, out, errors.String())
			}
			for _, text := range c.says {
				if !strings.Contains(errors.String(), text) {
					t.Errorf("does not say %q:\n%s", text, errors.String())
				}
			}
		})
	}
}

// TestTeamInitAfterLoss asks for teams by ids of a PE that is lost, on a node and between hosts. Each
// call fails, whatever call told the thread of the loss.
func TestTeamInitAfterLoss(t *testing.T) {
	build := need.Build(t)
	program := built(t, build, "teamloss")
	for _, args := range [][]string{{"-n", "3"}, {"-n", "3", "--hosts", "3"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(launcher(build), slices.Concat([]string{"--timeout", "20"}, args, []string{program})...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"),
				"SHMEM_PROVIDER=tcp", "SHMEM_HEAP=host", "SHMEM_ON_FAILURE=return")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 128+9 || strings.Count(string(out), " passed\n") != 2 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
