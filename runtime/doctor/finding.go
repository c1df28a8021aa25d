package doctor

import (
	"errors"
	"fmt"
	"strings"

	"libshmem/runtime/shmerr"
)

// Verdict is the severity of a finding.
type Verdict uint8

// The verdicts.
const (
	OK    Verdict = iota
	Lacks         // something is missing that only some jobs need
	Wrong         // a fault: jobs fail or are slow until it is mended
)

// String returns the word with which the line of a finding begins.
func (v Verdict) String() string { return [...]string{"ok", "-", "no"}[v] }

// Finding is one line of the doctor's report: its subject, its state, and the remedy of a fault.
type Finding struct {
	Verdict Verdict
	Subject string
	Text    string
	Remedy  string // empty where the verdict is OK
}

// String returns the line of the report.
func (f Finding) String() string {
	text := strings.ReplaceAll(f.Text, "\n", "; ")
	if f.Remedy != "" {
		text += " (" + f.Remedy + ")"
	}
	return fmt.Sprintf("%-3s %s: %s", f.Verdict, f.Subject, text)
}

// Worst returns the worst verdict of all findings; OK if there are none.
func Worst(all []Finding) Verdict {
	worst := OK
	for _, f := range all {
		worst = max(worst, f.Verdict)
	}
	return worst
}

// Well makes a finding that its subject is in order.
func Well(subject, format string, args ...any) Finding {
	return Finding{OK, subject, fmt.Sprintf(format, args...), ""}
}

// Lack makes a finding that its subject lacks something that only some jobs need.
func Lack(subject, remedy, format string, args ...any) Finding {
	return Finding{Lacks, subject, fmt.Sprintf(format, args...), remedy}
}

// Bad makes a finding that its subject does not work, with what the user can do.
func Bad(subject, remedy, format string, args ...any) Finding {
	return Finding{Wrong, subject, fmt.Sprintf(format, args...), remedy}
}

// OfError makes a finding of an error. If the error is an *shmerr.Error with a remedy, the finding
// has that remedy in place of the argument.
func OfError(v Verdict, subject, remedy string, err error) Finding {
	if e, ok := errors.AsType[*shmerr.Error](err); ok && error(e) == err && e.Remedy != "" {
		bare := *e
		bare.Remedy = ""
		return Finding{v, subject, bare.Error(), e.Remedy}
	}
	return Finding{v, subject, err.Error(), remedy}
}
