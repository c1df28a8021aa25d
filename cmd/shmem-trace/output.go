package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"libshmem/cmd/internal/tracefile"
	"libshmem/runtime/shmerr"
)

// writeWhole writes a file completely or not at all: it writes to another name in the same folder,
// and renames that at the end. A pipe or device is written as it is. It is an error if the file is
// one of the inputs.
func writeWhole(name string, inputs []*tracefile.File, write func(io.Writer) error) error {
	writeError := func(err error) error {
		if p, ok := errors.AsType[*os.PathError](err); ok {
			err = p.Err
		}
		return &shmerr.Error{Op: "write", Object: name, Cause: err, Remedy: "name a file in a folder that can be written and has room"}
	}
	existing, err := os.Stat(name)
	if err == nil {
		for _, f := range inputs {
			if in, err := os.Stat(f.Name); err == nil && os.SameFile(in, existing) {
				return &shmerr.Error{Op: "write", Object: name, Cause: errors.New("it is one of the files that are read"), Remedy: "choose another name, or move that file away"}
			}
		}
		if !existing.Mode().IsRegular() { // a pipe or a device
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return writeError(err)
			}
			return fillAndClose(f, write, writeError)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".shmem-trace-*")
	if err != nil {
		return writeError(err)
	}
	if err = fillAndClose(f, write, writeError); err == nil {
		if err = os.Chmod(f.Name(), modeOf(existing)); err == nil {
			err = os.Rename(f.Name(), name)
		}
		if err != nil {
			err = writeError(err)
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// jsonWriter returns a function that writes value as indented JSON to its argument, for output.
func jsonWriter(value any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(value)
	}
}

// modeOf returns the permissions of the existing file that is replaced; those of a new file if that
// is nil.
func modeOf(existing os.FileInfo) os.FileMode {
	if existing != nil {
		return existing.Mode().Perm()
	}
	return 0o666 &^ umask()
}

// fillAndClose calls write to fill a file, and closes the file. writeError makes the error if the
// file itself could not be written, while an error in reading the trace is returned as it is.
func fillAndClose(f *os.File, write func(io.Writer) error, writeError func(error) error) error {
	w := &errorWriter{w: f}
	out := bufio.NewWriterSize(w, 1<<16)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	closed := f.Close()
	switch {
	case w.err != nil:
		return writeError(w.err)
	case err != nil:
		return err
	case closed != nil:
		return writeError(closed)
	}
	return nil
}

// errorWriter records the error of a write, so that it can be distinguished from an error in
// reading the trace.
type errorWriter struct {
	w   io.Writer
	err error
}

// Write writes, and records an error.
func (f *errorWriter) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.err = errors.Join(f.err, err)
	return n, err
}

// printNotes prints each sentence on a separate line, after the name of the command.
func printNotes(w io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(w, "shmem-trace:", n)
	}
}
