package perf

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shmem-perf": func() {
		os.Exit(Run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
}

// TestKilled: a signal that ends shmemrun is named, and not taken for a status.
func TestKilled(t *testing.T) {
	for script, want := range map[string]string{
		"kill -9 $$": "wait for shmemrun: signal: killed",
		"exit 5":     "the job of shmemrun ended with status 5 (see its messages above)",
	} {
		r := &reporter{settings: &settings{}, stdout: io.Discard, stderr: io.Discard}
		if err := r.runJob("/bin/sh", []string{"-c", script}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", script, err, want)
		}
	}
}

func TestTests(t *testing.T) {
	for text, want := range map[string]string{
		"put_latency":       "put:latency",
		"put_lat":           "put:latency",
		"PUT_BW":            "put:bandwidth",
		"put:bibw":          "put:bidirectional",
		"put_mr,p_lat":      "put:rate p:visible",
		"put_signal_lat":    "put_signal:visible",
		"put_signal_rate":   "put_signal:rate",
		"put_pairs-rate":    "put:pairs-rate",
		"put_mbw_mr":        "put:pairs-rate",
		"fadd_lat":          "fetch_add:latency",
		"fetch_add":         "fetch_add:latency",
		"add":               "add:latency add:rate",
		"barrier_all":       "barrier:latency",
		"barrier,barrier":   "barrier:latency",
		"messages":          "send:latency send:bandwidth send:rate",
		"put_signal_window": "",
		"put_":              "",
		"":                  "",
		"puts":              "",
	} {
		got, err := parseTests(text, nil)
		if text == "" {
			got, err = parseTests("", []string{text})
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if got, err := parseTests("", nil); got != nil || err != nil {
		t.Errorf("no test: %q, %v", got, err)
	}
	all, err := parseTests("all", []string{"put"})
	n := 0
	for _, test := range tests {
		n += len(test.measures)
	}
	if err != nil || len(all) != n {
		t.Errorf("all are %d of %d: %v", len(all), n, err)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string][]int64{
		"8": {8}, "1M,8,8": {8, 1 << 20}, "8:64": {8, 16, 32, 64}, "8:100": {8, 16, 32, 64}, "8:1K:4": {8, 32, 128, 512}, "4k:4K": {4096},
		"8:1M:1152921504606846976": {8},
		"0":                        nil, "8:4": nil, "8:16:1": nil, "x": nil, "8:16:2:2": nil, "": nil, "1:1G,3:1G,5:1G": nil,
	} {
		got, err := parseSizes(text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	if all, err := parseSizes("all"); err != nil || len(all) != 23 {
		t.Errorf("all: %v, %v", all, err)
	}
}

// TestLaunch: options of shmemrun are passed on as they are, and those of other programs as
// settings.
func TestLaunch(t *testing.T) {
	for text, want := range map[string]string{
		"-H a:2,b put":                    "--host=a:2,b",
		"--hosts 2 --host-netns":          "--hosts=2 --host-netns=true",
		"--bind -x A=1 -x B":              "--bind=share -x A=1 -x B",
		"--bind=none":                     "--bind=none",
		"-d eth1 -p tcp":                  "-x SHMEM_PROVIDER=tcp -x SHMEM_NIC_LIST=eth1",
		"-np 4 -s 8 -i 10 -w 5 -W 8 -T 1": "",
	} {
		s, err := parse(strings.Fields(text), io.Discard)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := strings.Join(s.launch, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBeside(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "--beside": "oshmem fi_pingpong iperf3", "--beside=iperf3": "iperf3", "--beside=all": "oshmem fi_pingpong iperf3", "--beside=mpi": "error",
	} {
		s, err := parse(strings.Fields(text), io.Discard)
		if err != nil {
			if want != "error" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if got := strings.Join(s.beside, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "tcp;ofi_rxm", "-p tcp": "tcp;ofi_rxm", "-p efa": "efa", "-x SHMEM_PROVIDER=verbs": "verbs"} {
		if s, err := parse(strings.Fields(text), io.Discard); err != nil || s.pingpongProvider() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestScopes(t *testing.T) {
	for text, want := range map[string]string{
		"": "host", "--scope gpu": "stream thread warp block", "--scope host,block": "host block", "--scope grid": "error",
	} {
		s, err := parse(strings.Fields(text), io.Discard)
		if err != nil {
			if want != "error" {
				t.Errorf("%q: %v", text, err)
			}
		} else if got := strings.Join(s.scopes, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTables: each installed table can be read, and its rows are figures that there are.
func TestTables(t *testing.T) {
	files, err := filepath.Glob("../../shmem-perf/tables/*.table")
	if err != nil || len(files) == 0 {
		t.Fatalf("tables: %q, %v", files, err)
	}
	for _, name := range files {
		table, err := loadTable(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, row := range table.Rows {
			if got := figures(row.Test + ":" + row.Measure); len(got) != 1 {
				t.Errorf("%s: there is no figure %s %s", name, row.Test, row.Measure)
			}
		}
	}
}

func TestInJob(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "PATH=/bin SHMEM_DEBUG=1": false, "SHMEM_LAUNCHER_FD=5": true, "PMIX_RANK=0": true, "PMI_RANK=": false,
		"SLURM_JOB_ID=1": false,
		"SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2":          true,
		"SLURM_JOB_ID=1 SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_NTASKS=2": false,
	} {
		if got := inJob(strings.Fields(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
