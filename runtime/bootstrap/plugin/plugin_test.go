package plugin

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"libshmem/tests/cc"
)

// TestLate: a plugin that exceeds its limit is reported while it runs, and goes on.
func TestLate(t *testing.T) {
	dir := t.TempDir()
	file, goes := filepath.Join(dir, "slow.so"), filepath.Join(dir, "go")
	cc.Run(t, cc.C(), "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", file, "testdata/slow.c")
	t.Setenv("SLOW_GO", goes)
	said := make(chan string, 9)
	p, err := Join(file, 20*time.Millisecond, func(text string) {
		said <- text
		if err := os.WriteFile(goes, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := "join job: shmemx_bootstrap_allgather of the plugin has not returned within 20ms (find out what it waits for; the wait goes on)", <-said; got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
	if all, err := p.Allgather([]byte("mine")); err != nil || len(all) != 2 || string(all[1]) != "mine" {
		t.Errorf("after that: %q, %v", all, err)
	}
}
