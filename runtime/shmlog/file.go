package shmlog

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// file is a log of its own. A record that cannot be written is reported on stderr, with the reason,
// once: a user who waits for the next record would look for the fault elsewhere.
type file struct {
	*os.File
	of     *Log // whose lock is held
	stderr io.Writer
	told   sync.Once
}

// Write implements io.Writer, and never fails: zerolog would say so for every record.
func (f *file) Write(p []byte) (int, error) {
	if _, err := f.File.Write(p); err != nil {
		f.told.Do(func() {
			fmt.Fprintf(f.stderr, "shmem: %s: log: %v, records are lost (make room there, or name another file by SHMEM_LOG_FILE)\n", f.of.who.text(), err)
		})
	}
	return len(p), nil
}
