package sim

import (
	"fmt"
	"strings"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// Time is virtual: since the network began, or between two events.
type Time = time.Duration

// Units of Time.
const (
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
)

// Model describes a kind of network: its promises, its speed and its faults.
type Model struct {
	Name string
	Caps fabric.Caps // promises of endpoints that ask for everything

	MTU       int    // bytes of one packet, without its header
	Header    int    // bytes that the wire carries besides
	Bandwidth uint64 // bits a second of one NIC, each way; 0: unlimited
	Latency   Time   // from NIC to NIC
	Rails     int    // NIC i of each host is on rail i % Rails
	Cross     Time   // further latency between NICs on different rails
	NICs      int    // of each host
	Skew      int    // NIC i of each host takes 1 + i*Skew times as long as NIC 0 for a packet on its wire, and for the way to the NIC of another endpoint
	Depth     int    // operations of one endpoint under way at a time; more are refused
	Post      Time   // for which the host's processor is busy with each operation of its endpoints
	Detect    Time   // until an operation on a peer that is gone has failed

	Longest   int  // bytes of a message; 0: any number
	Queue     int  // completions that a queue may have room for, a power of two; 0: any number
	Handshake int  // operations of one endpoint that may wait for handshakes; 0: there are none (handshake.go)
	Software  bool // the target's processor receives messages: only its Polls move them (socket.go)
	Retries   bool // a message that finds no receive buffer goes back, and its sender tries again (retry.go)
	Strangers bool // Writes and Reads also reach an endpoint that does not have their sender among its peers

	Delivers   bool // Writes complete at the target if Config.Delivery asks for it, and Sends do not (with Caps.DeliveryComplete both always do)
	Reconnects bool // an endpoint that failed to reach a peer may reach its successor
	Backlog    bool // completions that find the queue full wait at the sender; else they are lost

	// PollBytes gives each endpoint a socket, which keeps what arrives until a Poll of that endpoint
	// reads it, at most PollBytes each time, but at least one packet. 0: there are no sockets, and
	// bytes go to memory as they arrive.
	PollBytes int

	faults.Faults
	Broken Defect // a promise that the network breaks, for tests that have to notice
}

// Defect is a promise that a network breaks. Tests use defects to check that a test notices them.
type Defect uint8

// The defects.
const (
	NoDefect       Defect = iota
	WritesOvertake        // Caps.WriteAfterWrite, at times
	MessagesPass          // Caps.SendAfterSend, at times
	MessagesLead          // Caps.SendAfterWrite, at times
	EarlyDelivery         // Caps.DeliveryComplete: writes complete when they have left
	EarlySource           // the source is read after the completion
	EarlyData             // KindData is completed at the first packet
	Repeats               // a packet that arrives again makes a second message
	Forgets               // a message is lost, at times
	Twice                 // a token completes twice, at times
	Unfenced              // Fence does nothing
	Torn                  // an atomic operation undoes another one, at times
	AnyKey                // keys are not checked
	Haunts                // the successor of an endpoint gets messages for the endpoint before it
	LosesWake             // an arrival does not end a Wait
	Spills                // a Write touches the byte after its last one
	Silent                // completions that do not fit the queue are lost without an error
	Undead                // memory of a closed endpoint is written
	ArmsUnread            // Arm checks only for completions, and returns true with bytes unread
	defects
)

// defectNames has the name of each Defect in the text of a model; "": NoDefect.
var defectNames = [defects]string{
	"", "writes-overtake", "messages-pass", "messages-lead", "early-delivery", "early-source", "early-data", "repeats", "forgets",
	"twice", "unfenced", "torn", "any-key", "haunts", "loses-wake", "spills", "silent", "undead", "arms-unread",
}

// String returns the defect's name in the text of a model.
func (d Defect) String() string { return defectNames[d] }

// ascendingBytes is the Caps.Block of a network that makes all bytes of a Write visible by
// ascending address.
const ascendingBytes = 1 << 62

// allOps returns all atomic operations on 4 and on 8 bytes.
func allOps() fabric.Ops {
	var s fabric.Ops
	for op := fabric.OpSet; op <= fabric.OpFetchXor; op++ {
		s = s.With(op, 4).With(op, 8)
	}
	return s
}

// TCP returns a network of connections: everything between two endpoints keeps its order, the
// target's CPU stores the bytes, and a completion means that the source may be reused.
func TCP() Model {
	return Model{
		Name: "tcp",
		Caps: fabric.Caps{
			MaxMessage: 1 << 40, MaxInject: 64, MaxInjectWrite: 64,
			WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true, ReadAfterWrite: true,
			Data: 8, Source: true, Block: ascendingBytes, LocalSegments: 4, RemoteSegments: 4,
			Atomics: allOps(), AtomicsWithCPU: true,
		},
		MTU: 1448, Header: 78, Bandwidth: 10e9, Latency: 10 * Microsecond, Depth: 1024, Detect: Millisecond,
		Strangers: true, Delivers: true, Reconnects: true, Backlog: true,
		Faults: faults.Faults{Reorder: 0.2, Delay: 30 * Microsecond, Late: 0.1, Split: 0.2},
	}
}

// Worst returns the model of a network that promises only that a completed write has been
// delivered, and that has every fault which this promise allows.
func Worst() Model {
	return Model{
		Name: "worst",
		Caps: fabric.Caps{
			MaxMessage: 1 << 20, MaxInject: 128, MaxInjectWrite: 128, VirtualAddress: true, LocalMR: true, DeliveryComplete: true,
			Data: 4, Fence: true, LocalSegments: 1, RemoteSegments: 1, Atomics: allOps(),
		},
		MTU: 1024, Header: 64, Bandwidth: 50e9, Latency: 2 * Microsecond, Depth: 96, Detect: Millisecond,
		Strangers: true,
		Faults: faults.Faults{
			Reorder: 0.7, Delay: 50 * Microsecond, Duplicate: 0.05, Drop: 0.02, Late: 0.4, Split: 0.5, Again: 0.15, Storm: 0.05,
		},
	}
}

// Bare returns the model Worst without the promise that a completed write was delivered, and of a
// provider that uses offsets in regions and needs no registration of local buffers.
func Bare() Model {
	m := Worst()
	m.Name, m.Caps.DeliveryComplete, m.Caps.VirtualAddress, m.Caps.LocalMR = "bare", false, false, false
	return m
}

// Models returns the models that Named knows.
func Models() []Model {
	return []Model{TCP(), Verbs(), EFA(), EFADirect(), EFA100(), Worst(), Bare()}
}

// Rough returns a model with the faults of Worst. It still keeps its promises.
func Rough(m Model) Model {
	m.Name += "-rough"
	m.Faults, m.Depth = Worst().Faults, Worst().Depth
	return m
}

// Unread returns a model with sockets. Each Poll of an endpoint reads pollBytes from its socket.
func Unread(m Model, pollBytes int) Model {
	m.PollBytes = pollBytes
	return m
}

// Named returns the model with a name. If the name ends in -rough, the model has the faults and the
// queue depth of the model "worst", but keeps its own promises. Such faults are dropped, duplicated
// and reordered packets.
func Named(name string) (Model, error) {
	plain, rough := strings.CutSuffix(name, "-rough")
	var names []string
	for _, m := range Models() {
		if m.Name == plain {
			if rough {
				m = Rough(m)
			}
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Model{}, fmt.Errorf("there is no model %q of a network (the models are %s; each may end in -rough)", name, strings.Join(names, ", "))
}
