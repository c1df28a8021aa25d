package relay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"libshmem"
)

func TestFrames(t *testing.T) {
	var stream []byte
	all := []Frame{
		{Ping, All, Number(7)},
		{Stdout, 3, bytes.Repeat([]byte("x"), 3*chunk+5)},
		{Over, All, nil},
		{Reply, All, AppendReply(nil, []libshmem.PE{1, 4}, []byte("frame"))},
	}
	for _, f := range all {
		stream = Append(stream, f)
	}
	r := bytes.NewReader(stream)
	for _, want := range all {
		if got, err := Read(r); err != nil || got.Kind != want.Kind || got.PE != want.PE || !bytes.Equal(got.Payload, want.Payload) {
			t.Errorf("%v: %v of PE %d with %d bytes, error %v", want.Kind, got.Kind, got.PE, len(got.Payload), err)
		}
	}
	if _, err := Read(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if _, err := Read(bytes.NewReader(stream[:headerBytes+2])); err != io.ErrUnexpectedEOF {
		t.Errorf("inside a frame: %v", err)
	}
	pes, frame, err := ParseReply(all[3].Payload)
	if err != nil || !reflect.DeepEqual(pes, []libshmem.PE{1, 4}) || string(frame) != "frame" {
		t.Errorf("answer: %v, %q, %v", pes, frame, err)
	}
	for k := Kind(1); k < kinds; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", uint8(k))
		}
	}
}

func TestMalformed(t *testing.T) {
	good := Append(nil, Frame{Exited, 1, Number(9)})
	for _, at := range []int{0, 1, 3, 7, 11} {
		bad := bytes.Clone(good)
		bad[at] = 0xff
		if f, err := Read(bytes.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("byte %d: %+v, error %v", at, f, err)
		}
	}
	for _, p := range [][]byte{nil, {1, 0, 0}, {2, 0, 0, 0, 1, 0, 0, 0}, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f}} {
		if pes, _, err := ParseReply(p); !errors.Is(err, ErrFormat) {
			t.Errorf("answer % x: %v, error %v", p, pes, err)
		}
	}
	for _, p := range []string{"", "{}", `{"NPEs":2,"Hosts":1,"PEs":[2]}`, `{"NPEs":3,"Hosts":1,"PEs":[1,0]}`, `{"NPEs":1,"Hosts":0,"PEs":[0]}`, `{"NPEs":1,"Hosts":1,"PEs":[0,0]}`} {
		if s, err := ParseSpec([]byte(p)); !errors.Is(err, ErrFormat) {
			t.Errorf("job %s: %+v, error %v", p, s, err)
		}
	}
}

// TestSpec: arguments that are no text arrive as they are.
func TestSpec(t *testing.T) {
	want := &Spec{Host: "b", NPEs: 4, Hosts: 2, PEs: []libshmem.PE{2, 3}, Program: []byte("./x\xff"),
		Args: [][]byte{[]byte("\xfe\n"), {}}, Env: [][]byte{[]byte("A=\x80")}, Dir: []byte("/"), Bind: "auto", Silence: 5}
	p, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseSpec(p); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, error %v, want %+v", got, err, want)
	}
}

func TestReadGreeting(t *testing.T) {
	for _, before := range []string{"", "Welcome to b\n", "no end", strings.Repeat("x", 5000) + "\n"} {
		r := bufio.NewReader(strings.NewReader(before + Greeting() + "next"))
		noise, err := ReadGreeting(r)
		rest, _ := io.ReadAll(r)
		if err != nil || noise != before || string(rest) != "next" {
			t.Errorf("after %.20q: noise %.20q, error %v, then %q", before, noise, err, rest)
		}
	}
	other := strings.Replace(Greeting(), libshmem.Version, "0.0.1", 1)
	var v *VersionError
	if _, err := ReadGreeting(bufio.NewReader(strings.NewReader(other))); !errors.As(err, &v) || v.Theirs != "0.0.1" {
		t.Errorf("another version: %v", err)
	}
	if noise, err := ReadGreeting(bufio.NewReader(strings.NewReader("sh: not found\n"))); err != io.EOF || noise != "sh: not found\n" {
		t.Errorf("no agent: %q, error %v", noise, err)
	}
	if _, err := ReadGreeting(bufio.NewReader(strings.NewReader(strings.Repeat("y\n", MaxNoise)))); err == nil || !strings.Contains(err.Error(), "no greeting") {
		t.Errorf("endless noise: %v", err)
	}
}

// FuzzRead: whatever comes, Read ends with a frame that it could have been made from, or an error.
func FuzzRead(f *testing.F) {
	f.Add(Append(nil, Frame{Exited, 1, Number(9)}))
	f.Add(Append(nil, Frame{Reply, All, AppendReply(nil, []libshmem.PE{0}, []byte("x"))}))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if again := Append(nil, got); !bytes.Equal(again, data[:len(again)]) {
			t.Fatalf("% x is read as %+v", data, got)
		}
		_, _, _ = ParseReply(got.Payload)
		_, _ = ParseSpec(got.Payload)
		_, _ = ParseFailure(got.Payload)
	})
}
