package run

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// Two networks of 200 Mb/s carry almost twice the data of one, in both directions, however operations
// are spread over them.
func TestTwoLinks(t *testing.T) {
	need.Namespaces(t)
	build := need.Build(t)
	program := cc.Program(t, build, "../rails/stream.c")
	speed := regexp.MustCompile(`(put|get) ([0-9.]+) Mb/s`)
	run := func(links int, policy string) (put, get float64) {
		cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--hosts", "2", "--host-netns",
			"--links", fmt.Sprintf("%d,rate=200mbit", links), "--timeout", "60", "-x", "SHMEM_DEBUG=1", "-x", "SHMEM_LOG_LEVEL=info",
			"-x", "SHMEM_NIC_POLICY="+policy, program)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%d links: %v\n%s", links, err, out)
		}
		banner := "on eth0\n"
		if links > 1 {
			banner = "on eth0,eth1, policy " + policy + "\n"
		}
		if !strings.Contains(string(out), banner) {
			t.Fatalf("%d links: no %q in\n%s", links, banner, out)
		}
		for _, m := range speed.FindAllStringSubmatch(string(out), -1) {
			v, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			if m[1] == "put" {
				put = v
			} else {
				get = v
			}
		}
		return put, get
	}
	// The machine has other load: the best of a few.
	best := func(links int, policy string, wantPut, wantGet float64) (put, get float64) {
		for try := 0; try < 3 && (put < wantPut || get < wantGet); try++ {
			p, g := run(links, policy)
			put, get = max(put, p), max(get, g)
		}
		return put, get
	}
	// Mb/s of one link, and the factor of two. A link that gets twice as much as the other makes it 1.5.
	// On two processors beside four busy loops it was 1.87 once.
	const full, times = 0.95 * 200, 1.6
	onePut, oneGet := best(1, "auto", full, full)
	for _, policy := range []string{"auto", "split", "round-robin"} {
		put, get := best(2, policy, times*onePut, times*oneGet)
		t.Logf("%s: put %.0f Mb/s with one link, %.0f with two: %.2f; get %.0f and %.0f: %.2f",
			policy, onePut, put, put/onePut, oneGet, get, get/oneGet)
		if put < times*onePut || get < times*oneGet {
			t.Errorf("%s: two links are less than %.1f times one", policy, times)
		}
	}
}
