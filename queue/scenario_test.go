package queue_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/queue/queuetest"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios in testdata give into them")

// TestScenarios runs testdata/*.txt: blocks of commands, a line of dashes, and the output of the
// commands up to an empty line. testdata/README.md has the commands.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scenarios, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *rewrite {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, text) {
				t.Errorf("%s: the scenario gives, not as the file says (go test ./queue -rewrite, and read the diff):\n%s", path, got)
			}
		})
	}
}

// play returns the text with the present output of the commands.
func play(t *testing.T, text string) []byte {
	var out bytes.Buffer
	s := &stage{t: t, held: map[string]*producerState{}}
	saying := false
	for _, line := range strings.SplitAfter(text, "\n") {
		command, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "#")
		switch {
		case strings.HasPrefix(line, "----"):
			saying = true
			out.WriteString(line)
			out.WriteString(s.said.String())
			s.said.Reset()
		case strings.TrimSpace(line) == "":
			saying = false
			out.WriteString(line)
		case saying: // is said anew
		default:
			out.WriteString(line)
			if words := strings.Fields(command); len(words) > 0 {
				s.do(words)
			}
		}
	}
	if s.said.Len() > 0 {
		t.Errorf("the last commands have no line of dashes: %s", s.said.String())
	}
	return out.Bytes()
}

// A stage is a ring with its producers by name.
type stage struct {
	t    *testing.T
	said strings.Builder
	size int
	rig  *queuetest.Rig
	ring *queue.Ring
	last queue.Op
	held map[string]*producerState
}

// producerState is an operation that a producer has begun.
type producerState struct {
	op    queue.Op
	at    uint64
	slots int
	reply uint16
	turn  uint32
}

func (s *stage) say(format string, args ...any) { fmt.Fprintf(&s.said, format+"\n", args...) }

// number reads 12, 0x12, -1, 2^63 and 2^64-3.
func (s *stage) number(word string) uint64 {
	if rest, ok := strings.CutPrefix(word, "2^"); ok {
		power, less, minus := strings.Cut(rest, "-")
		v := uint64(1) << s.number(power)
		if minus {
			v -= s.number(less)
		}
		return v
	}
	v, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		n, err := strconv.ParseInt(word, 0, 64)
		if err != nil {
			s.t.Fatalf("number %q: %v", word, err)
		}
		v = uint64(n)
	}
	return v
}

func (s *stage) op(words []string) queue.Op {
	var op queue.Op
	for c := range queue.Codes {
		if queue.Code(c).String() == words[0] {
			op.Code = queue.Code(c)
		}
	}
	if op.Code.String() != words[0] {
		s.t.Fatalf("operation %q does not exist", words[0])
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		v := s.number(value)
		switch name {
		case "pe":
			op.PE = uint32(v)
		case "dest":
			op.Dest = v
		case "local":
			op.Local = v
		case "length":
			op.Length = v
		case "value":
			op.Value = v
		case "compare":
			op.Value2 = v
		case "signal":
			op.Signal = v
		case "signal_at":
			op.SignalAt = v
		default:
			s.t.Fatalf("field %q does not exist", name)
		}
	}
	return op
}

func (s *stage) do(words []string) {
	name := words[0]
	if name != "ring" && s.ring == nil {
		s.t.Fatalf("%v: no ring yet", words)
	}
	if name[0] == 'p' && len(name) == 2 {
		s.produce(name, words[1], words[2:])
		return
	}
	arg := func(i int) uint64 { return s.number(words[i]) }
	switch name {
	case "ring": // ring SLOTS POSITION
		s.size = int(arg(1))
		s.rig = queuetest.New(s.size, arg(2))
		s.ring = queue.NewAt(s.rig.Memory(), s.size, arg(2))
	case "next":
		s.next()
	case "drain":
		for s.next() != queue.Empty {
		}
	case "unread":
		s.ring.Unread(&s.last)
	case "publish":
		s.ring.Publish()
	case "done": // done POSITION
		s.ring.PublishDone(arg(1))
	case "answer": // answer REPLY VALUE STATUS
		s.ring.Reply(uint16(arg(1)), arg(2), int32(arg(3)))
	case "stop":
		s.ring.Stop()
	case "ahead": // ahead SLOTS
		s.say("ahead: %v", s.ring.StoredAhead(int(arg(1))))
	case "raw": // raw POSITION WORD VALUE: with the lap that is valid there
		s.rig.Set(arg(1), int(arg(2)), arg(3)|s.rig.Lap(arg(1)))
	case "state":
		s.state()
	default:
		s.t.Fatalf("command %q does not exist", name)
	}
}

