package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
)

// TestThunks shows a reviewer, in the diff of three golden files, what a change does to the C
// functions, which a build makes and which are not committed: an atomic operation with contexts, a
// reduction with its loop, and an extension of the surface above.
func TestThunks(t *testing.T) {
	for _, golden := range []struct {
		surface *spec.Surface
		file    string // the chapter
		row     string
	}{
		{spec.Shmem, "atomics", "atomic_compare_swap"},
		{spec.Shmem, "reduce", "sum_reduce"},
		{spec.Nvshmem, "stream", "put_signal"},
	} {
		s := golden.surface
		path := filepath.Join("testdata", "thunks", s.Name+"_"+golden.row+".c")
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := rowThunks(t, s, golden.file, golden.row)
			built := func(f file) bool { return f.Path == thunkFile(s, golden.file) && strings.Contains(f.Text, got) }
			if !slices.ContainsFunc(madeFiles(s), built) {
				t.Errorf("%s, which a build makes, lacks these functions:\n%.400s", thunkFile(s, golden.file), got)
			}
			got = banner("/* ", " */") + got
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is out of date (run: go test ./capi/gen -run TestThunks -rewrite)\n%.4000s", path, got)
			}
		})
	}
}

// rowThunks returns the C functions of one row of a chapter, or of the extensions for the file
// stream.
func rowThunks(t *testing.T, s *spec.Surface, chapter, row string) string {
	t.Helper()
	var b strings.Builder
	if chapter == "stream" {
		extensions := s.Extensions()
		for i := range extensions {
			if extensions[i].Name == row {
				extensionThunk(&b, &extensions[i])
			}
		}
	}
	for _, c := range s.Chapters() {
		for i := range c.Families {
			if c.File == chapter && c.Families[i].Name == row {
				familyThunks(&b, &c.Families[i], c.Range, genericNames(s))
			}
		}
	}
	if b.Len() == 0 {
		t.Fatalf("%s of %s has no row %s with functions", chapter, s.Name, row)
	}
	return b.String()
}
