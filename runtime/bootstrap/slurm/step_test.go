package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// task returns the environment of one, with changes: "NAME=value".
func task(changes ...string) map[string]string {
	env := map[string]string{
		"SLURM_CLUSTER_NAME": "c", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_NTASKS": "4",
		"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_NODEID": "1", "SLURM_DISTRIBUTION": "cyclic",
	}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		env[name] = value
	}
	return env
}

func TestSign(t *testing.T) {
	for _, c := range []struct {
		what    string
		changes []string
		want    bool
	}{
		{"a task", nil, true},
		{"the script of sbatch", []string{"SLURM_STEP_ID="}, false},
		{"the script of sbatch, which has the number of no step", []string{"SLURM_STEP_ID=4294967291"}, false},
		{"the shell of salloc", []string{"SLURM_STEP_ID=4294967290"}, false},
		{"a process of torchrun, whose agent is the task", []string{"TORCHELASTIC_RUN_ID=none"}, false},
		{"no number of tasks", []string{"SLURM_NTASKS="}, false},
		{"nonsense, of which more is said later", []string{"SLURM_STEP_ID=x"}, true},
	} {
		if got := Sign(task(c.changes...)); (got != "") != c.want {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		changes []string
		want    string
	}{
		{nil, "c/7.0/ of 4: 1 [n1]"},
		{[]string{"SLURM_NODEID=0"}, "c/7.0/ of 4: 1 []"},
		{[]string{"SLURM_DISTRIBUTION=arbitrary"}, "c/7.0/ of 4: 1 [n1 n2]"},
		{[]string{"SLURM_DISTRIBUTION=arbitrary", "SLURM_NODEID=0"}, "c/7.0/ of 4: 1 [n1 n2]"},
		{[]string{"SLURM_HET_SIZE=2"}, "c/7.0/ of 4: 1 [n1 n2]"},
		{[]string{"SLURM_RESTART_COUNT=3", "SLURM_PROCID=0"}, "c/7.0/3 of 4: 0 [n1]"},
	} {
		s, err := read(task(c.changes...))
		if got := fmt.Sprint(s.name, ": ", s.pe, " ", s.hosts); err != nil || got != c.want {
			t.Errorf("%v: %s, %v, not %s", c.changes, got, err, c.want)
		}
	}
	for _, c := range []struct{ change, want string }{
		{"SLURM_JOB_ID=x", `SLURM_JOB_ID="x" is not a number from 1 to 4294967295`},
		{"SLURM_STEP_ID=-1", `SLURM_STEP_ID="-1" is not a number`},
		{"SLURM_NTASKS=0", `SLURM_NTASKS="0" is not a number from 1 to 1048576`},
		{"SLURM_PROCID=4", `SLURM_PROCID="4" is not a number from 0 to 3`},
		{"SLURM_STEP_NODELIST=n[1", "SLURM_STEP_NODELIST: list of hosts \"n[1\", byte 3: the end"},
		{"SLURM_STEP_NODELIST=", "SLURM_STEP_NODELIST: list of hosts \"\", byte 0"},
		{"SLURM_STEP_RESV_PORTS=1-", "SLURM_STEP_RESV_PORTS: list"},
		{"SLURM_STEP_RESV_PORTS=65535-65536", `"65536", which is not a port`},
	} {
		if _, err := read(task(c.change)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.change, err, c.want)
		}
	}
	if _, err := read(task("SLURM_DISTRIBUTION=arbitrary", "SLURM_STEP_NODELIST=n[1-65]")); err == nil || !strings.Contains(err.Error(), "on any of 65 hosts") {
		t.Errorf("65 hosts: %v", err)
	}
}

// The ports are the same on all PEs, differ between steps, and are outside of Linux' own range.
func TestPorts(t *testing.T) {
	ports := func(changes ...string) []int {
		s, err := read(task(changes...))
		if err != nil {
			t.Fatal(err)
		}
		return s.ports
	}
	mine := ports()
	if !slices.Equal(mine, ports("SLURM_PROCID=3", "SLURM_NODEID=0")) {
		t.Error("the PEs of a step have different ports")
	}
	if slices.Equal(mine, ports("SLURM_STEP_ID=1")) || slices.Equal(mine, ports("SLURM_JOB_ID=8")) || slices.Equal(mine, ports("SLURM_CLUSTER_NAME=d")) {
		t.Error("two steps have the same ports")
	}
	different := map[int]bool{}
	for _, p := range mine {
		if different[p] = true; p < firstPort || p > lastPort {
			t.Errorf("port %d", p)
		}
	}
	if len(different) != listeners {
		t.Errorf("%v: %d are different", mine, len(different))
	}
	for text, want := range map[string]string{"12000-12002": "[12000 12001 12002]", "12000,12005": "[12000 12005]", "[12000-12001]": "[12000 12001]"} {
		if got := fmt.Sprint(ports("SLURM_STEP_RESV_PORTS=" + text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// The name of the file in a folder is one word, and another one for each step.
func TestFile(t *testing.T) {
	names := map[string]bool{}
	for _, env := range []map[string]string{task(), task("SLURM_STEP_ID=1"), task("SLURM_RESTART_COUNT=1"), task("SLURM_CLUSTER_NAME=../x")} {
		s, err := read(env)
		if err != nil {
			t.Fatal(err)
		}
		names[s.file()] = true
	}
	if got := slices.Sorted(maps.Keys(names)); len(got) != 4 || strings.ContainsAny(strings.Join(got, ""), "/ ") {
		t.Errorf("%q", got)
	}
}
