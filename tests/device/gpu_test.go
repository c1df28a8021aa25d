package device

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestGPUPrograms builds the programs for a machine with a GPU: here the test can only check that
// each builds, up to PTX, that it contains CUDA's run time, and that run.sh runs it. Other tests
// run the assembler on PTX of smaller programs. On each push two of them are linked, and most are
// compiled together.
func TestGPUPrograms(t *testing.T) {
	folder, linked := filepath.Join(need.Folder(t), "gpu-ptx", "cuda"), []string{"facts", "launch"}
	examples := filepath.Join(need.Folder(t), "gpu-ptx", "examples")
	if need.Left("programs") {
		makeTarget(t, "GPU_PTX=1", "gpu-ptx")
	} else {
		makeTarget(t, "GPU_PTX=1", "gpu-test")
	}
	runner, err := os.ReadFile("../gpu/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := filepath.Glob("../gpu/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		if name := filepath.Base(filepath.Dir(command)); !bytes.Contains(runner, []byte("$base/go/"+name+"\"")) {
			t.Errorf("tests/gpu/run.sh does not run %s", name)
		}
	}
	sources, err := filepath.Glob("../gpu/*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatalf("list tests/gpu: %d programs, error %v", len(sources), err)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".cu")
		if !bytes.Contains(runner, []byte("$base/cuda/"+name+"\"")) {
			t.Errorf("tests/gpu/run.sh does not run %s", name)
		}
		if need.Left("programs") && !slices.Contains(linked, name) {
			if !hasPTX(folder, name, "own", "tried") && !hasPTX(examples, name, "together") {
				t.Errorf("%s has no PTX", name)
			}
			continue
		}
		out, err := exec.Command("ldd", filepath.Join(folder, name)).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("libcud")) {
			t.Errorf("%s needs CUDA's libraries: %v\n%s", name, err, out)
		}
	}
	for _, name := range calling {
		program := filepath.Join(folder, "nvshmem-"+name)
		if need.Left("programs") {
			if !hasPTX(folder, name, "nvshmem-tried") {
				t.Errorf("nvshmem-%s has no PTX", name)
			}
			continue
		}
		if info, err := os.Stat(program); err != nil || info.Size() < 10_000 {
			t.Errorf("%s is not there: %v", program, err)
		}
	}
	// run.sh runs them in a loop.
	sources, err = filepath.Glob("../../examples/nvshmem/*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatalf("list examples/nvshmem: %d programs, error %v", len(sources), err)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".cu")
		if need.Left("programs") && name != "mpi" && !hasPTX(examples, name, "together") {
			t.Errorf("the example %s has no PTX", name)
		}
		if !regexp.MustCompile(`for example in [^;\n]*\b` + name + `\b|/examples/` + name + `"`).Match(runner) {
			t.Errorf("tests/gpu/run.sh does not run the example %s", name)
		}
	}
	for _, name := range []string{"dispatch", "ring"} {
		if need.Left("programs") && !hasPTX(examples, name, "together") {
			t.Errorf("the example %s has no PTX", name)
		}
		if !bytes.Contains(runner, []byte("$base/examples/"+name+"\"")) {
			t.Errorf("tests/gpu/run.sh does not run the example %s", name)
		}
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		return
	}
	out, err := exec.Command(filepath.Join(folder, "facts")).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("facts: find NVIDIA's driver: there is none on this machine\n")) {
		t.Errorf("facts without a driver: %v\n%s", err, out)
	}
}

// hasPTX reports whether a program has PTX: its own, or that of several programs, whose text
// includes it.
func hasPTX(folder, name string, several ...string) bool {
	for _, file := range append(several, name) {
		text, err := os.ReadFile(filepath.Join(folder, file+".cu"))
		if file != name && (err != nil || !bytes.Contains(text, []byte("\n#include \""+name+".cu\"\n"))) {
			continue
		}
		if ptx, err := os.ReadFile(filepath.Join(folder, file+".ptx")); err == nil && bytes.Contains(ptx, []byte("\n.target sm_")) {
			return true
		}
	}
	return false
}

var seconds = regexp.MustCompile(`\d+\.\d s\n`)

