package shmlog

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"libshmem"
)

// The parts of a line of text.
const (
	partWho    = "who"
	partSubsys = "subsys"
)

// textWriter returns a writer that turns zerolog's records into lines of text.
func textWriter(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{
		Out: out, NoColor: true,
		PartsOrder:    []string{partWho, partSubsys, zerolog.MessageFieldName},
		FieldsExclude: []string{partWho, partSubsys},
		FormatMessage: func(v any) string { return fmt.Sprint(v) },
		FormatPartValueByName: func(v any, part string) string {
			if part == partWho {
				return fmt.Sprintf("shmem: %v:", v)
			}
			return fmt.Sprintf("%v:", v)
		},
	}
}

// terminal reports whether a file is a terminal.
func terminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// who is the origin of records. A line of text begins with it: host:pid:tid [gpu] PE.
type who struct {
	host string
	pid  int
	gpu  int         // -1: none
	pe   libshmem.PE // -1: not known yet
}

// self describes this process, whose PE and GPU are not known yet.
func self() who {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return who{host, os.Getpid(), -1, libshmem.NoPE}
}

// text returns the beginning of a line of text, with the ID of the calling thread.
func (w *who) text() string {
	s := w.host + ":" + strconv.Itoa(w.pid) + ":" + strconv.Itoa(unix.Gettid())
	if w.gpu >= 0 {
		s += " [" + strconv.Itoa(w.gpu) + "]"
	}
	if w.pe >= 0 {
		s += " PE " + strconv.Itoa(int(w.pe))
	}
	return s
}

// fields adds the time and the origin to a record in JSON.
func (w *who) fields(e *zerolog.Event) *zerolog.Event {
	e = e.Str("time", time.Now().UTC().Format(time.RFC3339Nano)).Str("host", w.host).Int("pid", w.pid).Int("tid", unix.Gettid())
	if w.gpu >= 0 {
		e = e.Int("gpu", w.gpu)
	}
	if w.pe >= 0 {
		e = e.Int32("pe", int32(w.pe))
	}
	return e
}
