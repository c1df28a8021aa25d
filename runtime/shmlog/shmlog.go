// Package shmlog writes the library's log: one line, one write, one form.
//
//	shmem: PE 3: heap: 4.0 MiB committed
//
// What is logged at which level is decided by who logs; which of it is printed
// and where is SHMEM_LOG_LEVEL, SHMEM_LOG_SUBSYS and SHMEM_LOG_FILE. Texts are
// in lower case and say causes, not guesses. Nothing logs on a path that a
// put or a wait takes. zerolog does the writing.
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

	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// Log is the log of one process. A nil Log prints nothing. It is safe for
// concurrent use.
type Log struct {
	level  config.LogLevel
	subsys []string // nil: all
	mu     sync.Mutex
	lines  zerolog.Logger
	out    io.Writer
	file   *os.File // where it is ours to close
}

// Open makes the log of a process. Without SHMEM_LOG_FILE it goes to stderr.
func Open(cfg *config.Config, stderr io.Writer) (*Log, error) {
	l := &Log{level: cfg.LogLevel, subsys: cfg.LogSubsys}
	if slices.Contains(l.subsys, "all") {
		l.subsys = nil
	}
	if cfg.LogFile == "" {
		l.lines, l.out = zerolog.New(form(stderr)), stderr
		return l, nil
	}
	name := expand(cfg.LogFile)
	// Appended to: several PEs may share a file.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, &shmerr.Error{Op: "open", Object: fmt.Sprintf("SHMEM_LOG_FILE=%q", cfg.LogFile),
			Cause: shmerr.Causef(shmerr.ErrSetting, "%w", err), Remedy: "name a file in a directory that exists and can be written, or unset it"}
	}
	l.file = f
	l.lines, l.out = zerolog.New(form(f)), f
	return l, nil
}

// The parts of a line.
const (
	partPE     = "pe"
	partSubsys = "subsys"
)

// form makes lines for people of zerolog's records.
func form(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{
		Out: out, NoColor: true,
		PartsOrder:    []string{partPE, partSubsys, zerolog.MessageFieldName},
		FieldsExclude: []string{partPE, partSubsys},
		FormatMessage: func(v any) string { return fmt.Sprint(v) },
		FormatPartValueByName: func(v any, part string) string {
			switch {
			case part == partPE && v == nil:
				return "shmem:"
			case part == partPE:
				return fmt.Sprintf("shmem: PE %v:", v)
			}
			return fmt.Sprintf("%v:", v)
		},
	}
}

// expand puts in the host and the process. %% is a percent sign; another
// letter stays as it is.
func expand(name string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return strings.NewReplacer("%%", "%", "%h", host, "%p", strconv.Itoa(os.Getpid())).Replace(name)
}

// SetPE names the PE in the lines from now on.
func (l *Log) SetPE(pe int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = l.lines.With().Int(partPE, pe).Logger()
}

// Enabled reports whether a line would be printed, for callers whose line is
// dear to make. Warnings and errors are printed for every subsystem.
func (l *Log) Enabled(subsys string, level config.LogLevel) bool {
	return l != nil && level <= l.level &&
		(level <= config.LogWarn || l.subsys == nil || slices.Contains(l.subsys, subsys))
}

var levels = map[config.LogLevel]zerolog.Level{
	config.LogError: zerolog.ErrorLevel,
	config.LogWarn:  zerolog.WarnLevel,
	config.LogInfo:  zerolog.InfoLevel,
	config.LogDebug: zerolog.DebugLevel,
	config.LogTrace: zerolog.TraceLevel,
}

// Printf writes one line. subsys is one of the words of SHMEM_LOG_SUBSYS.
func (l *Log) Printf(subsys string, level config.LogLevel, format string, args ...any) {
	if !l.Enabled(subsys, level) {
		return
	}
	// A text of several lines would look like lines of somebody else.
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | ")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines.WithLevel(levels[level]).Str(partSubsys, subsys).Msg(text)
}

// Print writes text of several lines at once, whatever the level.
func (l *Log) Print(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	l.lines = zerolog.Nop()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
