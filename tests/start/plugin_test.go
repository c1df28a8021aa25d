package start

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// shared builds a library of C.
func shared(t *testing.T, source string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plugin.so")
	if text, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-I../../include",
		"-o", out, source).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, text)
	}
	return out
}

// The example, with a program that knows nothing of it.
func TestPlugin(t *testing.T) {
	program, plugin := compile(t, "plain"), shared(t, "../../examples/plugins/bootstrap/plugin.c")
	for _, c := range []struct {
		pes  int
		want string
	}{
		{3, "bootstrap plugin;"},
		// Of 3. On a busy machine PE 1 may not have come yet either.
		{2, `PE [12] did not come within 1s`},
	} {
		file := filepath.Join(t.TempDir(), "job")
		ends := make([]ending, c.pes)
		var wg sync.WaitGroup
		for pe := range ends {
			wg.Go(func() {
				env := []string{"SHMEM_DEBUG=1", "SHMEM_BOOTSTRAP_PLUGIN=" + plugin, "MYJOB_FILE=" + file, "MYJOB_SIZE=3", fmt.Sprintf("MYJOB_RANK=%d", pe)}
				if c.pes < 3 {
					env = append(env, "SHMEM_BOOTSTRAP_TIMEOUT=1")
				}
				ends[pe] = run(t, env, program)
			})
		}
		wg.Wait()
		for pe, e := range ends {
			if (e.status == 0) != (c.pes == 3) || c.pes == 3 && !strings.Contains(e.out, fmt.Sprintf("PE %d of 3 done", pe)) {
				t.Errorf("PE %d: status %d\n%s", pe, e.status, e.out)
			}
		}
		// The first PE that gives up ends the others.
		if said := ends[0].out + ends[1].out; !regexp.MustCompile(c.want).MatchString(said) {
			t.Errorf("nobody says %s:\n%s", c.want, said)
		}
	}
}

func TestPluginRefused(t *testing.T) {
	program, example, lacks := compile(t, "plain"), shared(t, "../../examples/plugins/bootstrap/plugin.c"), shared(t, "testdata/lacks.c")
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"SHMEM_BOOTSTRAP_PLUGIN=/nosuch.so"}, "plugin /nosuch.so: /nosuch.so: cannot open"},
		{[]string{"SHMEM_BOOTSTRAP_PLUGIN=" + lacks}, "it has no function shmemx_bootstrap_barrier"},
		{[]string{"SHMEM_BOOTSTRAP_PLUGIN=" + example}, "it says that this is PE -1 of -1"},
	} {
		if e := run(t, c.env, program); e.status == 0 || !strings.Contains(e.out, c.want) {
			t.Errorf("%v: status %d:\n%s", c.env, e.status, e.out)
		}
	}
}
