package start

import (
	"regexp"
	"strings"
	"testing"
)

// clearenv leaves environ NULL: there are no variables, so every setting has its default and
// no launcher is seen.
func TestClearedEnvironment(t *testing.T) {
	program := compile(t, "bare")
	for _, args := range [][]string{nil, {"plain"}} {
		if e := run(t, []string{"SHMEM_SYMMETRIC_SIZE=nonsense"}, program, args...); e.status != 0 || e.out != "PE 0 of 1 done\n" {
			t.Errorf("%s: status %d\n%s", strings.Join(args, " "), e.status, e.out)
		}
	}
}

// Without the address space that the library needs for itself, the first call says so, and the
// program goes on or ends as it likes.
func TestLittleAddressSpace(t *testing.T) {
	program := compile(t, "bare")
	want := regexp.MustCompile(`^shmem: shmem(x_get_uniqueid|_init): \S*libshmem_core.so cannot be loaded: it needs \d+ MiB of address space, ` +
		`and RLIMIT_AS of \d+ MiB does not leave as much \(raise the limit by ulimit -v\)\n$`)
	for _, limit := range []string{"400000", "840000", "1300000"} {
		for status, args := range map[int][]string{3: nil, 1: {"plain"}} {
			e := run(t, nil, "sh", append([]string{"-c", "ulimit -v " + limit + `; exec "$0" "$@"`, program}, args...)...)
			if e.status != status || !want.MatchString(e.out) {
				t.Errorf("%s KiB: status %d, want %d\n%s", limit, e.status, status, e.out)
			}
		}
	}
}
