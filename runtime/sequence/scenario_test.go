package sequence

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios in testdata say into them")

// TestScenarios runs testdata/*.txt; testdata/README.md has the commands.
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
			got := play(string(text))
			if *rewrite {
				err = os.WriteFile(path, got, 0o644)
			} else if !bytes.Equal(got, text) {
				err = fmt.Errorf("it says, not as the file has it (go test ./runtime/sequence -rewrite, and read the difference):\n%s", got)
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

func play(text string) []byte {
	var out, said bytes.Buffer
	s := &scene{say: func(format string, a ...any) { fmt.Fprintf(&said, format+"\n", a...) }}
	saying := false
	for _, line := range strings.SplitAfter(text, "\n") {
		command, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "#")
		words := strings.Fields(command)
		switch {
		case strings.HasPrefix(line, "----"):
			saying = true
			out.WriteString(line)
			_, _ = said.WriteTo(&out)
		case strings.TrimSpace(line) == "":
			saying = false
			out.WriteString(line)
		case saying: // is said anew
		default:
			out.WriteString(line)
			if len(words) > 0 {
				if err := s.do(words); err != nil {
					s.say("%s: %v", strings.Join(words, " "), err)
				}
			}
		}
	}
	if said.Len() > 0 {
		fmt.Fprintf(&out, "commands without a line of dashes say:\n%s", said.Bytes())
	}
	return out.Bytes()
}

type sentMessage struct {
	name  string
	need  uint32
	flush bool
	here  bool
}

type scene struct {
	say      func(string, ...any)
	out      *Out
	in       *In
	writes   map[string]uint32
	messages []sentMessage // that have not been applied
	acks     []uint32
	streams  *Streams[string]
}

// do does one command. A mistake in it is its output.
func (s *scene) do(words []string) error {
	var name string
	var numbers []uint32
	for _, w := range words[1:] {
		n, err := strconv.ParseUint(w, 0, 32)
		if err != nil {
			name = w
			continue
		}
		numbers = append(numbers, uint32(n))
	}
	number := func(i int) uint32 {
		if i < len(numbers) {
			return numbers[i]
		}
		return 0
	}
	switch words[0] {
	case "flow":
		sp := Space{Bits: number(0), Window: number(1)}
		if err := sp.Check(); err != nil {
			return err
		}
		s.out, s.in = at(sp, number(2))
		s.writes, s.messages, s.acks = map[string]uint32{}, nil, nil
	case "write":
		if !s.out.HasRoom() {
			s.say("%s: no room, %d not acknowledged", name, s.out.Unacknowledged())
			return nil
		}
		s.writes[name] = s.out.Write()
		s.say("%s: number %d", name, s.writes[name])
	case "unwrite":
		s.out.Unwrite()
	case "fence", "signal":
		s.out.Follow()
	case "message":
		s.messages = append(s.messages, sentMessage{name: name, need: s.out.Need()})
		s.say("%s: follows %d", name, s.out.Need())
	case "flush":
		s.messages = append(s.messages, sentMessage{name: name, need: s.out.All(), flush: true})
		s.say("%s: follows %d", name, s.out.All())
	case "arrive":
		return s.arrive(name)
	case "again":
		return s.in.Arrive(s.writes[name])
	case "ack":
		if len(s.acks) == 0 {
			return fmt.Errorf("none is under way")
		}
		ack := s.acks[0]
		s.acks = s.acks[1:]
		if err := s.out.HandleAck(ack); err != nil {
			return err
		}
		s.say("%d are in, %d not acknowledged", ack, s.out.Unacknowledged())
	case "streams":
		s.streams = NewStreams[string](number(0))
	case "open":
		if n, ok := s.streams.Open(name); ok {
			s.say("%s: stream %d", name, n)
		} else {
			s.say("%s: no number left", name)
		}
	case "close":
		s.streams.Close(name)
	case "of":
		flow, err := s.streams.Of(number(0))
		if err == nil {
			s.say("stream %d: %s", number(0), flow)
		}
		return err
	default:
		return fmt.Errorf("there is no such command")
	}
	return nil
}

func (s *scene) arrive(name string) error {
	known := false
	if n, ok := s.writes[name]; ok {
		known = true
		if err := s.in.Arrive(n); err != nil {
			return err
		}
	}
	for i := range s.messages {
		if s.messages[i].name == name {
			known, s.messages[i].here = true, true
		}
	}
	if !known {
		return fmt.Errorf("it is not under way")
	}
	s.say("%s: in, all below %d are", name, s.in.Ack())
	for len(s.messages) > 0 && s.messages[0].here {
		m := s.messages[0]
		ok, err := s.in.Reached(m.need)
		if err != nil || !ok {
			return err
		}
		s.say("%s: applied", m.name)
		s.messages = s.messages[1:]
		if m.flush {
			s.acks = append(s.acks, s.in.Ack())
		}
	}
	return nil
}
