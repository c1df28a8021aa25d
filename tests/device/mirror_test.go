package device

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/tests/cc"
)

// mirrorSource has a number that is written down twice: the size of the work memory.
const mirrorSource = `#include <shmem/work.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        printf("%llu %llu %llu\n", (unsigned long long)shmemi_work_size(strtoull(argv[i], NULL, 10)),
               (unsigned long long)shmemi_work_buffers(strtoull(argv[i], NULL, 10)),
               (unsigned long long)shmemi_work_team(strtoull(argv[i], NULL, 10)));
    return 0;
}
`

func TestMirrors(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mirror")
	cmd := exec.Command(cc.C(), "-std=gnu11", "-Wall", "-Wextra", "-Werror",
		"-I../../device", "-I../../include", "-I../../abi", "-x", "c", "-o", program, "-")
	cmd.Stdin = strings.NewReader(mirrorSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var args []string
	want := ""
	for _, pes := range []int{1, 2, 3, 8, 32, 33, 64, 100, 1000, 1 << 14, 1 << 20} {
		args = append(args, fmt.Sprint(pes))
		want += fmt.Sprintln(queue.WorkSize(pes), queue.WorkBuffers(pes), queue.WorkTeamSize(pes))
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("sizes for %s PEs: %v\n%swant\n%s", strings.Join(args, ", "), err, out, want)
	}
}