func (s *stage) next() queue.Result {
	found := s.ring.Next(&s.last)
	switch found {
	case queue.Empty:
		s.say("empty")
	case queue.Unknown:
		s.say("unknown: %v", s.last.Code)
	case queue.Found:
		o := &s.last
		s.said.WriteString(o.Code.String())
		switch o.Code {
		case queue.CodePut, queue.CodeGet, queue.CodePutSignal:
			fmt.Fprintf(&s.said, " pe=%d dest=%#x local=%#x length=%#x", o.PE, o.Dest, o.Local, o.Length)
		case queue.CodeP, queue.CodeAMO, queue.CodePWide, queue.CodeAMOWide:
			fmt.Fprintf(&s.said, " pe=%d dest=%#x value=%#x", o.PE, o.Dest, o.Value)
		}
		if o.Code == queue.CodePutSignal {
			fmt.Fprintf(&s.said, " signal=%#x signal_at=%#x", o.Signal, o.SignalAt)
		}
		if o.Code == queue.CodeAMOWide {
			fmt.Fprintf(&s.said, " compare=%#x want=%d reply=%d", o.Value2, o.Want, o.Reply)
		}
		s.said.WriteByte('\n')
	}
	return found
}

func (s *stage) produce(name, verb string, words []string) {
	h := s.held[name]
	if h == nil {
		h = &producerState{}
		s.held[name] = h
	}
	switch verb {
	case "claim":
		i, turn, ok := s.rig.Claim()
		if h.reply, h.turn = i, turn; ok {
			s.say("%s: place %d, turn %d", name, i, turn)
		} else {
			s.say("%s: no place", name)
		}
	case "take", "push": // with a claimed reply when there is one to want
		h.op = s.op(words)
		if h.op.Code == queue.CodeAMOWide {
			h.op.Want, h.op.Reply = 1, h.reply
		}
		h.slots = queue.SlotsOf(h.op.Code)
		h.at = s.rig.Reserve(h.slots)
		s.say("%s: takes %d, %d slots", name, h.at, h.slots)
		if verb == "push" && s.room(name, h) {
			s.rig.Store(h.at, &h.op)
		}
	case "room":
		if s.room(name, h) {
			s.say("%s: room", name)
		}
	case "store": // store [SLOT WORD]
		if len(words) == 0 {
			s.rig.Store(h.at, &h.op)
			break
		}
		var w [2 * queue.MaxSlots]uint64
		h.op.Pack(&w)
		slot, word := s.number(words[0]), s.number(words[1])
		s.rig.Set(h.at+slot, int(word), w[2*slot+word]|s.rig.Lap(h.at+slot))
	case "complete":
		s.say("%s: complete is %v", name, s.rig.Complete(h.at))
	case "answered":
		if v, status, ok := s.rig.Replied(h.reply, h.turn); ok {
			s.say("%s: %#x, status %d", name, v, status)
		} else {
			s.say("%s: no answer", name)
		}
	default:
		s.t.Fatalf("producer's command %q does not exist", verb)
	}
}

func (s *stage) room(name string, h *producerState) bool {
	if s.rig.Free(h.at + uint64(h.slots)) {
		return true
	}
	if s.rig.Stopped() {
		s.say("%s: gives up", name)
	} else {
		s.say("%s: no room", name)
	}
	return false
}

// state shows where everybody is, and of each slot from the tail on which words
// are valid.
func (s *stage) state() {
	s.say("head %d tail %d read %d done %d", s.rig.Near.Head, s.rig.Line.Tail, s.ring.Position(), s.rig.Line.Done)
	for i := range uint64(s.size) {
		p := s.rig.Line.Tail + i
		for word := range 2 {
			c := byte('.')
			if (s.rig.Word(p, word)^s.rig.Lap(p))>>63 == 0 {
				c = 'x'
			}
			s.said.WriteByte(c)
		}
		s.said.WriteByte(' ')
	}
	text := strings.TrimSuffix(s.said.String(), " ")
	s.said.Reset()
	s.said.WriteString(text + "\n")
}
