package config

import (
	"time"

	"libshmem"
)

// Config holds the value of every setting.
type Config struct {
	Debug         bool
	Info          bool
	SymmetricSize uint64 // bytes
	growTo        uint64 // NVSHMEM_MAX_MEMORY_PER_GPU, for Reserve; 0: not set
	Version       bool

	Checks    Checks
	LogFile   string // with %h and %p as given
	LogLevel  LogLevel
	LogSubsys []string
	OnFailure OnFailure
	Ranges    Ranges
	Stats     Stats
	Timeout   time.Duration // 0: never report
	Preload   string        // not used here: libshmem_preload.so reads the variable itself
	Trace     string        // with %h and %p as given; "": none

	Heap          HeapKind
	MessageMemory uint64 // bytes of mailboxes, for short messages that wait for a receive
	NotifyCount   int    // notification counters of each PE
	Statics       Statics

	DisableP2P   bool
	GPUNet       GPUNet
	GPUShare     GPUShare
	ArchiveTeams int // number of teams for which kernels of NVIDIA's device archive have memory

	Libfabric string
	NICs      []string
	NICMap    string // SHMEM_NIC_PE_MAPPING
	NICInTurn bool
	NICPolicy NICPolicy
	Chaos     string // "": none
	Provider  string
	Fabric    Fabric

	RegistrationCache uint64 // bytes; 0: none
	Ordered           Ordered
	Require           []string
	Collectives       Collectives

	// A ring is a queue in which threads of a GPU or the host pass operations to the proxy, the
	// library's thread that posts them on the network.
	ProxyThreads int
	RingCount    int
	RingMapBy    RingMap
	RingMemory   RingMemory
	RingSize     int // slots of each ring, a power of two

	Bind               Bind
	Bootstrap          Bootstrap
	BootstrapDir       string
	BootstrapFamily    BootstrapFamily
	BootstrapFile      FileConfig
	BootstrapInterface string // as given
	BootstrapPlugin    string
	BootstrapSession   SessionConfig
	BootstrapTimeout   time.Duration
	HostID             string

	Launcher LauncherConfig

	// values[i] is the value of Table[i] as text, and the variable that set it.
	values []Value
}

// SessionConfig is the address at which PEs meet without a launcher. The numbers of PEs are in
// FileConfig.
type SessionConfig struct {
	Address    string // HOST:PORT, as given; "": none
	Secret     string // as given
	SecretFile string // the file with the secret
}

// LauncherConfig is shmemrun's message to its PEs.
type LauncherConfig struct {
	FD      int // -1: there is no launcher
	PE      libshmem.PE
	NPEs    int
	Hosts   int    // hosts by ssh, or simulated ones; 0: neither
	CPUs    string // the processors to which shmemrun has bound the PE, as 0-3,8; "": not bound
	Helpers string // the processors to which shmemrun has bound no PE of the job
	Bind    string // the value of --bind
	Binding string // how PEs are bound, for the banner
}

// FileConfig configures the bootstrap through a shared file.
type FileConfig struct {
	Path string      // "": the PEs use no file
	PE   libshmem.PE // -1: not set
	NPEs int         // 0: not set
}

// Present reports whether the process was started by shmemrun.
func (l LauncherConfig) Present() bool { return l.FD >= 0 }

// Banner reports whether PE 0 prints its banner line.
func (c *Config) Banner() bool { return c.Debug || c.LogLevel >= LogInfo }

// Value is the state of one setting.
type Value struct {
	*Setting
	Text string // the value in the setting's own words, or the default; notShown for a Secret
	From string // the variable that gave it; "" for the default
}

// Values lists the settings with their state, in the order of the Table.
func (c *Config) Values() []Value { return c.values }

// OnFailure says what happens to a job after the loss of a PE.
type OnFailure uint8

// The values.
const (
	AbortOnFailure OnFailure = iota
	ReturnOnFailure
)

// Stats selects the PEs whose counters are printed at the end.
type Stats uint8

// The choices; each prints what the one before it prints, and more.
const (
	StatsOff Stats = iota
	StatsJob
	StatsAll
)

// LogLevel is a level of messages; a larger level has more detail.
type LogLevel uint8

// The levels.
const (
	LogError LogLevel = iota
	LogWarn
	LogInfo
	LogDebug
	LogTrace
)

// HeapKind is the memory of the symmetric heap.
type HeapKind uint8

// The kinds; HeapAuto selects one of the others, depending on the program and the machine.
const (
	HeapAuto HeapKind = iota
	HeapHost
	HeapPinned
	HeapDevice
)

// Statics selects whether the program's globals and statics are symmetric.
type Statics uint8

// The choices; with StaticsAuto globals and statics are symmetric if that is possible.
const (
	StaticsAuto Statics = iota
	StaticsOn
	StaticsOff
)

// NICPolicy is how operations are spread over several NICs.
type NICPolicy uint8

// The policies.
const (
	NICPolicyAuto NICPolicy = iota
	NICPolicySplit
	NICPolicyRoundRobin
)

// Fabric is a fabric of the provider efa.
type Fabric uint8

// The values of Fabric (SHMEM_FABRIC).
const (
	FabricAuto Fabric = iota
	FabricEFA
	FabricDirect
)

