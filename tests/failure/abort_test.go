package failure

import (
	"strings"
	"testing"
	"time"
)

// TestAbortFlushes has a PE abort the job while stdio holds output of the program. The output
// appears if no other thread can be using stdout, and the PE never hangs.
func TestAbortFlushes(t *testing.T) {
	shmemrun, program := compile(t, "abort")
	const text, reason = "the last that PE 0 printed", "shmem: PE 0: shmem_int_p: PE 2 does not exist"
	for _, c := range []struct {
		where   string
		flushes bool
	}{
		{"plain", true}, {"thread", true},
		{"locked", false}, {"own", false}, {"handler", false}, {"stack", false},
	} {
		t.Run(c.where, func(t *testing.T) {
			began := time.Now()
			j := start(t, nil, shmemrun, "-n", "2", program, c.where)
			out := j.wait(134)
			if !strings.Contains(out, reason) {
				t.Errorf("nothing says %q:\n%s", reason, out)
			}
			if strings.Contains(out, text) != c.flushes {
				t.Errorf("what the program printed: want it to come %v:\n%s", c.flushes, out)
			}
			if took := time.Since(began); took > limit/4 {
				t.Errorf("the job took %v", took)
			}
		})
	}
	// The child's parent will print it, too.
	t.Run("child", func(t *testing.T) {
		j := start(t, nil, shmemrun, "-n", "1", program, "child")
		out := j.wait(0)
		if !strings.Contains(out, "child forked after shmem_init") || strings.Contains(out, text) {
			t.Errorf("the child says:\n%s", out)
		}
	})
}

// TestAbortReasonFirst: shmemrun reports that a PE aborted the job only after it has passed on the
// PE's own report.
func TestAbortReasonFirst(t *testing.T) {
	shmemrun, program := compile(t, "abort")
	for range 20 {
		out := start(t, nil, shmemrun, "-n", "2", program, "plain").wait(134)
		reason, aborted := strings.Index(out, "shmem: PE 0: shmem_int_p: "), strings.Index(out, "shmemrun: PE 0 aborted the job")
		if reason < 0 || aborted < reason {
			t.Fatalf("the reason does not come first:\n%s", out)
		}
	}
}
