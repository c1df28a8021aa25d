package start

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// clearenv leaves environ NULL: there are no variables, so every setting has its default and no
// launcher is detected.
func TestClearedEnvironment(t *testing.T) {
	program := compile(t, "bare")
	for _, args := range [][]string{nil, {"plain"}} {
		if e := run(t, []string{"SHMEM_SYMMETRIC_SIZE=nonsense"}, program, args...); e.status != 0 || e.out != "PE 0 of 1 done\n" {
			t.Errorf("%s: status %d\n%s", strings.Join(args, " "), e.status, e.out)
		}
	}
}

// Without the address space that the library needs, the first call reports it, and the program
// continues or ends as it decides.
func TestLittleAddressSpace(t *testing.T) {
	program := compile(t, "bare")
	want := regexp.MustCompile(`^shmem: shmem(x_get_uniqueid|_init): \S*libshmem_core.so cannot be loaded: it needs \d+ MiB of address space, ` +
		`and RLIMIT_AS of \d+ MiB does not leave as much \(raise the limit with ulimit -v\)\n$`)
	for _, limit := range []string{"400000", "840000", "1300000"} {
		for status, args := range map[int][]string{3: nil, 1: {"plain"}} {
			e := run(t, nil, "sh", append([]string{"-c", "ulimit -v " + limit + `; exec "$0" "$@"`, program}, args...)...)
			if e.status != status || !want.MatchString(e.out) {
				t.Errorf("%s KiB: status %d, want %d\n%s", limit, e.status, status, e.out)
			}
		}
	}
}

// Without the threads or the descriptors that the library needs the same holds: the Go runtime,
// which would end the process with a trace, is not started.
func TestFewThreads(t *testing.T) {
	need.Root(t) // to become a user that has no processes and may read this one's files
	setpriv, prlimit := need.Command(t, "setpriv"), need.Command(t, "prlimit")
	program := compile(t, "bare")
	want := regexp.MustCompile(`^shmem: shmem_init: \S*libshmem_core.so cannot be loaded: it needs \d+ threads and gets [012]: Resource temporarily unavailable; ` +
		`RLIMIT_NPROC is [123] for all processes of user 54321 \(raise the limit with ulimit -u, or that of the container or control group, pids.max\)\n$`)
	for _, limit := range []string{"1", "2", "3"} {
		e := run(t, nil, setpriv, "--reuid=54321", "--regid=54321", "--clear-groups",
			"--inh-caps=-all,+dac_override,+dac_read_search", "--ambient-caps=-all,+dac_override,+dac_read_search",
			prlimit, "--nproc="+limit, program, "plain")
		if e.status != 1 || !want.MatchString(e.out) {
			t.Errorf("%s threads: status %d\n%s", limit, e.status, e.out)
		}
	}
}

// No thread has a stack as small as the thread-local variables then are.
func TestManyThreadLocals(t *testing.T) {
	if e := run(t, nil, compile(t, "local")); e.status != 0 || e.out != "PE 0 of 1 done\n" {
		t.Errorf("status %d\n%s", e.status, e.out)
	}
}

func TestFewDescriptors(t *testing.T) {
	program := compile(t, "bare")
	want := regexp.MustCompile(`^shmem: shmem_init: \S*libshmem_core.so cannot be loaded: it needs \d+ open files, and RLIMIT_NOFILE of \d+ leaves \d+ ` +
		`\(raise the limit with ulimit -Hn\)\n$`)
	for limit := 4; limit < 12; limit++ {
		e := run(t, nil, "sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" plain`, limit), program)
		if e.status != 1 || !want.MatchString(e.out) {
			t.Errorf("%d open files: status %d\n%s", limit, e.status, e.out)
		}
	}
	// A limit that is low at first and may be raised is enough.
	if e := run(t, nil, "sh", "-c", `ulimit -Hn 64; ulimit -Sn 5; exec "$0" plain`, program); e.status != 0 {
		t.Errorf("status %d\n%s", e.status, e.out)
	}
}
