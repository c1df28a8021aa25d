package topo

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkReadXML reads the largest machine of testdata; BenchmarkRead of
// runtime/topo/hwloc this one.
func BenchmarkReadXML(b *testing.B) {
	text, err := os.ReadFile(filepath.Join("testdata", "machines", "dgx-h100-like.xml"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ReadXML(text, "dgx"); err != nil {
			b.Fatal(err)
		}
	}
}
