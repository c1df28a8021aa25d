package start

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"libshmem/tests/cc"
)

// shared builds a library of C.
func shared(t *testing.T, source string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plugin.so")
	cc.Source(t, out, source, "-shared", "-fPIC")
	return out
}

// The example plugin, with a program that is not written for it.
func TestPlugin(t *testing.T) {
	program, plugin := compile(t, "plain"), shared(t, "../../examples/plugins/bootstrap/plugin.c")
	for _, c := range []struct {
		pes  int
		want string
	}{
		{3, "bootstrap plugin;"},
		// Of 3. On a busy machine PE 1 may not have arrived yet either.
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
			t.Errorf("no PE says %s:\n%s", c.want, said)
		}
	}
}

// The example plugin waits for its timeout and not for a number of sleeps, however long these take.
func TestPluginTimeout(t *testing.T) {
	program := filepath.Join(t.TempDir(), "late")
	cc.Source(t, program, "testdata/late.c", "-I../../include")
	env := []string{"MYJOB_FILE=" + filepath.Join(t.TempDir(), "job"), "MYJOB_SIZE=2", "MYJOB_RANK=0"}
	if e := run(t, env, program); e.status != 0 || e.out != "barrier 2, allgather 2: in time\n" {
		t.Errorf("status %d: %s", e.status, e.out)
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

// Each function of a plugin fails, at once or later; and its abort is called, with the status and
// the reason, when a PE ends the job or the library does.
func TestPluginFails(t *testing.T) {
	program, plugin := compile(t, "plain"), shared(t, "testdata/sick.c")
	const of3 = ", expected 0, or 1 to 3 for the PE that did not come"
	for _, c := range []struct {
		env      []string
		arg      string
		want     string
		finalize bool
	}{
		{[]string{"SICK=rank"}, "", "it says that this is PE -3 of 3 (PEs are numbered from 0", false},
		{[]string{"SICK=size"}, "", "of 0 (PEs are numbered from 0", false},
		{[]string{"SICK=allgather"}, "", "shmem_init: join job: shmemx_bootstrap_allgather of the plugin returned -7" + of3, false},
		{[]string{"SICK=allgather", "SICK_AFTER=2"}, "", "allgather 1: shmemx_bootstrap_allgather of the plugin returned -7" + of3, false},
		{[]string{"SICK=barrier"}, "", "finalize: barrier 2: shmemx_bootstrap_barrier of the plugin returned -8" + of3, true},
		{nil, "exit", "plugin: abort 5: shmem_global_exit", false},
		{[]string{"SICK=abort"}, "exit", "plugin: abort 5: shmem_global_exit", false},
		{nil, "wrong", "plugin: abort 134: ", false},
		{[]string{"SICK=abort"}, "wrong", "plugin: abort 134: ", false},
	} {
		t.Run(strings.Join(append(c.env, c.arg), " "), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "job")
			ends := make([]ending, 3)
			all(t, len(ends), func(pe int) {
				env := append([]string{"SHMEM_BOOTSTRAP_TIMEOUT=10", "SHMEM_BOOTSTRAP_PLUGIN=" + plugin, "MYJOB_FILE=" + file, "MYJOB_SIZE=3", fmt.Sprintf("MYJOB_RANK=%d", pe)}, c.env...)
				ends[pe] = run(t, env, program, c.arg)
			})
			out := ""
			for pe, e := range ends {
				// shmem_finalize has no status: it prints the failure.
				if out += e.out; (e.status == 0) != c.finalize {
					t.Errorf("PE %d: status 0:\n%s", pe, e.out)
				}
			}
			if !strings.Contains(out, c.want) {
				t.Errorf("no PE says %q:\n%s", c.want, out)
			}
			if c.arg == "exit" && ends[1].status != 5 {
				t.Errorf("PE 1 ends with %d, not 5:\n%s", ends[1].status, out)
			}
		})
	}
}
