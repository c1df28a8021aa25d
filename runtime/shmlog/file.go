package shmlog

import (
	"fmt"
	"io"
	"os"
)

// file is the file of SHMEM_LOG_FILE. If a record cannot be written, file reports that on stderr,
// with the reason, for the first record of each series of lost ones, and at the end how many were
// lost. Otherwise a user who waits for the next record would search for the fault elsewhere.
type file struct {
	*os.File
	log     *Log // the caller holds its lock
	stderr  io.Writer
	failing bool // the last record was lost
	lost    int  // number of lost records
}

// Write implements io.Writer. It returns no error, because zerolog would report one for every
// record.
func (f *file) Write(p []byte) (int, error) {
	_, err := f.File.Write(p)
	if err != nil {
		f.lost++
		if !f.failing {
			fmt.Fprintf(f.stderr, "shmem: %s: log: %v, records are lost (make room there, or name another file in SHMEM_LOG_FILE)\n", f.log.who.text(), err)
		}
	}
	f.failing = err != nil
	return len(p), nil
}

// Close closes the file, and reports on stderr how many records were lost.
func (f *file) Close() error {
	if f.lost > 0 {
		fmt.Fprintf(f.stderr, "shmem: %s: log: %s lacks %d records\n", f.log.who.text(), f.Name(), f.lost)
	}
	return f.File.Close()
}
