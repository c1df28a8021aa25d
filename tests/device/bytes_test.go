package device

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// marker is a line of the preprocessor that names the file of the next lines, with a 1 where that
// file begins.
var marker = regexp.MustCompile(`^# \d+ "(.+?)"( 1)?`)

// emitted returns the bytes that the preprocessor emits for each of the library's own headers, without
// indentation and empty lines, and the names of the foreign headers that these include directly.
func emitted(text string) (bytes map[string]int, others []string) {
	bytes = map[string]int{}
	own := func(file string) bool {
		return strings.HasPrefix(file, "../../include/") || strings.HasPrefix(file, "../../device/")
	}
	file := ""
	for line := range strings.Lines(text) {
		if m := marker.FindStringSubmatch(line); m != nil {
			if m[2] != "" && own(file) && !own(m[1]) {
				others = append(others, filepath.Base(m[1]))
			}
			file = m[1]
		} else if line = strings.TrimSpace(line); line != "" && own(file) {
			bytes[strings.TrimPrefix(file, "../../")] += len(line)
		}
	}
	slices.Sort(others)
	return bytes, slices.Compact(others)
}

// TestBytes compares the bytes that a compiler reads of the library's headers with limits. The time
// that it takes depends on the machine and its load; these bytes do not.
func TestBytes(t *testing.T) {
	// The pass for a GPU, which nvcc -E shows.
	cuda := []string{need.NVCC(t), "-x", "cu", "-std=c++17", "-arch=sm_90", "-ccbin", cc.C(), "-E", "-"}
	c := []string{cc.C(), "-x", "c", "-std=c11", "-E", "-"}
	cxx := []string{cc.CXX(), "-x", "c++", "-std=c++17", "-E", "-"}
	for _, row := range []struct {
		name    string
		command []string
		text    string
		limit   int    // 1 percent above the sum when it was set
		others  string // the foreign headers that the library's own may include
	}{
		{"shmem.cuh", cuda, "#include <shmem/shmem.cuh>\n", 1_603_000, "assert.h cuda_runtime_api.h sched.h stddef.h stdint.h"},
		{"nvshmem.h", cuda, "#include <nvshmem.h>\n#include <nvshmemx.h>\n", 1_266_000,
			"assert.h cooperative_groups.h cuda.h cuda_bf16.h cuda_fp16.h cuda_runtime_api.h reduce.h stddef.h stdint.h stdlib.h"},
		{"shmem.h in C", c, "#include <shmem.h>\n", 209_000, "stddef.h stdint.h"},
		{"shmem.h in C++", cxx, "#include <shmem.h>\n", 375_000, "complex stddef.h stdint.h"},
		{"shmemx.h in C", c, "#include <shmemx.h>\n", 283_000, "stddef.h stdint.h"},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, err := compile(append([]string{row.command[0], "-I../../include/nvshmem"}, row.command[1:]...), row.text)
			if err != nil {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			bytes, others := emitted(string(out))
			sum := 0
			for _, n := range bytes {
				sum += n
			}
			if sum > row.limit || sum < row.limit*19/20 {
				t.Errorf("preprocess %s: its headers have %d bytes, and the limit is %d: %s (shorten what grew; for names that users get, set the limit 1 percent above the sum)",
					row.name, sum, row.limit, largest(bytes))
			}
			for _, h := range others {
				if !slices.Contains(strings.Fields(row.others), h) {
					t.Errorf("preprocess %s: it includes <%s>, which each of its users then compiles (leave it out, or add it to the row with its time)", row.name, h)
				}
			}
		})
	}
}

// largest lists the headers with the most bytes.
func largest(bytes map[string]int) string {
	files := slices.SortedFunc(maps.Keys(bytes), func(a, b string) int { return cmp.Compare(bytes[b], bytes[a]) })
	var out []string
	for _, file := range files[:min(len(files), 8)] {
		out = append(out, fmt.Sprint(file, " ", bytes[file]))
	}
	return strings.Join(out, ", ")
}
