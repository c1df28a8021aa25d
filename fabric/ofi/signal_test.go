package ofi

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/fabric"
	"libshmem/tests/cc"
)

// compiled returns a program of testdata that knows libfabric alone.
func compiled(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	cc.Run(t, cc.C(), "-O2", "-Wall", "-Werror", "-pthread", "-o", program, "testdata/"+name+".c", "-lfabric")
	return program
}

// A program that knows libfabric alone finds of each provider's descriptor the same as an endpoint
// has found when it was opened.
func TestSignalsOfQueues(t *testing.T) {
	program := compiled(t, "signal")
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if provider, verdict, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			said[provider] = verdict
		}
	}
	looked := 0
	for _, p := range tested {
		verdict, ok := said[p.provider]
		if !ok {
			continue
		}
		looked++
		takeRefused(t, p.provider)
		prov, err := Open(fabric.Config{Provider: p.provider, Tokens: 8, MaxRecv: 4})
		if err != nil {
			t.Fatal(err)
		}
		e := prov.(*endpoint)
		if e.caps.Provider != p.provider { // tcp acts for others that are missing
			t.Errorf("%s was opened for %s", e.caps.Provider, p.provider)
		}
		if stays := e.c.signal_stays != 0; stays != (verdict == "stays") {
			t.Errorf("%s: its signal %q, and for the endpoint it stays: %v", p.provider, verdict, stays)
		}
		if has := e.c.queue_fd >= 0; has != (verdict != "none") {
			t.Errorf("%s: its signal %q, and the endpoint has a descriptor: %v", p.provider, verdict, has)
		}
		t.Logf("%s: %s", p.provider, verdict)
		if err := prov.Close(); err != nil {
			t.Error(err)
		}
	}
	if looked == 0 {
		t.Errorf("libfabric has none of the providers that are tested: %s", out)
	}
}

// TestSignalHandlers holds that two calls of fi_getinfo at a time leave the program its signal
// handlers: a second one must not save those that the libraries of the first have installed.
func TestSignalHandlers(t *testing.T) {
	folder := t.TempDir()
	library, program := filepath.Join(folder, "libfake.so"), filepath.Join(folder, "handlers")
	cc.Run(t, cc.C(), "-Wall", "-Werror", "-fPIC", "-shared", "-o", library, "testdata/handlers.c")
	cc.Run(t, cc.C(), "-Wall", "-Werror", "-pthread", "-DPROGRAM", "-o", program, "testdata/handlers.c", "load.c", "symbols.c", "-ldl")
	out, err := exec.Command(program, library).CombinedOutput()
	if err != nil || string(out) != "kept\n" {
		t.Errorf("%v: %s", err, out)
	}
}
