package stub

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// sanitized are programs in which something is removed or closed that operations use, queues that
// grow, and messages that the target's processor carries out.
var sanitized = []struct{ settings, fabric, what string }{
	{"", direct, "removed-status"},
	{"flush=1", direct, "closed"},
	{"without=R16f", direct, "receive-queue"},
	{"without=R8l", direct, "error-unread"},
	{"nics=2", direct, "two-keys"},
	{"", direct, "bytes"},
	{"version=2.6", rdm, "moves"},
	{"version=2.6", rdm, "seventeenth"},
	{"version=2.6", rdm, "data-source"},
	{"version=2.6", rdm, "cq-full"},
	{"flush=1", rdm, "closed"},
	{"", rdm, "old"},
	{"", rdm, "backoff"},
	{"", rdm, "unexpected"},
	{"without=R16e", rdm, "unexpected"},
	{"", rdm, "data-unlike"},
	{"data_fails_at=1", rdm, "data-failed"},
	{"host=one", rdm, "unpolled-no-cuda"},
	{"p2p=no", rdm, "gpu-apart"},
}

// The library touches no memory that is not its own, and leaves none behind where all is
// closed.
func TestSanitized(t *testing.T) {
	const sanitizer = "-fsanitize=address,undefined"
	// Optimised checks take compilers longest, and an access that is optimised away is not checked.
	flags := []string{sanitizer, "-fno-omit-frame-pointer", "-O0"}
	library := Build(t, flags...)
	closes, pair, breaks := compiled(t, "closes", library, flags...), compiled(t, "pair", library, flags...), compiled(t, "breaks", library, flags...)
	run := func(settings string, argv ...string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		// Programs of breaks end without closing.
		leaks := "ASAN_OPTIONS=detect_leaks=0"
		if argv[0] == closes {
			leaks = "ASAN_OPTIONS=detect_leaks=1"
		}
		cmd.Env = append(os.Environ(), "FAKE_NIC="+settings, leaks)
		out, err := cmd.CombinedOutput()
		if text := string(out); err != nil || strings.Contains(text, "Sanitizer") || strings.Contains(text, "runtime error") {
			t.Errorf("%s with %q: %v\n%s", argv[1:], settings, err, excerpt(text))
		}
	}
	providers, broken := []string{"nics=2", "version=1.22", "provider=cxi", "provider=verbs"}, sanitized
	if need.Left("stub") {
		providers, broken = providers[:1], nil
	}
	for _, settings := range providers {
		run(settings, closes)
		run(settings, pair)
		for _, what := range []string{"send-queue", "no-receive", "receives-late", "receives-never", "gone", "bad-key", "receive-queue", "key"} {
			run(settings, breaks, what)
		}
	}
	for _, s := range broken {
		run(s.settings, breaks, s.what, s.fabric)
	}
}
