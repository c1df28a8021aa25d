package failure

import (
	"regexp"
	"testing"
)

// TestCallInHandler: a call in a signal handler that has interrupted another call while it had the
// network ends the job and names the two. Else it would wait for its own thread for ever.
func TestCallInHandler(t *testing.T) {
	shmemrun, program := compile(t, "interrupt")
	route := networks(t, list(tcp, []string{"--hosts", "2"}), false)[0]
	for during, call := range map[string]string{
		"put": "shmem_putmem", "wait": "shmem_(long_wait_until|long_p)", "test": "shmem_long_test", "fetch": "shmem_signal_fetch",
	} {
		t.Run(during, func(t *testing.T) {
			out := start(t, []string{"SHMEM_TIMEOUT=1"}, shmemrun, list(options("2", route.options...), []string{program, during})...).wait(134)
			want := regexp.MustCompile(`shmem: PE 0: shmem_long_p: it is called by a signal handler that has interrupted ` + call +
				` \(let the handler set a flag, and call the library afterwards\)\n`)
			if !want.MatchString(out) {
				t.Errorf("want %v:\n%s", want, out)
			}
		})
	}
}
