// Package relay is the protocol between shmemrun and its agents, the shmemruns that start PEs on
// other hosts. It goes over the standard input and output of the agent, which ssh carries.
//
// An agent begins with a greeting line. A login shell may write before it, so ReadGreeting skips
// that. Frames follow in both directions: shmemrun sends Job, and the agent starts the PEs and
// replies with Started, or Failed. From then on the agent passes on the frames and the output of
// its PEs, and reports how they end; shmemrun sends them replies, input and signals. Output has
// credit, so that a reader that has stopped delays the PE that writes and nothing else. The agent
// replies to Ping with Pong, after the reports of all PEs that have ended by then. After End, or
// the end of its input, the agent ends everything that it has started. Over is its last frame.
//
// Frames name PEs by their numbers in the job, so an agent can pass them on to agents below it.
//
// A frame is a header of 12 bytes, little endian, and a payload:
//
//	0 kind   1
//	1 zero   3
//	4 PE     4  All where it is for no single PE
//	8 length 4  bytes of payload, at most MaxPayload
//
// The package owns encoding and bounds, and no descriptors.
package relay

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"libshmem"
)

// Protocol is the number of this protocol. Every change gets a new one.
const Protocol = 1

// Sizes and bounds.
const (
	headerBytes = 12
	MaxPayload  = 65 << 20  // enough for a frame of a PE and the list of PEs that get it
	MaxNoise    = 64 << 10  // bytes that a login shell may write before the greeting
	Window      = 256 << 10 // bytes of an output or input that may be sent before any credit returns
)

// All is used in place of a PE in frames for the agent itself or for all its PEs.
const All libshmem.PE = math.MaxInt32

// Kind is the meaning of a frame.
type Kind uint8

// The kinds of frame. run: sent by shmemrun; agent: sent by an agent.
const (
	Job       Kind = iota + 1 // run: Spec
	Started                   // agent: empty; all its PEs run
	Failed                    // agent: Failure; none of its PEs runs
	Request                   // agent: a frame that a PE has sent
	HungUp                    // agent: empty; the PE sends nothing more
	Breach                    // agent: text; the PE broke the launch protocol
	Reply                     // run: PEs, and one frame for all of them, see AppendReply
	HangUp                    // run: empty; the PE gets nothing more
	Stdout                    // agent: bytes that the PE has written; none: it writes no more
	Stderr                    // agent: bytes that the PE has written to its standard error; none: it writes no more
	CreditOut                 // run: number of bytes that the PE may write to its output
	CreditErr                 // run: number of bytes that the PE may write to its standard error
	Stdin                     // run: input of the PE; none: its end
	CreditIn                  // agent: number of bytes of input that the PE has read
	Signal                    // run: number of a signal
	Pass                      // run: number of a signal, only for processes that handle it
	Unhandled                 // agent: number of a signal; the PE has no process that handles it
	Exited                    // agent: wait status
	Ping                      // run: a number
	Pong                      // agent: the same number
	Hold                      // run: empty; shmemrun is stopped, and sends nothing until it continues
	Say                       // agent: text for the user
	End                       // run: empty; the agent is to end everything
	Over                      // agent: empty; nothing is left, and no frame follows
	kinds
)

// kindNames has the name of each Kind, for messages.
var kindNames = [kinds]string{"none", "job", "started", "failed", "request", "hung up", "breach", "reply", "hang up",
	"output", "error output", "output credit", "error output credit", "input", "input credit", "signal", "passed signal",
	"unhandled signal", "exit", "ping", "pong", "hold", "remark", "end", "over"}

// String names the kind as messages do.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Frame is one message.
type Frame struct {
	Kind    Kind
	PE      libshmem.PE
	Payload []byte
}

// ErrFormat is the error of every malformed frame.
var ErrFormat = errors.New("malformed frame")

// formatErrorf returns an ErrFormat with a text that says what is wrong.
func formatErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// Append adds the encoding of f to dst. Its payload has at most MaxPayload bytes.
func Append(dst []byte, f Frame) []byte {
	dst = slices.Grow(dst, headerBytes+len(f.Payload))
	dst = append(dst, byte(f.Kind), 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.PE))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.Payload)))
	return append(dst, f.Payload...)
}

// chunk caps the memory that Read allocates before the bytes for it have arrived.
const chunk = 256 << 10

// Read reads one frame, and checks its head. It returns io.EOF if the stream ends between frames.
// The payload belongs to the caller; its memory grows with what arrives, so that a wrong length
// allocates little.
func Read(r io.Reader) (Frame, error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(h[0])}
	pe, n := binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint32(h[8:])
	switch {
	case f.Kind == 0 || f.Kind >= kinds:
		return f, formatErrorf("unknown %v", f.Kind)
	case h[1]|h[2]|h[3] != 0:
		return f, formatErrorf("reserved bytes are % x", h[1:4])
	case pe > uint32(All):
		return f, formatErrorf("%v of PE %d", f.Kind, pe)
	case n > MaxPayload:
		return f, formatErrorf("%v of %d bytes, at most %d", f.Kind, n, MaxPayload)
	}
	f.PE = libshmem.PE(pe)
	for len(f.Payload) < int(n) {
		have := len(f.Payload)
		more := min(int(n)-have, max(chunk, have))
		f.Payload = slices.Grow(f.Payload, more)[:have+more]
		if _, err := io.ReadFull(r, f.Payload[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return f, err
		}
	}
	return f, nil
}

