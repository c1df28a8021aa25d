package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"syscall"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
)

var le = binary.LittleEndian

// Greeting is the payload of Hello.
type Greeting struct {
	PE       libshmem.PE
	Size     int
	Timeout  time.Duration // how long a step waits for the other PEs; 0: for ever
	Survives bool          // the PE continues when others fail (SHMEM_ON_FAILURE=return)
	PID      int           // process id of the PE; 0: not sent
}

// Append adds the encoding of g to dst.
func (g Greeting) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, uint32(g.PE))
	dst = le.AppendUint32(dst, uint32(g.Size))
	dst = le.AppendUint64(dst, uint64(max(g.Timeout, 0)))
	dst = append(dst, bit(g.Survives), 0, 0, 0)
	return le.AppendUint32(dst, uint32(g.PID))
}

// ParseGreeting decodes the payload of Hello.
func ParseGreeting(p []byte) (Greeting, error) {
	if len(p) != 24 {
		return Greeting{}, formatErrorf("hello has %d bytes, not 24", len(p))
	}
	pe, size, t := le.Uint32(p), le.Uint32(p[4:]), le.Uint64(p[8:])
	if size > math.MaxInt32 || pe >= size {
		return Greeting{}, formatErrorf("hello of PE %d of %d", pe, size)
	}
	if t > math.MaxInt64 {
		return Greeting{}, formatErrorf("hello with a negative timeout")
	}
	if p[16] > 1 || p[17]|p[18]|p[19] != 0 {
		return Greeting{}, formatErrorf("hello with flags % x", p[16:20])
	}
	pid := le.Uint32(p[20:])
	if pid > math.MaxInt32 {
		return Greeting{}, formatErrorf("hello of a process with the number %d", pid)
	}
	return Greeting{PE: libshmem.PE(pe), Size: int(size), Timeout: time.Duration(t), Survives: p[16] == 1, PID: int(pid)}, nil
}

// Admission is the payload of Welcome.
type Admission struct {
	Secret secret.Secret // of the job
}

// Append adds the encoding of an Admission, the payload of Welcome, to dst.
func (a Admission) Append(dst []byte) []byte { return append(dst, a.Secret[:]...) }

// ParseAdmission decodes the payload of Welcome.
func ParseAdmission(p []byte) (a Admission, err error) {
	if len(p) != len(a.Secret) {
		return a, formatErrorf("welcome has %d bytes, not %d", len(p), len(a.Secret))
	}
	copy(a.Secret[:], p)
	return a, nil
}

// AppendParts appends the payload of Gathered to dst: the number of contributions, and each with
// its length, in order of PE.
func AppendParts(dst []byte, parts [][]byte) []byte {
	dst = le.AppendUint32(dst, uint32(len(parts)))
	for _, p := range parts {
		dst = le.AppendUint32(dst, uint32(len(p)))
		dst = append(dst, p...)
	}
	return dst
}

// PartsLen returns how many bytes AppendParts appends.
func PartsLen(parts [][]byte) int {
	n := 4
	for _, p := range parts {
		n += 4 + len(p)
	}
	return n
}

// ParseParts decodes the payload of Gathered. The parts share its memory.
func ParseParts(p []byte) ([][]byte, error) {
	if len(p) < 4 {
		return nil, formatErrorf("allgather result has %d bytes", len(p))
	}
	count := le.Uint32(p)
	p = p[4:]
	if uint64(count)*4 > uint64(len(p)) {
		return nil, formatErrorf("allgather result names %d parts in %d bytes", count, len(p))
	}
	parts := make([][]byte, count)
	for i := range parts {
		if len(p) < 4 {
			return nil, formatErrorf("allgather result ends before part %d", i)
		}
		n := le.Uint32(p)
		p = p[4:]
		if uint64(n) > uint64(len(p)) {
			return nil, formatErrorf("part %d of an allgather result has %d bytes, only %d follow", i, n, len(p))
		}
		parts[i] = p[:n:n]
		p = p[n:]
	}
	if len(p) != 0 {
		return nil, formatErrorf("%d bytes follow an allgather result", len(p))
	}
	return parts, nil
}

// Ending is the payload of Abort and Exit.
type Ending struct {
	Status int32
	Reason string
}

// Append adds the encoding of e to dst, its reason cut to MaxText.
func (e Ending) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, uint32(e.Status))
	return append(dst, e.Reason[:min(len(e.Reason), MaxText)]...)
}

// ParseEnding decodes the payload of Abort and Exit.
func ParseEnding(p []byte) (Ending, error) {
	if len(p) < 4 || len(p) > 4+MaxText {
		return Ending{}, formatErrorf("abort has %d bytes", len(p))
	}
	return Ending{Status: int32(le.Uint32(p)), Reason: string(p[4:])}, nil
}

// Absence is the payload of Missing: which PEs a step has waited for in vain, and how long.
type Absence struct {
	Waited time.Duration
	PEs    []libshmem.PE // ascending
}

// Append adds the encoding of a to dst.
func (a Absence) Append(dst []byte) []byte {
	dst = le.AppendUint64(dst, uint64(a.Waited))
	for _, pe := range a.PEs {
		dst = le.AppendUint32(dst, uint32(pe))
	}
	return dst
}

