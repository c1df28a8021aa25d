package nvshmem

import (
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestChannel runs a program of NVIDIA's device archive in a job whose PEs loads and stores do not
// all reach: its threads submit requests to the proxy channel as kernels do, and check each result.
// Releases up to 3.4 and from 3.5 on have requests of different forms.
func TestChannel(t *testing.T) {
	build := need.Build(t)
	program := archiveProgram(t, build, "channel")
	for _, c := range []struct {
		name, minor, what string
		pes               string
		args, env         []string
	}{
		{"two hosts", "4", "requests", "2", []string{"--hosts", "2"}, nil},
		{"two hosts of two", "8", "unfinished", "4", []string{"--hosts", "2"}, nil},
		{"no P2P", "5", "requests", "2", nil, []string{"NVSHMEM_DISABLE_P2P=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := onFakeGPUs(t, build, "works=1 devices=2 memory=4294967296", append([]string{"-n", c.pes}, append(c.args, program, c.minor, c.what)...)...)
			cmd.Env = append(cmd.Env, append(c.env, "NVSHMEM_MAX_TEAMS=8", "SHMEM_PROVIDER=tcp")...)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "PE passed\n") != int(c.pes[0]-'0') {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestChannelUnserved: a request that is not served ends the job, and the report names it.
func TestChannelUnserved(t *testing.T) {
	build := need.Build(t)
	cmd := onFakeGPUs(t, build, "works=1 devices=2 memory=4294967296", "-n", "2", "--hosts", "2", archiveProgram(t, build, "channel"), "8", "unserved")
	cmd.Env = append(cmd.Env, "NVSHMEM_MAX_TEAMS=8", "SHMEM_PROVIDER=tcp")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "PE 1") || !strings.Contains(string(out), "operation 77 at position 0 of the proxy channel is not served") {
		t.Errorf("%v\n%s", err, out)
	}
}
