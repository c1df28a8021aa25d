// Package shmlog writes the library's log: each record is one line and one write. As text a line
// begins with the host, the process and the thread, the number of the PE's GPU if it has one, and
// the PE:
//
//	shmem: node7:4711:4712 [0] PE 3: heap: 4.0 MiB committed
//
// In a file that is no terminal, a record is a JSON object:
//
//	{"level":"debug","time":"2026-01-31T12:00:00.123456Z","host":"node7","pid":4711,"tid":4712,"gpu":0,"pe":3,"subsys":"heap","message":"4.0 MiB committed"}
//
// Callers decide the level of each record; SHMEM_LOG_LEVEL, SHMEM_LOG_SUBSYS and SHMEM_LOG_FILE
// decide which records are printed, and where. Texts are in lower case and name causes, not
// guesses. A put or a wait logs nothing. The library zerolog formats and writes the records.
package shmlog

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// Log is the log of one process. A nil Log prints nothing. It is safe for
// concurrent use.
type Log struct {
	level  config.LogLevel
	subsys []string   // nil: all
	mu     sync.Mutex // around who, lines and file, and each write
	who    who
	lines  zerolog.Logger
	asText bool // records are lines of text, and not JSON
	out    io.Writer
	file   *file // the file of SHMEM_LOG_FILE; nil: the log goes to stderr
}

// Open makes the log of a process. Without SHMEM_LOG_FILE it goes to stderr.
func Open(cfg *config.Config, stderr io.Writer) (*Log, error) {
	l := &Log{level: cfg.LogLevel, subsys: cfg.LogSubsys, who: self(), asText: true}
	if slices.Contains(l.subsys, "all") {
		l.subsys = nil
	}
	if cfg.LogFile == "" {
		l.lines, l.out = zerolog.New(textWriter(stderr)), stderr
		return l, nil
	}
	name := Expand(cfg.LogFile)
	// Append, since several PEs may share a file; do not block, so that a pipe without a reader is
	// an error.
	opened, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, &shmerr.Error{Op: "open", Object: fmt.Sprintf("SHMEM_LOG_FILE=%q", cfg.LogFile),
			Cause: shmerr.Causef(shmerr.ErrSetting, "%w", err), Remedy: "name a file in a directory that exists and can be written, or unset it"}
	}
	f := &file{File: opened, log: l, stderr: stderr}
	l.file = f
	l.lines, l.out = zerolog.New(f), f
	if l.asText = terminal(opened); l.asText {
		l.lines = zerolog.New(textWriter(f))
	}
	return l, nil
}

// Expand replaces, in the name of a file, %h by the host, %p by the process id and %% by a
// percent sign. Other letters stay as they are.
func Expand(name string) string {
	w := self()
	return strings.NewReplacer("%%", "%", "%h", w.host, "%p", strconv.Itoa(w.pid)).Replace(name)
}

// SetPE makes the records from now on name the PE.
func (l *Log) SetPE(pe libshmem.PE) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.who.pe = pe
	}
}

// SetGPU makes the records from now on name the PE's GPU by its number.
func (l *Log) SetGPU(number int) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.who.gpu = number
	}
}

// Enabled reports whether a record of a subsystem and level would be printed, for
// callers whose record is expensive to make. Warnings and errors are printed for
// every subsystem.
func (l *Log) Enabled(subsys string, level config.LogLevel) bool {
	return l != nil && level <= l.level &&
		(level <= config.LogWarn || l.subsys == nil || slices.Contains(l.subsys, subsys))
}

// levels has zerolog's level for each level of SHMEM_LOG_LEVEL.
var levels = map[config.LogLevel]zerolog.Level{
	config.LogError: zerolog.ErrorLevel,
	config.LogWarn:  zerolog.WarnLevel,
	config.LogInfo:  zerolog.InfoLevel,
	config.LogDebug: zerolog.DebugLevel,
	config.LogTrace: zerolog.TraceLevel,
}

// Printf writes one record if Enabled says so. subsys is one of the words of SHMEM_LOG_SUBSYS.
func (l *Log) Printf(subsys string, level config.LogLevel, format string, args ...any) {
	if !l.Enabled(subsys, level) {
		return
	}
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.lines.WithLevel(levels[level])
	if l.asText {
		// A text of several lines would look like lines of another process.
		text = strings.ReplaceAll(text, "\n", " | ")
		e = e.Str(partWho, l.who.text())
	} else {
		e = l.who.fields(e)
	}
	e.Str(partSubsys, subsys).Msg(text)
}

// Say writes one record, whatever SHMEM_LOG_LEVEL is: for reports and warnings whose exact text is
// documented. A line of text therefore begins without host and process; in JSON the record has the
// same fields as any other.
func (l *Log) Say(subsys string, level config.LogLevel, text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asText {
		_, _ = io.WriteString(l.out, "shmem: "+strings.ReplaceAll(text, "\n", " | ")+"\n")
		return
	}
	l.who.fields(l.lines.WithLevel(levels[level])).Str(partSubsys, subsys).Msg(text)
}

// SayWith is Say with further lines below the text. As text each line begins with subject, as the
// first one does, because lines of other processes may be printed between them; in JSON the lines
// are a field of the record.
func (l *Log) SayWith(subsys string, level config.LogLevel, subject, text string, below []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text = subject + ": " + text
	if !l.asText {
		l.who.fields(l.lines.WithLevel(levels[level])).Str(partSubsys, subsys).Strs("events", below).Msg(text)
		return
	}
	b := []byte("shmem: " + strings.ReplaceAll(text, "\n", " | ") + "\n")
	for _, line := range below {
		b = append(b, "shmem: "+subject+":   "+line+"\n"...)
	}
	_, _ = l.out.Write(b)
}

// Print writes a text of several lines in one write, whatever SHMEM_LOG_LEVEL is: unchanged or, if
// the log is JSON, as the message of one record.
func (l *Log) Print(text string) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asText {
		l.who.fields(l.lines.Log()).Msg(text)
		return nil
	}
	_, err := io.WriteString(l.out, text)
	return err
}

// Close closes the file, if there is one. Nothing is printed afterwards.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.out = zerolog.Nop(), io.Discard
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
