package start

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestClosedStreams: in a program that was started without standard streams, the library opens no
// file in their place, where the program's output would go into it.
func TestClosedStreams(t *testing.T) {
	program, shmemrun := compile(t, "closed"), filepath.Join(need.Build(t), "bin", "shmemrun")
	const without = `exec "$@" 0<&- 1>&- 2>&-`
	for _, started := range [][]string{
		{"sh", "-c", without, "sh"},
		{shmemrun, "-n", "2", "sh", "-c", without, "sh"},
		{shmemrun, "-n", "2", "--hosts", "2", "sh", "-c", without, "sh"},
		{"sh", "-c", without, "sh", shmemrun, "-n", "2", "sh", "-c", without, "sh"},
	} {
		if e := run(t, nil, started[0], append(started[1:], program)...); e.status != 0 {
			t.Errorf("%s: status %d\n%s", strings.Join(started, " "), e.status, e.out)
		}
	}
}
