package front

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"libshmem/tests/cc"
)

// TestRecord: between the mark that takes a record back and the first change of the record, a PE
// that enters an agreement has a barrier for its stores. It reads what the last passes over trees
// leave, because x86-64 needs no instruction there.
func TestRecord(t *testing.T) {
	if exec.Command(cc.C(), "-fdump-tree-optimized=/dev/null", "-E", "-x", "c", "/dev/null").Run() != nil {
		t.Skip("the compiler is not gcc: it does not show its trees")
	}
	args := append([]string{"-fPIC", "-S", "-fdump-tree-optimized=/dev/stdout", "-o", filepath.Join(t.TempDir(), "trees"),
		"../../capi/front/agree.c"}, flags...)
	out, err := exec.Command(cc.C(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, body, found := strings.Cut(string(out), ";; Function shmemi_agree ")
	body, _, _ = strings.Cut(body, ";; Function ")
	step := regexp.MustCompile(`(?m)^ +(__atomic_store_8 \(\S+, 0,|__atomic_thread_fence \([345]\)|memcpy )`)
	var steps []string
	for _, m := range step.FindAllStringSubmatch(body, 3) {
		steps = append(steps, m[1][:strings.IndexByte(m[1], ' ')])
	}
	if got := strings.Join(steps, ", "); !found || got != "__atomic_store_8, __atomic_thread_fence, memcpy" {
		t.Errorf("shmemi_agree begins with %s, want the mark 0, a barrier, the copy\n%s", got, body)
	}
}
