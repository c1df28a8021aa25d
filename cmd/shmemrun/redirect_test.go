package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRedirect: the shim comes first and once, and what the user has set stays.
func TestRedirect(t *testing.T) {
	lib := t.TempDir()
	shim := filepath.Join(lib, "libshmem_preload.so")
	if _, err := redirect(nil, lib); err == nil || !strings.Contains(err.Error(), "install libshmem again") {
		t.Errorf("without a shim: %v", err)
	}
	if _, err := redirect(nil, ""); err == nil || !strings.Contains(err.Error(), "no libshmem.so beside") {
		t.Errorf("without a library: %v", err)
	}
	if err := os.WriteFile(shim, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, mode, libraries string }{
		{"", "redirect", shim},
		{"SHMEM_PRELOAD=trace,file=/d", "redirect+trace,file=/d", shim},
		{"SHMEM_PRELOAD=trace+redirect", "trace+redirect", shim},
		{"SHMEM_PRELOAD=redirect,library=/x/libshmem.so", "redirect,library=/x/libshmem.so", shim},
		{"LD_PRELOAD=/a.so:/b.so", "redirect", shim + ":/a.so:/b.so"},
		{"LD_PRELOAD=/old/libshmem_preload.so /b.so", "redirect", shim + ":/b.so"},
		{"SHMEM_PRELOAD=early SHMEM_PRELOAD=trace", "redirect+trace", shim},
	} {
		var env []string
		for _, v := range strings.SplitAfter(c.env, " ") {
			if name, _, ok := strings.Cut(v, "="); ok && !strings.HasPrefix(name, "/") {
				env = append(env, strings.TrimSuffix(v, " "))
			} else if v != "" {
				env[len(env)-1] += " " + v
			}
		}
		got, err := redirect(slices.Clone(env), lib)
		if err != nil || last(got, "SHMEM_PRELOAD") != c.mode || last(got, "LD_PRELOAD") != c.libraries {
			t.Errorf("%q: %v, SHMEM_PRELOAD=%s LD_PRELOAD=%s, want %s and %s", c.env, err, last(got, "SHMEM_PRELOAD"), last(got, "LD_PRELOAD"), c.mode, c.libraries)
		}
	}
}
