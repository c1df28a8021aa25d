package munge

import (
	"strings"
	"testing"
)

// tests/launchers tests the daemon's part with a daemon of its own: libmunge asks the machine's.
func TestNoLibrary(t *testing.T) {
	for library, want := range map[string]string{
		"libnosuch.so.2": "load libnosuch.so.2: libnosuch.so.2: cannot open shared object file",
		"libc.so.6":      "load libc.so.6: it has no function munge_ctx_create",
	} {
		if err := open(library); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
