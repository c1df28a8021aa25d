package perf

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"libshmem/cmd/internal/figure"
)

// plot is the command --plot: it writes the page that draws the figures of files, and returns the
// exit status.
func plot(s *settings, stdout, stderr io.Writer) int {
	var sets []*figure.Set
	for _, name := range s.args {
		set, err := figure.Load(name)
		if err != nil {
			return fail(stderr, statusUsage, err)
		}
		sets = append(sets, set)
	}
	name := filepath.Join(s.plot, "index.html")
	err := os.MkdirAll(s.plot, 0o777)
	var file *os.File
	if err == nil {
		file, err = os.Create(name)
	}
	if err == nil {
		err = figure.Page(file, sets)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		return fail(stderr, statusWorse, fmt.Errorf("write page: %w (choose another folder)", err))
	}
	fmt.Fprintln(stdout, name)
	return statusOK
}
