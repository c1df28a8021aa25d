package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestMain says at once what TestSurface needs: it would fail after the tests before it, which take
// long.
func TestMain(m *testing.M) {
	flag.Parse()
	build := cmp.Or(os.Getenv("BUILD"), "build")
	if !filepath.IsAbs(build) {
		build = filepath.Join("../..", build)
	}
	launcher := filepath.Join(build, "bin", "shmemrun")
	if _, err := os.Stat(launcher); err != nil && selected("TestSurface") {
		fmt.Printf("TestSurface needs a build: %v (run make build first; go test ./capi/gen -skip TestSurface runs the others)\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// selected reports whether the flags of the test select a function.
func selected(name string) bool {
	is := func(pattern string) bool {
		found, err := regexp.MatchString(pattern, name)
		return err == nil && found
	}
	skip := flag.Lookup("test.skip").Value.String()
	return is(flag.Lookup("test.run").Value.String()) && (skip == "" || !is(skip))
}
