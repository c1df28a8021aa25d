package place

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A tree of processes: which of them has the same place as this one, process 9.
func TestAncestor(t *testing.T) {
	type process struct {
		pid, parent   int
		environ, maps string
	}
	const place, core = "PMIX_NAMESPACE=a\x00PMIX_RANK=3\x00", "7f00-7f01 r-xp 0 0 0 /opt/lib/libshmem_core.so\n"
	launcher := process{2, 1, "HOME=/\x00", ""}
	for _, c := range []struct {
		what string
		tree []process
		want int
	}{
		{"the launcher has started it", []process{launcher, {9, 2, place, ""}}, 0},
		{"a shell has", []process{launcher, {3, 2, place, "libc.so\n"}, {9, 3, place, ""}}, 0},
		{"a PE has", []process{launcher, {3, 2, place, core}, {9, 3, place, ""}}, 3},
		{"a shell of a PE has", []process{launcher, {3, 2, place, core}, {4, 3, place, ""}, {9, 4, place, ""}}, 3},
		{"another PE has", []process{launcher, {3, 2, "PMIX_NAMESPACE=a\x00PMIX_RANK=2\x00", core}, {9, 3, place, ""}}, 0},
		{"a launcher that a PE has started", []process{launcher, {3, 2, "PMIX_NAMESPACE=b\x00PMIX_RANK=3\x00", core}, {4, 3, "", ""}, {9, 4, place, ""}}, 0},
		{"the launcher has the library", []process{{2, 1, "", core}, {9, 2, place, ""}}, 0},
		{"a PE is the first process of a container", []process{{1, 0, place, core}, {9, 1, place, ""}}, 1},
		{"no process can be seen", []process{{9, 7, place, ""}}, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			proc := t.TempDir()
			for _, p := range c.tree {
				dir := filepath.Join(proc, fmt.Sprint(p.pid))
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				for name, text := range map[string]string{
					"environ": p.environ, "maps": p.maps, "stat": fmt.Sprintf("%d (a ) S b) S %d 1 1 0", p.pid, p.parent),
				} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			env := map[string]string{"PMIX_NAMESPACE": "a", "PMIX_RANK": "3"}
			got, ok := ancestor(proc, 9, env, []string{"PMIX_NAMESPACE", "PMIX_RANK"})
			if got != c.want || ok != (c.want != 0) {
				t.Errorf("%d, %v, not %d", got, ok, c.want)
			}
		})
	}
}