// others is the part of run.sh with programs that need a GPU.
var others = regexp.MustCompile(`(?s)# ---- with a GPU\n.*\n# ---- without\n`)

// TestRunner runs tests/gpu/run.sh over invented programs; of those for a GPU only facts.
func TestRunner(t *testing.T) {
	good := map[string]string{
		"bin/shmem-info": `echo info`,
		"bin/shmemrun":   `for last; do :; done; exec "$last"`,
		"cuda/facts":     `echo "GPU H200"`,
		"tests/a":        `echo "a: 3 passed, 0 failed"`,
		"tests/b":        `echo "b: 10 passed, 0 failed"; echo "[1] 1 passed, 0 failed"`,
	}
	for _, c := range []struct {
		name    string
		program string
		text    string // "" takes the program away
		args    []string
		status  int
		want    []string
	}{
		{"all well", "tests/a", good["tests/a"], nil, 0,
			[]string{"  GPU H200", "== facts: ok, S s", "== c/a/node: ok, S s", "== c/b/hosts: ok, S s", "6 passed, 0 failed"}},
		{"a part", "cuda/facts", "exit 1", []string{"c/a", "b/node"}, 0, []string{"== c/a/node: ok, S s", "3 passed, 0 failed"}},
		{"no such part", "tests/a", good["tests/a"], []string{"nothing"}, 1, []string{"0 passed, 0 failed"}},
		{"bad status", "cuda/facts", "echo no GPU; exit 3", nil, 1,
			[]string{"  no GPU", "== facts: FAILED with status 3, S s", "5 passed, 1 failed"}},
		{"a failed check", "tests/b", `echo "b: 9 passed, 1 failed"`, nil, 1,
			[]string{"  b: 9 passed, 1 failed", "== c/b/node: FAILED by its counts, S s", "4 passed, 2 failed"}},
		{"no checks", "tests/a", `echo "a: 0 passed, 0 failed"`, nil, 1, []string{"== c/a/node: FAILED by its counts, S s"}},
		{"says nothing", "tests/a", `:`, nil, 1, []string{"== c/a/node: FAILED by its counts, S s"}},
		{"not built", "tests/b", "", nil, 1, []string{"== c/b/node: FAILED with status 127, S s"}},
		{"no list", "programs", "", nil, 1,
			[]string{"tests/gpu/run.sh: find build/gpu/programs: it is not there (make gpu-test, where the compilers are)"}},
		{"nothing built", "bin/shmemrun", "", nil, 1,
			[]string{"tests/gpu/run.sh: find build/gpu/bin/shmemrun: it is not there (make gpu-test, where the compilers are)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, results := t.TempDir(), t.TempDir()
			files := map[string]string{}
			for _, script := range []string{"tests/gpu/run.sh", "scripts/stages.sh"} {
				text, err := os.ReadFile(filepath.Join("../..", script))
				if err != nil {
					t.Fatal(err)
				}
				files[script] = others.ReplaceAllString(string(text), "")
			}
			for name, text := range good {
				if name == c.program {
					text = c.text
				}
				if text != "" {
					files["build/gpu/"+name] = "#!/bin/sh\n" + text + "\n"
				}
			}
			if c.program != "programs" {
				files["build/gpu/programs"] = "a\nb\n"
			}
			for name, text := range files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(dir, "tests/gpu/run.sh"), c.args...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "OUT=" + results}
			text, _ := cmd.CombinedOutput()
			out := seconds.ReplaceAllString(string(text), "S s\n")
			if status := cmd.ProcessState.ExitCode(); status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, text)
			}
			for _, line := range c.want {
				if !strings.Contains("\n"+out, "\n"+line+"\n") {
					t.Errorf("the output lacks %q:\n%s", line, out)
				}
			}
			if c.program == "bin/shmemrun" || c.program == "programs" {
				return
			}
			kept, err := os.ReadFile(filepath.Join(results, "gpu-test.txt"))
			if err != nil || !strings.Contains(seconds.ReplaceAllString(string(kept), "S s\n"), c.want[len(c.want)-1]+"\n") {
				t.Errorf("gpu-test.txt: %v\n%s", err, kept)
			}
		})
	}
}