// Number returns the payload of frames with one number.
func Number(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// ParseNumber returns the number in a frame.
func ParseNumber(f Frame) (uint32, error) {
	if len(f.Payload) != 4 {
		return 0, formatErrorf("%v has %d bytes, not 4", f.Kind, len(f.Payload))
	}
	return binary.LittleEndian.Uint32(f.Payload), nil
}

// AppendReply appends the payload of Reply: the PEs that get a frame, and that frame.
func AppendReply(dst []byte, pes []libshmem.PE, frame []byte) []byte {
	dst = slices.Grow(dst, 4+4*len(pes)+len(frame))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(pes)))
	for _, pe := range pes {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(pe))
	}
	return append(dst, frame...)
}

// ParseReply decodes the payload of Reply. The frame shares the payload's memory.
func ParseReply(p []byte) (pes []libshmem.PE, frame []byte, err error) {
	if len(p) < 4 {
		return nil, nil, formatErrorf("reply of %d bytes", len(p))
	}
	n := uint64(binary.LittleEndian.Uint32(p))
	p = p[4:]
	if n*4 > uint64(len(p)) {
		return nil, nil, formatErrorf("reply for %d PEs in %d bytes", n, len(p))
	}
	for range n {
		pe := binary.LittleEndian.Uint32(p)
		if pe >= uint32(All) {
			return nil, nil, formatErrorf("reply for PE %d", pe)
		}
		pes = append(pes, libshmem.PE(pe))
		p = p[4:]
	}
	return pes, p, nil
}

// Spec is the payload of Job: the description of the PEs that the agent is to start. Arguments and
// variables are bytes, because JSON would change strings that are not UTF-8. They may be secret, so
// the Spec goes over this stream and not in a command line.
type Spec struct {
	Host    string // the agent's host, for reports
	NPEs    int    // PEs of the whole job
	Hosts   int    // hosts of the whole job
	PEs     []libshmem.PE
	Program []byte
	Args    [][]byte
	Env     [][]byte // NAME=value, added to the agent's own environment
	Dir     []byte   // working directory
	Bind    string
	Silence int64 // nanoseconds without a frame from shmemrun after which the agent ends its PEs; 0: never
}

// Encode returns the payload of Job.
func (s *Spec) Encode() ([]byte, error) { return json.Marshal(s) }

// ParseSpec decodes the payload of Job.
func ParseSpec(p []byte) (*Spec, error) {
	s := &Spec{}
	if err := json.Unmarshal(p, s); err != nil {
		return nil, formatErrorf("job: %v", err)
	}
	if len(s.PEs) == 0 || s.NPEs < len(s.PEs) || s.Hosts < 1 || s.Silence < 0 {
		return nil, formatErrorf("job of %d PEs with %d here, on %d hosts", s.NPEs, len(s.PEs), s.Hosts)
	}
	for i, pe := range s.PEs {
		if !pe.In(s.NPEs) || i > 0 && pe <= s.PEs[i-1] {
			return nil, formatErrorf("job of %d PEs with PE %d out of order", s.NPEs, pe)
		}
	}
	return s, nil
}

// Failure is the payload of Failed: why no PE runs, and the exit status for it.
type Failure struct {
	Status int
	Text   string
}

// Encode returns the payload of Failed.
func (f Failure) Encode() []byte { return append(Number(uint32(f.Status)), f.Text...) }

// ParseFailure decodes the payload of Failed.
func ParseFailure(p []byte) (f Failure, err error) {
	if len(p) < 4 {
		return f, formatErrorf("failure of %d bytes", len(p))
	}
	return Failure{int(binary.LittleEndian.Uint32(p) & 0xff), string(p[4:])}, nil
}

// marker begins a greeting, which may follow text of a login shell on the same line.
const marker = "\x01shmemrun agent "

// Greeting returns an agent's first line.
func Greeting() string { return fmt.Sprintf("%s%d %s\n", marker, Protocol, libshmem.Version) }

// VersionError reports that the agent has another version.
type VersionError struct{ Theirs string }

// Error names the versions of both programs.
func (e *VersionError) Error() string {
	return fmt.Sprintf("its shmemrun is of version %s, and this one of %s", e.Theirs, libshmem.Version)
}

// ReadGreeting reads up to the end of an agent's greeting. It returns the text before the greeting,
// which a login shell has written; all text, if the stream ends without a greeting.
func ReadGreeting(r *bufio.Reader) (noise string, err error) {
	var text []byte
	for {
		line, err := r.ReadSlice('\n')
		text = append(text, line...)
		if at := strings.Index(string(text), marker); at >= 0 && err == nil {
			noise, greeting := string(text[:at]), strings.TrimSuffix(string(text[at+len(marker):]), "\n")
			if want := strings.TrimSuffix(Greeting()[len(marker):], "\n"); greeting != want {
				_, theirs, _ := strings.Cut(greeting, " ")
				return noise, &VersionError{theirs}
			}
			return noise, nil
		}
		switch {
		case err != nil && err != bufio.ErrBufferFull:
			return string(text), err
		case len(text) > MaxNoise:
			return string(text), fmt.Errorf("%d bytes came, and no greeting", len(text))
		}
	}
}
