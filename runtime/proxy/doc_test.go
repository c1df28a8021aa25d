package proxy

import (
	"os"
	"regexp"
	"testing"
)

// TestDocNamesFiles: the package comment leads through files that are there.
func TestDocNamesFiles(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`[a-z_]+\.go\b`).FindAllString(string(doc), -1)
	if len(names) < 20 {
		t.Errorf("the package comment names %d files", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("the package comment names a file that is not there: %v", err)
		}
	}
}
