package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"libshmem/cmd/internal/tracefile/sample"
	"libshmem/cmd/internal/tracereplay"
)

// called runs a command line of shmem-trace.
func called(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestReplay(t *testing.T) {
	dir := t.TempDir()
	if _, err := sample.Job(dir); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := called("replay", dir, "--model", "efa", "--hosts", "4", "--json", out)
	if status != statusOK || !strings.Contains(stdout, "4 hosts, with 2 PEs and 1 NIC each.") {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var p tracereplay.Prediction
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Hosts != 4 || p.Predicted <= 0 || len(p.PEs) != sample.PEs || len(p.Phases) != sample.Barriers {
		t.Errorf("%+v", p)
	}
}

func TestReplayRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := sample.Job(dir); err != nil {
		t.Fatal(err)
	}
	figures := filepath.Join(t.TempDir(), "figures")
	if err := os.WriteFile(figures, []byte("get_latency\t8\t5\tus\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{dir, "--model", "myrinet", "--hosts", "2"}, statusUsage, `there is no model "myrinet" (there are efa, efa-direct, tcp, verbs)`},
		{[]string{dir, "--hosts", "-1"}, statusUsage, "--hosts -1: a job has 1 host or more"},
		{[]string{dir, "--hosts", "3"}, statusError, "8 PEs on 3 hosts: each host must have the same number of PEs"},
		{[]string{dir, "--hosts", "2", "--nics", "0"}, statusUsage, "a host has 1 to 1024 NICs"},
		{[]string{dir, "--hosts", "2", "--measured", figures}, statusError, "it lacks p_visible of 8 bytes"},
		{[]string{dir, "--hosts", "2", "--measured", figures + ".not"}, statusError, "no such file"},
		{[]string{filepath.Join(dir, "0.json"), "--hosts", "2"}, statusError, "the files of PE 1, PE 2, PE 3, PE 4, PE 5, PE 6, PE 7 of the 8 PEs are missing"},
		{[]string{"--hosts", "2"}, statusUsage, "the files are missing"},
		{[]string{dir, "--hosts", "2", "--json", filepath.Join(dir, "0.json")}, statusError, "it is one of the files that are read"},
	} {
		status, stdout, stderr := called(append([]string{"replay"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%v: status %d, %q, %q; want %d, %q", c.args, status, stdout, stderr, c.status, c.want)
		}
	}
}

// TestReplayDefault: without --hosts there are as many as in the recording, and a PE that lacked a
// processor is named first.
func TestReplayDefault(t *testing.T) {
	for _, c := range []struct {
		members string // of the head of PE 1
		pes     int
		want    []string
	}{
		{`"host":"one"`, 2, []string{"recorded on 1 host.\nWarning: PE 1 had no processor for 50 % of the time", "\n2 hosts (--hosts names another number), with 1 PE and 1 NIC each."}},
		{`"host":"two"`, 4, []string{"recorded on 2 hosts.", "\n2 hosts (--hosts names another number), with 2 PEs and 1 NIC each."}},
		{`"host":"one"`, 3, []string{"\n3 hosts (--hosts names another number), with 1 PE and 1 NIC each."}},
		{`"host":"one","host_id":"b"`, 2, []string{"recorded on 1 host, as 2 simulated hosts."}},
		{`"host":"one"`, 1, []string{"Replay of a program: 1 PE, ", "\n1 host (--hosts names another number), with 1 PE"}},
	} {
		dir := t.TempDir()
		for pe := range c.pes {
			members := `"host":"one"`
			if pe == 1 {
				members = c.members
			}
			f := sample.Head(pe, c.pes, members+`,"clock":[{"at":0,"offset":0,"error":0}]`)
			f.Call("shmem_init", 0, 1000, "")
			f.Call("shmem_barrier_all", 89_000, 1000, `"team":0,"stolen":`+strconv.Itoa(50*pe))
			f.Call("shmem_finalize", 99_000, 1000, "")
			if err := f.Write(filepath.Join(dir, strconv.Itoa(pe)+".json")); err != nil {
				t.Fatal(err)
			}
		}
		status, stdout, stderr := called("replay", dir, "--model", "efa")
		for _, want := range c.want {
			if status != statusOK || !strings.Contains(stdout, want) {
				t.Errorf("%+v: status %d, no %q\n%s%s", c, status, want, stdout, stderr)
			}
		}
	}
}
