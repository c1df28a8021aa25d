package spec

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// deviceStandard reads the list that the device interface is held against.
func deviceStandard(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/device.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		if name, _, _ := strings.Cut(line, "\t"); !strings.HasPrefix(line, "#") {
			names = append(names, name)
		}
	}
	if len(names) < 2500 {
		t.Fatalf("read testdata/device.tsv: %d names", len(names))
	}
	return names
}

// TestDeviceComplete: each name of the list is in the table, or the table says
// why not; and the table has few of its own.
func TestDeviceComplete(t *testing.T) {
	have := map[string]bool{}
	for _, name := range Shmem.KernelNames() {
		if have[name] {
			t.Errorf("%s: two rows make this name", name)
		}
		have[name] = true
	}
	used := make([]int, len(KernelLater))
	listed := map[string]bool{}
	for _, name := range deviceStandard(t) {
		listed[name] = true
		later := -1
		for i, l := range KernelLater {
			if regexp.MustCompile("^(" + l.Pattern + ")$").MatchString(name) {
				later = i
				used[i]++
			}
		}
		switch {
		case have[name] && later >= 0:
			t.Errorf("%s: is there, and %q says that it is not", name, KernelLater[later].Pattern)
		case !have[name] && later < 0:
			t.Errorf("%s: is not there, and KernelLater does not say why", name)
		}
	}
	for i, n := range used {
		if n == 0 {
			t.Errorf("%q: no name is meant", KernelLater[i].Pattern)
		}
	}
	// Calls of OpenSHMEM 1.6 that NVSHMEM's kernels do not have, and extensions of the library's own.
	own := regexp.MustCompile(`^shmemx?_(signal_(set|add|op)|sync(_warp|_block)?|eager_\w+|(ctx_)?putmem_notify\w*|notify_(wait|test|fetch|reset))$`)
	for name := range have {
		if !listed[name] && !own.MatchString(name) {
			t.Errorf("%s: is in no list", name)
		}
	}
}

// TestTemplateNumbers: templates by hand pass their numbers.
func TestTemplateNumbers(t *testing.T) {
	text, err := os.ReadFile("../../device/shmem/eager.cuh")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range KernelTemplates {
		body := regexp.MustCompile(name + `\([^{]*\{\s[^}]*SHMEMI_JOB, (0x\w+)u,`).FindSubmatch(text)
		if body == nil || string(body[1]) != fmt.Sprintf("%#x", CallNumber(name)) {
			t.Errorf("%s does not pass its number, %#x", name, CallNumber(name))
		}
	}
}

// TestCallNumbers: a report's number means one function.
func TestCallNumbers(t *testing.T) {
	seen := map[uint32]string{}
	for _, name := range Shmem.KernelNames() {
		n := CallNumber(name)
		if other := seen[n]; other != "" {
			t.Errorf("%s and %s: both are %#x", name, other, n)
		}
		if n == 0 {
			t.Errorf("%s: is 0, which means no call", name)
		}
		seen[n] = name
	}
	// The published value of the hash.
	if n := CallNumber("foobar"); n != 0xbf9cf968 {
		t.Errorf("CallNumber(foobar) = %#x, want 0xbf9cf968", n)
	}
}

// TestDeviceLikeHost: a name that both sides have takes and answers the same.
func TestDeviceLikeHost(t *testing.T) {
	host := map[string]Function{}
	for _, c := range Shmem.Chapters() {
		for i := range c.Families {
			for _, f := range c.Families[i].Functions() {
				host[f.Name] = f
			}
		}
	}
	both := 0
	for _, c := range Shmem.Kernels() {
		for _, k := range c.Families {
			for _, d := range k.Functions() {
				h, ok := host[d.Name]
				// These take an active set at the host, and a team in kernels.
				if !ok || d.Name == "shmem_barrier" || d.Name == "shmem_sync" {
					continue
				}
				both++
				result := d.Family.Result
				if result == "" {
					result = "void"
				}
				if h.Result() != result {
					t.Errorf("%s: answers %s on the host, %s in a kernel", d.Name, h.Result(), result)
				}
				hp, dp := h.Params(), d.Params()
				if len(hp) != len(dp) {
					t.Errorf("%s: %d parameters on the host, %d in a kernel", d.Name, len(hp), len(dp))
					continue
				}
				for k := range hp {
					if hp[k].C != dp[k].C {
						t.Errorf("%s: parameter %d is %s on the host, %s in a kernel", d.Name, k+1, hp[k].C, dp[k].C)
					}
				}
			}
		}
	}
	if both < 500 {
		t.Errorf("%d names on both sides", both)
	}
}
