package shmlog

import (
	"fmt"
	"io"
	"os"
)

// file is a log of its own. Records that cannot be written are reported on stderr, with the reason,
// once for each time that the disk fills, and their number at the end: a user who waits for the next
// record would look for the fault elsewhere.
type file struct {
	*os.File
	of      *Log // whose lock is held
	stderr  io.Writer
	failing bool // the last record was lost
	lost    int
}

// Write implements io.Writer, and never fails: zerolog would say so for every record.
func (f *file) Write(p []byte) (int, error) {
	_, err := f.File.Write(p)
	if err != nil {
		f.lost++
		if !f.failing {
			fmt.Fprintf(f.stderr, "shmem: %s: log: %v, records are lost (make room there, or name another file by SHMEM_LOG_FILE)\n", f.of.who.text(), err)
		}
	}
	f.failing = err != nil
	return len(p), nil
}

// Close reports losses.
func (f *file) Close() error {
	if f.lost > 0 {
		fmt.Fprintf(f.stderr, "shmem: %s: log: %s lacks %d records\n", f.of.who.text(), f.Name(), f.lost)
	}
	return f.File.Close()
}
