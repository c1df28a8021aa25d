package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestPreload(t *testing.T) {
	lib := t.TempDir()
	if err := os.WriteFile(filepath.Join(lib, preloadFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(lib, preloadFile)
	for _, c := range []struct {
		env, words, want []string
	}{
		{[]string{"A=1"}, nil, []string{"A=1"}},
		{nil, []string{"trace,file=/d"}, []string{"LD_PRELOAD=" + file, "SHMEM_PRELOAD=trace,file=/d"}},
		{
			[]string{"LD_PRELOAD=/a.so", "SHMEM_PRELOAD=early"}, []string{"trace,file=/d"},
			[]string{"LD_PRELOAD=/a.so", "SHMEM_PRELOAD=early", "LD_PRELOAD=" + file + ":/a.so", "SHMEM_PRELOAD=early+trace,file=/d"},
		},
		{[]string{"SHMEM_PRELOAD=redirect,library=/l.so+early"}, []string{"redirect"}, []string{
			"SHMEM_PRELOAD=redirect,library=/l.so+early", "LD_PRELOAD=" + file, "SHMEM_PRELOAD=redirect,library=/l.so+early",
		}},
		{[]string{"SHMEM_PRELOAD=early"}, []string{"redirect"}, []string{
			"SHMEM_PRELOAD=early", "LD_PRELOAD=" + file, "SHMEM_PRELOAD=early+redirect",
		}},
	} {
		got, err := preloadEnv(c.env, lib, c.words)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q %q: %q, %v; want %q", c.env, c.words, got, err, c.want)
		}
	}
	spaced := filepath.Join(lib, "a b")
	if err := os.Mkdir(spaced, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spaced, preloadFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, lib := range []string{"", t.TempDir(), spaced} {
		if env, err := preloadEnv(nil, lib, []string{"trace"}); err == nil {
			t.Errorf("%q: %q", lib, env)
		}
	}
}

// TestTraceDirectory: a directory becomes absolute, and no part of its path separates words.
func TestTraceDirectory(t *testing.T) {
	words := func(trace string) ([]string, error) {
		var p preloadOptions
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		p.addFlags(fs)
		if err := fs.Parse([]string{"--trace=" + trace}); err != nil {
			t.Fatal(err)
		}
		return p.words(fs)
	}
	home := t.TempDir()
	t.Chdir(home)
	got, err := words("out")
	if want := []string{"trace,file=" + filepath.Join(home, "out")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, name := range []string{"a,b", "a+b"} {
		within := filepath.Join(home, name)
		if err := os.Mkdir(within, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Chdir(within)
		for _, trace := range []string{"out", within, "."} {
			got, err := words(trace)
			if err == nil || !strings.Contains(err.Error(), "in "+within) || !strings.Contains(err.Error(), "separates words of SHMEM_PRELOAD") {
				t.Errorf("--trace %s in %s: %q, %v", trace, within, got, err)
			}
		}
		t.Chdir(home)
	}
}
