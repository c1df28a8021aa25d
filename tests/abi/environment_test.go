package abi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/config"
)

// TestStandardEnvironment: the four variables of the specification, each alone, and under the names
// that it deprecates. Their output appears once, from PE 0.
func TestStandardEnvironment(t *testing.T) {
	program := linked(t, "environment.c")
	libraries := filepath.Dir(library(t, "libshmem.so"))
	version := regexp.QuoteMeta(libshmem.Version)
	for _, c := range []struct {
		name  string
		env   []string
		bytes int
		fails bool
		once  []string // each matches one line
		never []string
	}{
		{name: "nothing", bytes: 1, once: []string{"^1 bytes: yes$"}, never: []string{"shmem", "SHMEM"}},
		{name: "version", env: []string{"SHMEM_VERSION=1"}, bytes: 1, once: []string{"^shmem: libshmem " + version + ", OpenSHMEM 1.6$"}},
		{name: "version of old", env: []string{"SMA_VERSION=yes"}, bytes: 1, once: []string{"^shmem: libshmem " + version}},
		{name: "debug", env: []string{"SHMEM_DEBUG=1"}, bytes: 1, once: []string{`libshmem ` + version + `.* 2 PEs`}},
		{name: "debug of old", env: []string{"SMA_DEBUG=1"}, bytes: 1, once: []string{`libshmem ` + version + `.* 2 PEs`}},
		{name: "size", env: []string{"SHMEM_SYMMETRIC_SIZE=3.1m"}, bytes: 3 << 20, once: []string{": yes$"}},
		{name: "more than the size", env: []string{"SHMEM_SYMMETRIC_SIZE=3.1m"}, bytes: 5 << 20, once: []string{": no$"}},
		{name: "size in k", env: []string{"SHMEM_SYMMETRIC_SIZE=4096K"}, bytes: 5 << 20, once: []string{": no$"}},
		{name: "size of old", env: []string{"SMA_SYMMETRIC_SIZE=4194304"}, bytes: 5 << 20, once: []string{": no$"}},
		{name: "both sizes", env: []string{"SMA_SYMMETRIC_SIZE=1m", "SHMEM_SYMMETRIC_SIZE=8m"}, bytes: 5 << 20,
			once: []string{": yes$", `SMA_SYMMETRIC_SIZE="1m": ignored, SHMEM_SYMMETRIC_SIZE="8m"`}},
		{name: "size that is none", env: []string{"SHMEM_SYMMETRIC_SIZE=20q"}, bytes: 1, fails: true,
			once: []string{`SHMEM_SYMMETRIC_SIZE="20q": the letter after the number is not k, m, g or t`}, never: []string{"bytes: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := runPair(t, libraries, c.env, program, fmt.Sprint(c.bytes))
			if (err != nil) != c.fails {
				t.Errorf("ended with %v", err)
			}
			for _, want := range c.once {
				// Each PE may report the error, until the first ends the job.
				if n := len(regexp.MustCompile("(?m)"+want).FindAllString(out, -1)); n != 1 && !(c.fails && n == 2) {
					t.Errorf("%d lines match %s", n, want)
				}
			}
			for _, not := range c.never {
				if strings.Contains(out, not) {
					t.Errorf("it says %s", not)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestInfo: SHMEM_INFO lists every setting for users, once, with its value and its effect.
func TestInfo(t *testing.T) {
	program := linked(t, "environment.c")
	out, err := runPair(t, filepath.Dir(library(t, "libshmem.so")), []string{"SHMEM_INFO=1", "SHMEM_TIMEOUT=77"}, program)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range config.Table {
		s := &config.Table[i]
		if s.Category == config.Launcher {
			continue
		}
		if n := strings.Count(out, "\n"+s.Name+"="); n != 1 {
			t.Errorf("%s is listed %d times", s.Name, n)
		}
		if !strings.Contains(out, s.Text) {
			t.Errorf("%s: what it does is not said", s.Name)
		}
	}
	if !strings.Contains(out, "\nSHMEM_TIMEOUT=77  [from SHMEM_TIMEOUT") || !strings.Contains(out, "\nSHMEM_INFO=1 ") {
		t.Error("what is set is not shown")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// runPair runs a program on two PEs without any setting but those given.
func runPair(t *testing.T, libraries string, env []string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(libraries, "..", "bin", "shmemrun"), append([]string{"-n", "2"}, argv...)...)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.Contains(name, "SHMEM_") && !strings.HasPrefix(name, "SMA_") {
			run.Env = append(run.Env, v)
		}
	}
	run.Env = append(run.Env, env...)
	out, err := run.CombinedOutput()
	return string(out), err
}