// ParseAbsence decodes the payload of Missing.
func ParseAbsence(p []byte) (Absence, error) {
	if len(p) < 8 || len(p)%4 != 0 {
		return Absence{}, formatErrorf("list of missing PEs has %d bytes", len(p))
	}
	w := le.Uint64(p)
	if w > math.MaxInt64 {
		return Absence{}, formatErrorf("negative wait")
	}
	a := Absence{Waited: time.Duration(w)}
	for p = p[8:]; len(p) > 0; p = p[4:] {
		pe := le.Uint32(p)
		if pe > math.MaxInt32 || len(a.PEs) > 0 && libshmem.PE(pe) <= a.PEs[len(a.PEs)-1] {
			return Absence{}, formatErrorf("list of missing PEs is out of order at PE %d", pe)
		}
		a.PEs = append(a.PEs, libshmem.PE(pe))
	}
	return a, nil
}

// How says in which way a PE has ended or left the job.
type How uint8

// The kinds of ends.
const (
	Exited    How = iota // Code is the exit status
	Killed               // Code is the signal
	Finalized            // it left the job in good order; whether it has ended is not known
	Vanished             // its connection is gone
	EndedJob             // it requested the end of the job; Code is the job's status
	Left                 // it left the job in good order, and ended with status Code
	Failed               // its initialisation has failed; whether it has ended is not known
	hows
)

// Outcome says how a PE has ended or left the job.
type Outcome struct {
	How  How
	Code int
	Core bool // it left a core dump
	Init bool // it had reached shmem_init, and not shmem_finalize
}

// Bad reports whether such an end counts as a failure of the PE, which ends the job: killed, lost,
// or a status that is not 0.
func (f Outcome) Bad() bool {
	return f.How == Killed || f.How == Vanished || f.How == Exited && f.Code != 0
}

// Absent reports whether the PE has exited with status 0 inside the job, without shmem_finalize.
func (f Outcome) Absent() bool { return f.How == Exited && f.Code == 0 && f.Init }

// Status returns the exit status that a shell would show.
func (f Outcome) Status() int {
	if f.How == Killed {
		return 128 + f.Code
	}
	return f.Code
}

// String returns a text that continues a sentence that begins with the PE: "was killed by signal 9
// (killed)".
func (f Outcome) String() string {
	switch f.How {
	case Killed:
		s := "was killed by signal " + strconv.Itoa(f.Code) + " (" + syscall.Signal(f.Code).String() + ")"
		if f.Core {
			s += ", core dumped"
		}
		return s
	case Finalized:
		return "called shmem_finalize"
	case Left:
		return "called shmem_finalize, and ended with status " + strconv.Itoa(f.Code)
	case Failed:
		return "failed in shmem_init (see its error)"
	case Vanished:
		return "has ended, or cannot be reached any more"
	case EndedJob:
		return "ended the job with status " + strconv.Itoa(f.Code)
	}
	s := "exited with status " + strconv.Itoa(f.Code)
	if f.Code == 0 {
		if f.Init {
			s += " without shmem_finalize"
		} else {
			s += " without shmem_init"
		}
	}
	return s
}

// Loss is the payload of PeerFailed and of Lost: a PE and how it has ended or left.
type Loss struct {
	PE      libshmem.PE
	Outcome Outcome
}

// Append adds the encoding of l to dst.
func (l Loss) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, uint32(l.PE))
	dst = le.AppendUint32(dst, uint32(l.Outcome.Code))
	return append(dst, byte(l.Outcome.How), bit(l.Outcome.Core), bit(l.Outcome.Init), 0)
}

// AppendPEs appends the payload of Inquiry to dst: a list of PEs.
func AppendPEs(dst []byte, pes []libshmem.PE) []byte {
	for _, pe := range pes {
		dst = le.AppendUint32(dst, uint32(pe))
	}
	return dst
}

// ParsePEs decodes the payload of Inquiry, in a job of n PEs.
func ParsePEs(p []byte, n int) ([]libshmem.PE, error) {
	if len(p)%4 != 0 || len(p)/4 > MaxInquiry {
		return nil, formatErrorf("list of PEs has %d bytes", len(p))
	}
	pes := make([]libshmem.PE, 0, len(p)/4)
	for ; len(p) > 0; p = p[4:] {
		pe := le.Uint32(p)
		if uint64(pe) >= uint64(n) {
			return nil, formatErrorf("inquiry about PE %d of %d", pe, n)
		}
		pes = append(pes, libshmem.PE(pe))
	}
	return pes, nil
}

// ParseOutcomes decodes the payload of Outcomes: how PEs have ended or left.
func ParseOutcomes(p []byte) ([]Loss, error) {
	const each = 12
	if len(p)%each != 0 || len(p)/each > MaxInquiry {
		return nil, formatErrorf("list of ends has %d bytes", len(p))
	}
	all := make([]Loss, 0, len(p)/each)
	for ; len(p) > 0; p = p[each:] {
		l, err := ParseLoss(p[:each])
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// ParseLoss decodes the payload of PeerFailed and of Lost.
func ParseLoss(p []byte) (Loss, error) {
	if len(p) != 12 {
		return Loss{}, formatErrorf("end of a PE has %d bytes, not 12", len(p))
	}
	pe, code := le.Uint32(p), le.Uint32(p[4:])
	if pe > math.MaxInt32 || code > 255 || How(p[8]) >= hows || p[9] > 1 || p[10] > 1 || p[11] != 0 {
		return Loss{}, formatErrorf("end of a PE: % x", p)
	}
	return Loss{PE: libshmem.PE(pe), Outcome: Outcome{How: How(p[8]), Code: int(code), Core: p[9] == 1, Init: p[10] == 1}}, nil
}

// bit returns 1 for true.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
