package ofi

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/tests/need"
)

// wire stands between PE 0, which connects, and PE 1, as a process does that is root on the network
// between two hosts. It passes bytes on, and may change them.
type wire struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	change func(conn int, back bool, at int, b []byte) // b is what comes from position at on
	sent   [][]byte                                    // by PE 0, by connection
	passed [2]int                                      // bytes of the first connection, to PE 1 and back
}

// throughWire opens two endpoints whose connections go through a wire if PE 0 asks for them.
func throughWire(t *testing.T) (all []*side, w *wire) {
	t.Helper()
	provider := linked(t)
	for range 2 {
		all = append(all, newSideOn(t, provider, "lo"))
	}
	w = &wire{to: portOf(t, all[1])}
	var err error
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Add(1)
	go func() { defer running.Done(); w.run(&running) }()
	t.Cleanup(func() { _ = w.listener.Close() })
	near, far := all[0].Addr(), all[1].Addr()
	by := bytes.Clone(far)
	binary.BigEndian.PutUint16(by[2:], uint16(w.listener.Addr().(*net.TCPAddr).Port))
	for i, addrs := range [][][]byte{{near, by}, {near, far}} {
		if err := all[i].Connect(addrs); err != nil {
			t.Fatal(err)
		}
		for tok := range fabric.Token(8) {
			if err := all[i].Recv(all[i].at(64*int(tok)), 64, all[i].region.Desc, tok); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all, w
}

func (w *wire) run(running *sync.WaitGroup) {
	for n := 0; ; n++ {
		from, err := w.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		w.mu.Lock()
		w.sent = append(w.sent, nil)
		w.mu.Unlock()
		running.Add(2)
		go func() { defer running.Done(); w.pass(n, false, from, to) }()
		go func() { defer running.Done(); w.pass(n, true, to, from) }()
	}
}

func (w *wire) pass(conn int, back bool, from, to net.Conn) {
	b := make([]byte, 64<<10)
	for at := 0; ; {
		n, err := from.Read(b)
		w.mu.Lock()
		if !back {
			w.sent[conn] = append(w.sent[conn], b[:n]...)
		}
		if w.change != nil {
			w.change(conn, back, at, b[:n])
		}
		if conn == 0 {
			w.passed[number(back)] += n
		}
		w.mu.Unlock()
		at += n
		if _, failed := to.Write(b[:n]); failed != nil || err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

// recorded returns what PE 0 has sent by its first connection.
func (w *wire) recorded() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.sent[0])
}

// flips changes one bit of what goes one way by the first connection.
func (w *wire) flips(back bool, position, bit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change = func(conn int, b bool, at int, bytes []byte) {
		if conn == 0 && b == back && at <= position && position < at+len(bytes) {
			bytes[position-at] ^= 1 << bit
		}
	}
}

// The bytes of a handshake on the wire: libfabric's header and a message of package handshake each
// way, and then the last word, a header with immediate data.
const (
	handshakeBytes = 32 + 80
	wordBytes      = 16 + 8
)

// hasten makes seconds pass for an endpoint that waits in a handshake.
func hasten(s *side) {
	l := s.Provider.(*endpoint).links
	l.began = l.began.Add(-time.Second)
}

// TestChangedHandshake changes a bit of a handshake on the wire. Messages of both sides come all
// the same. Only a change of libfabric's own headers, which no MAC covers, may break a connection
// that one side uses already: then each side reports the loss of the other.
func TestChangedHandshake(t *testing.T) {
	for seed := range uint64(need.Load("wire")) {
		rng := rand.New(rand.NewPCG(seed, 2))
		all, w := throughWire(t)
		back, position := rng.IntN(2) == 0, rng.IntN(handshakeBytes)
		if !back {
			position = rng.IntN(handshakeBytes + wordBytes)
		}
		w.flips(back, position, rng.IntN(8))
		theirs := position < 32 || position >= handshakeBytes && position < handshakeBytes+16
		sent := [2]bool{}
		polls := 0
		serve(t, all, "messages or losses", func() bool {
			if polls++; polls%5000 == 0 {
				hasten(all[0])
				hasten(all[1])
			}
			ended := 0
			for i, s := range all {
				m := fabric.Send{To: libshmem.PE(1 - i), Buf: s.at(1024), Len: 8, Desc: s.region.Desc, Token: 9}
				err := fabric.ErrAgain
				if !sent[i] {
					err = s.Send(&m)
					sent[i] = err == nil
				}
				lost, came := tally(s)
				switch {
				case lost && !theirs:
					t.Fatalf("seed %d, byte %d, back %v: PE %d reports %+v", seed, position, back, i, s.came)
				case err != nil && err != fabric.ErrAgain && !lost:
					t.Fatalf("seed %d, byte %d, back %v: PE %d: %v", seed, position, back, i, err)
				}
				if lost || came && sent[i] {
					ended++
				}
			}
			return ended == 2
		})
	}
}

// tally reports whether an endpoint has lost the other one, and whether a message of it has come.
func tally(s *side) (lost, came bool) {
	for _, c := range s.came {
		lost = lost || c.Kind == fabric.KindTrouble
		came = came || c.Kind == fabric.KindRecv && c.Err == 0
	}
	return lost, came
}

// TestReplayed records all that a PE sends to another, with messages and a write that has a key,
// and sends it to the endpoint again: while the connection is in use and after it has ended, whole
// and in parts. Each time it is refused, no message comes, and no byte of memory changes.
func TestReplayed(t *testing.T) {
	all, w := throughWire(t)
	message(t, all, all[0], 1)
	put := fabric.RMA{PE: 1, Local: all[0].at(0), Len: 512, Desc: all[0].region.Desc, Remote: 3072, Key: all[1].region.Key, Token: 10}
	if all[1].Caps().VirtualAddress {
		put.Remote += uint64(uintptr(all[1].at(0)))
	}
	copy(all[0].mem, bytes.Repeat([]byte{7}, 512))
	serve(t, all, "a write", func() bool { return posts(t, all[0].Write(&put)) })
	message(t, all, all[0], 1)
	if all[1].mem[3072] != 7 || all[1].mem[3583] != 7 {
		t.Fatal("the write has not come before the message after it")
	}
	clear(all[1].mem[3072:])
	all[1].came = nil
	record := w.recorded()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		part := record
		if i%3 == 2 {
			part = record[:handshakeBytes+rng.IntN(len(record)-handshakeBytes)]
		}
		refused := all[1].Strangers()
		c, err := net.Dial("tcp", w.to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(part); err != nil {
			t.Fatal(err)
		}
		serve(t, all, "a refusal", func() bool { return all[1].Strangers() > refused })
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if answer, _ := io.ReadAll(c); len(answer) > 0 && answer[1] != 6 {
			t.Errorf("the answer to a replay: %x", answer)
		}
		_ = c.Close()
		if i == 10 {
			message(t, all, all[1], 0) // the pair is as it was
			all[1].came = nil
			if err := all[0].Close(); err != nil {
				t.Fatal(err)
			}
			all = all[1:]
			all = []*side{all[0], all[0]}
		}
	}
	if len(all[1].came) > 0 || !bytes.Equal(all[1].mem[3072:], make([]byte, 1024)) {
		t.Errorf("came of replays: %+v, and memory %x", all[1].came, all[1].mem[3072:3080])
	}
}
