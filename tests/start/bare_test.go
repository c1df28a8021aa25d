package start

import (
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
