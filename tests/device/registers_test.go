package device

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// perThread is the number of registers that a GPU has for each of 1024 threads of a block. nvcc
// does not know how many threads a kernel will have, and a kernel that uses more registers does not
// start.
const perThread = 64

// TestRegisters checks that a kernel that calls a function of block scope can be started with the
// maximum number of threads, on every architecture.
func TestRegisters(t *testing.T) {
	makeTarget(t, "kernels")
	used := regexp.MustCompile(`(?s)Compiling entry function '(\w+)'.*?Used (\d+) registers`)
	for _, arch := range promised {
		for file, least := range map[string]int{"direct.cu": 3, "notify.cu": 1} {
			name := strings.TrimSuffix(file, ".cu") + "." + arch + ".cubin.txt"
			out, err := os.ReadFile(filepath.Join(need.Folder(t), "device", name))
			if err != nil {
				t.Fatalf("read the assembler's report: %v (make kernels writes it)", err)
			}
			var seen []string
			for _, m := range used.FindAllStringSubmatch(string(out), -1) {
				n, err := strconv.Atoi(m[2])
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(m[1], "_block") {
					continue
				}
				seen = append(seen, fmt.Sprintf("%s %d", m[1], n))
				if n > perThread {
					t.Errorf("%s, %s: %d registers, so that blocks of 1024 threads do not start (at most %d)", m[1], arch, n, perThread)
				}
			}
			if len(seen) < least {
				t.Errorf("%s, %s: registers of %v only:\n%s", file, arch, seen, out)
			}
			t.Logf("%s: %s", arch, strings.Join(seen, ", "))
		}
	}
}