// Named returns the fabric that the setting demands, as libfabric names it; "" for auto.
func (f Fabric) Named() string {
	if f == FabricAuto {
		return ""
	}
	return f.String()
}

// Ordered selects how many bytes of a write the library expects the network to show in order.
type Ordered uint8

// The choices; with OrderedAuto the library expects what the network reports.
const (
	OrderedAuto Ordered = iota
	OrderedNone
	Ordered128
	Ordered4096
)

// String returns the value as it is written in SHMEM_ORDERED_BYTES.
func (o Ordered) String() string { return choiceOf("SHMEM_ORDERED_BYTES", int(o)) }

// Bytes returns the number of bytes for which the user guarantees the order; -1 if the network's
// report counts.
func (o Ordered) Bytes() int { return [...]int{-1, 0, 128, 4096}[o] }

// GPUNet is how the proxy, the library's thread that posts network operations, moves GPU memory.
type GPUNet uint8

// The values; GPUNetAuto selects one of the others.
const (
	GPUNetAuto GPUNet = iota
	GPUNetDMABuf
	GPUNetPeerMem
	GPUNetStage
	GPUNetCopy
)

// Reaches reports whether the setting lets NICs reach GPU memory.
func (g GPUNet) Reaches() bool { return g != GPUNetStage && g != GPUNetCopy }

// GPUShare is how PEs share their heaps in GPU memory with the other PEs of the host.
type GPUShare uint8

// The values; GPUShareAuto selects the first of the others that works.
const (
	GPUShareAuto GPUShare = iota
	GPUShareVMM
	GPUShareIPC
)

// RingMap decides which ring a thread uses.
type RingMap uint8

// The mappings.
const (
	RingByCTA RingMap = iota
	RingBySM
	RingByWarp
	RingByPE
)

// RingMemory is the memory of the rings of GPU threads.
type RingMemory uint8

// The kinds of memory; RingAuto selects the first of the others that works.
const (
	RingAuto RingMemory = iota
	RingPinned
	RingManaged
	RingBAR
)

// Bind selects the threads that the library binds to processors near the PE's GPU or NIC.
type Bind uint8

// The choices.
const (
	BindAuto Bind = iota
	BindOff
	BindProxy
	BindPE // the PE's thread and the proxy
)

// Bootstrap selects how PEs find each other: a value of SHMEM_BOOTSTRAP. runtime/job/place has a
// row for each value.
type Bootstrap string

// BootstrapAuto chooses by the environment of the process.
const BootstrapAuto Bootstrap = "auto"

// BootstrapFamily is the family of the addresses in a unique id.
type BootstrapFamily uint8

// The families.
const (
	BootstrapAnyFamily BootstrapFamily = iota
	BootstrapIPv4
	BootstrapIPv6
)

// String returns the value's word in SHMEM_BOOTSTRAP_FAMILY.
func (f BootstrapFamily) String() string { return choiceOf("SHMEM_BOOTSTRAP_FAMILY", int(f)) }

// String returns the value's word in SHMEM_CHECKS.
func (c Checks) String() string { return choiceOf("SHMEM_CHECKS", int(c)) }

// String returns the value's word in SHMEM_ON_FAILURE.
func (o OnFailure) String() string { return choiceOf("SHMEM_ON_FAILURE", int(o)) }

// String returns the value's word in SHMEM_STATS.
func (s Stats) String() string { return choiceOf("SHMEM_STATS", int(s)) }

// String returns the value's word in SHMEM_LOG_LEVEL.
func (l LogLevel) String() string { return choiceOf("SHMEM_LOG_LEVEL", int(l)) }

// String returns the value's word in SHMEM_HEAP.
func (h HeapKind) String() string { return choiceOf("SHMEM_HEAP", int(h)) }

// String returns the value's word in SHMEM_STATICS.
func (s Statics) String() string { return choiceOf("SHMEM_STATICS", int(s)) }

// String returns the value's word in SHMEM_NIC_POLICY.
func (p NICPolicy) String() string { return choiceOf("SHMEM_NIC_POLICY", int(p)) }

// String returns the value's word in SHMEM_FABRIC.
func (f Fabric) String() string { return choiceOf("SHMEM_FABRIC", int(f)) }

// String returns the value's word in SHMEM_GPU_NET.
func (g GPUNet) String() string { return choiceOf("SHMEM_GPU_NET", int(g)) }

// String returns the value's word in SHMEM_GPU_SHARE.
func (g GPUShare) String() string { return choiceOf("SHMEM_GPU_SHARE", int(g)) }

// String returns the value's word in SHMEM_RING_MAP_BY.
func (m RingMap) String() string { return choiceOf("SHMEM_RING_MAP_BY", int(m)) }

// String returns the value's word in SHMEM_RING_MEMORY.
func (m RingMemory) String() string { return choiceOf("SHMEM_RING_MEMORY", int(m)) }

// String returns the value's word in SHMEM_BIND.
func (b Bind) String() string { return choiceOf("SHMEM_BIND", int(b)) }

// choiceOf returns the i-th word that a setting allows, for messages.
func choiceOf(name string, i int) string {
	if s := Lookup(name); s != nil && i < len(s.Choices) {
		return s.Choices[i]
	}
	return "unknown"
}
