package config

import (
	"math"
	"strings"
	"time"

	"libshmem"
)

// Prefix begins the name of every setting.
const Prefix = "SHMEM_"

// oldPrefix begins the earlier names of the specification's own settings.
const oldPrefix = "SMA_"

// Kind is how the text of a value is parsed.
type Kind uint8

// The kinds of value.
const (
	Flag    Kind = iota // any value switches it on, except 0, no, off and false
	Size                // bytes: a decimal number and an optional k, m, g or t
	Seconds             // a decimal number of seconds
	Integer             // a decimal integer
	Choice              // one of Choices, in either case
	List                // words separated by commas
	Text                // used as it is
)

// Category groups settings in printed lists.
type Category uint8

// The categories, in the order of printed lists.
const (
	Standard Category = iota // defined by the OpenSHMEM specification
	Diagnostics
	Memory
	GPUs
	Network
	Rings // between the threads that start operations and the proxy
	Launch
	Launcher // set by shmemrun for its PEs, not by users
)

// Setting is one row of the table.
type Setting struct {
	Name     string   // with the prefix
	Aliases  []string // other names with the same meaning and the same values
	Kind     Kind
	Default  string   // as a user would write it; "" for none
	Choices  []string // Choice: the values; List: the words that may occur, nil for any
	Except   bool     // List: with ^ in front, the words stand for all other Choices
	Foreign  foreign  // the words that other libraries have defined for Aliases
	Min, Max float64  // Size, Seconds, Integer: the range, both ends allowed
	PowerOf2 bool     // Integer: only powers of two are allowed
	Secret   bool     // the value is never shown
	Category Category
	Since    string // the first release with the setting
	Text     string // the effect, in one sentence or two

	set func(*Config, parsed) // stores the value in its field of the Config
}

// foreign has, for each alias with words of its own, a map from such a word in lower case to the
// word of the setting that means the same; "" if none does.
type foreign map[string]map[string]string

// parsed is a value as Setting.parse has read it. The Kind says which field is set; text always is.
type parsed struct {
	on    bool
	bytes uint64
	span  time.Duration
	num   int
	index int // into Choices
	words []string
	text  string
}

// MaxHeap is the largest symmetric heap of a PE in bytes: 2^44. Where words contain offsets into
// the heap beside other values, the offsets have 44 bits.
const MaxHeap = 1 << 44

// maxWait bounds the settings that are times, in seconds: a year, far below the overflow of
// time.Duration.
const maxWait = 365 * 24 * 3600

// Table lists the settings: categories in order, names sorted inside each.
var Table = []Setting{
	{
		Name: "SHMEM_DEBUG", Aliases: []string{"SMA_DEBUG"}, Kind: Flag, Category: Standard, Since: "0.1",
		Text: "Print debugging messages: the banner of the job, and the log at level debug (which includes the map of the job) unless SHMEM_LOG_LEVEL sets another level.",
		set:  func(c *Config, v parsed) { c.Debug = v.on },
	},
	{
		Name: "SHMEM_INFO", Aliases: []string{"SMA_INFO", "NVSHMEM_INFO"}, Kind: Flag, Category: Standard, Since: "0.1",
		Text: "Print this list of settings with their current values at initialisation.",
		set:  func(c *Config, v parsed) { c.Info = v.on },
	},
	{
		Name: "SHMEM_SYMMETRIC_SIZE", Aliases: []string{"SMA_SYMMETRIC_SIZE", "NVSHMEM_SYMMETRIC_SIZE"}, Kind: Size, Default: "1g", Min: 1, Max: MaxHeap, Category: Standard, Since: "0.1",
		Text: "Bytes of the symmetric heap of each PE. Address space is reserved at once, memory is used when blocks are allocated and touched.",
		set:  func(c *Config, v parsed) { c.SymmetricSize = v.bytes },
	},
	{
		Name: "SHMEM_VERSION", Aliases: []string{"SMA_VERSION", "NVSHMEM_VERSION"}, Kind: Flag, Category: Standard, Since: "0.1",
		Text: "Print the version of the library at initialisation.",
		set:  func(c *Config, v parsed) { c.Version = v.on },
	},

	{
		Name: "SHMEM_CHECKS", Kind: Choice, Default: "on", Choices: []string{"off", "on", "full"}, Category: Diagnostics, Since: "0.1",
		Text: "How thoroughly arguments are checked. on: PE numbers, addresses and ranges; full: also that each range lies in one allocated block, and that the PEs of a team make the same collective calls with the same arguments; off: only checks that cost nothing. At present off makes the same checks as on, because the lookup of an address includes them: NULL, an address that is not symmetric, a range that is too long and a PE that does not exist still end the job.",
		set:  func(c *Config, v parsed) { c.Checks = Checks(v.index) },
	},
	{
		Name: "SHMEM_LOG_FILE", Aliases: []string{"NVSHMEM_DEBUG_FILE"}, Kind: Text, Category: Diagnostics, Since: "0.1",
		Text: "File for the log in place of standard error. %h becomes the name of the host, %p the process id, %% a percent sign. In a file each line is a JSON object, unless the file is a terminal. Text messages begin with shmem: host:process:thread [GPU] PE, as far as these exist; the banner, warnings about settings and reports of waits and counters, which name their PE themselves, begin only with shmem:.",
		set:  func(c *Config, v parsed) { c.LogFile = v.text },
	},
	{
		Name: "SHMEM_LOG_LEVEL", Aliases: []string{"NVSHMEM_DEBUG"}, Kind: Choice, Default: "warn", Choices: []string{"error", "warn", "info", "debug", "trace"}, Category: Diagnostics, Since: "0.1",
		Foreign: foreign{"NVSHMEM_DEBUG": {"version": "error", "warn": "warn", "info": "info", "abort": "debug", "trace": "trace"}},
		Text:    "The finest messages that are logged. From info on, PE 0 prints one banner line, and from debug on the map of the job as well: the path by which each PE reaches each other PE (docs/start/recipes.md).",
		set:     func(c *Config, v parsed) { c.LogLevel = LogLevel(v.index) },
	},
	{
		Name: "SHMEM_LOG_SUBSYS", Aliases: []string{"NVSHMEM_DEBUG_SUBSYS"}, Kind: List, Default: "all", Except: true, Choices: []string{"all", "pe", "config", "bootstrap", "heap", "gpu", "fabric", "proxy", "ring", "coll"}, Category: Diagnostics, Since: "0.1",
		Foreign: foreign{"NVSHMEM_DEBUG_SUBSYS": {
			"all": "all", "init": "pe", "util": "config", "bootstrap": "bootstrap", "mem": "heap", "p2p": "gpu",
			"transport": "fabric", "topo": "fabric", "proxy": "proxy", "coll": "coll",
		}},
		Text: "The parts of the library whose messages are logged below level warn.",
		set:  func(c *Config, v parsed) { c.LogSubsys = v.words },
	},
	{
		Name: "SHMEM_NVTX", Aliases: []string{"NVSHMEM_NVTX"}, Kind: List, Default: "off", Choices: rangeWords, Category: Diagnostics, Since: "0.1",
		Foreign: foreign{"NVSHMEM_NVTX": nvshmemRangeWords},
		Text:    "The groups of calls that a profiler shows as NVTX ranges (docs/guides/trace.md). common: init, alloc, coll, wait, memorder, atomic_fetch, rma_blocking and proxy; all: every group; off: none, even if other groups are named. Without a profiler there are no ranges, and no cost.",
		set:     func(c *Config, v parsed) { c.Ranges = rangesOf(v.words) },
	},
	{
		Name: "SHMEM_ON_FAILURE", Kind: Choice, Default: "abort", Choices: []string{"abort", "return"}, Category: Diagnostics, Since: "0.1",
		Text: "What happens to the other PEs when one ends before shmem_finalize, or cannot be reached any more. abort: the job ends, and the PE is named; return: a call that needs the lost PE returns an error (shmemx_last_error), and the others continue without it (docs/guides/failure.md). All PEs need the same value.",
		set:  func(c *Config, v parsed) { c.OnFailure = OnFailure(v.index) },
	},
	{
		Name: "SHMEM_PRELOAD", Kind: Text, Category: Diagnostics, Since: "0.1",
		Text: "What libshmem_preload.so does if LD_PRELOAD names it: trace, with ,file=DIR ,calls=PATTERN ,size=BYTES ,full=wait ,clock=off (docs/guides/trace.md), redirect, slow, early or chaos (docs/guides/preload.md); several words are joined by +. If it is unset, trace. libshmem.so itself does not read it.",
		set:  func(c *Config, v parsed) { c.Preload = v.text },
	},
	{
		Name: "SHMEM_STATS", Kind: Choice, Default: "0", Choices: []string{"0", "1", "all"}, Category: Diagnostics, Since: "0.1",
		Text: "The PEs' counters, printed when they finalize (docs/reference/counters.md). 1: PE 0 prints one table, with the sum of each counter over the PEs, the median, and the minimum and the maximum with their PEs; all: each PE prints its own table as well, with a line for each PE that it had operations on. The tables are written to the log.",
		set:  func(c *Config, v parsed) { c.Stats = Stats(v.index) },
	},
	{
		Name: "SHMEM_TIMEOUT", Kind: Seconds, Default: "60", Min: 0, Max: maxWait, Category: Diagnostics, Since: "0.1",
		Text: "Seconds after which a wait reports what it waits for. The wait continues: the report never ends a legal wait. If the wait is for a PE that has exited with status 0 without shmem_finalize, the job ends then (docs/guides/failure.md). A GPU driver call that has not returned for that time is also reported, once (docs/guides/gpu-network.md). 0 never reports. The signal USR2 triggers both reports at once.",
		set:  func(c *Config, v parsed) { c.Timeout = v.span },
	},
	{
		Name: "SHMEM_TRACE", Kind: Text, Category: Diagnostics, Since: "0.1",
		Text: "File for a trace of rings, proxies and NICs that Perfetto reads (docs/guides/trace.md). %h becomes the name of the host, %p the process id, and the number of the PE is inserted before the extension: with trace.json PE 3 writes trace.3.json. A traced job is slower. If it is empty, nothing is traced, at no cost.",
		set:  func(c *Config, v parsed) { c.Trace = v.text },
	},

	{
		Name: "SHMEM_HEAP", Kind: Choice, Default: "auto", Choices: []string{"auto", "host", "pinned", "device"}, Category: Memory, Since: "0.1",
		Text: "The memory of the symmetric heap. host: main memory, shared by the PEs of a node; pinned: the same, mapped into the PE's GPU; device: memory of the PE's GPU; auto: device if the program has kernels that include shmem/shmem.cuh and the PE has a GPU, else host; host in Python.",
		set:  func(c *Config, v parsed) { c.Heap = HeapKind(v.index) },
	},
	{
		Name: "SHMEM_MESSAGE_MEMORY", Kind: Size, Default: "4m", Min: 64, Max: 1 << 40, Category: Memory, Since: "0.1",
		Text: "Bytes of each PE in which short messages wait for shmemx_recv. They are divided among the PEs that may send: 64 bytes to 64 KiB for each, a power of two. All PEs need the same number.",
		set:  func(c *Config, v parsed) { c.MessageMemory = v.bytes },
	},
	{
		Name: "SHMEM_NOTIFY_COUNT", Kind: Integer, Default: "4096", Min: 1, Max: 65535, Category: Memory, Since: "0.1",
		Text: "Notification counters of each PE (shmemx_putmem_notify), of 8 bytes each, and of 8 more in the heap if some PE has a GPU. All PEs need the same number. Eager transfers have up to 4096 more, with a limit of 65535 for both.",
		set:  func(c *Config, v parsed) { c.NotifyCount = v.num },
	},
	{
		Name: "SHMEM_STATICS", Kind: Choice, Default: "auto", Choices: []string{"auto", "on", "off"}, Category: Memory, Since: "0.1",
		Text: "Whether the program's global and static variables are symmetric (docs/guides/statics.md). auto: if the program itself is linked with libshmem.so and is the same on all PEs; on: always, or shmem_init fails; off: never, and a call with such a variable ends the job with a message.",
		set:  func(c *Config, v parsed) { c.Statics = Statics(v.index) },
	},

	{
		Name: "SHMEM_ARCHIVE_TEAMS", Kind: Integer, Default: "32", Min: 8, Max: 1000, Category: GPUs, Since: "0.1",
		Text: "Teams that can be used by kernels of NVIDIA's device archive, in programs that are built with it. Each takes 9 MiB of the heap and more in jobs of many PEs. PEs with different values use the smallest.",
		set:  func(c *Config, v parsed) { c.ArchiveTeams = v.num },
	},
	{
		Name: "SHMEM_DISABLE_P2P", Aliases: []string{"NVSHMEM_DISABLE_P2P"}, Kind: Flag, Category: GPUs, Since: "0.1",
		Text: "Kernels do not access other PEs' memory by loads and stores, even where they could: every operation goes through a ring and the proxy.",
		set:  func(c *Config, v parsed) { c.DisableP2P = v.on },
	},
	{
		Name: "SHMEM_GPU_NET", Kind: Choice, Default: "auto", Choices: []string{"auto", "dmabuf", "peermem", "stage", "copy"}, Category: GPUs, Since: "0.1",
		Text: "How the proxy moves GPU memory. dmabuf: the NIC reads and writes the heap, which is registered as dma-bufs; peermem: the same, with a kernel module that finds the memory; stage: through pinned main memory and the network; copy: between heaps of one host by the GPU's copy engine, and to other hosts as stage; auto: the first of dmabuf, peermem and stage that works; the banner names it, and the log explains the choice.",
		set:  func(c *Config, v parsed) { c.GPUNet = GPUNet(v.index) },
	},
	{
		Name: "SHMEM_GPU_SHARE", Kind: Choice, Default: "auto", Choices: []string{"auto", "vmm", "ipc"}, Category: GPUs, Since: "0.1",
		Text: "How the PEs of a host share their heaps in GPU memory. vmm: through file descriptors of the driver's virtual memory management, and heaps grow on demand; ipc: through CUDA IPC handles, and the whole heap is allocated at once; auto: vmm if it works, else ipc.",
		set:  func(c *Config, v parsed) { c.GPUShare = GPUShare(v.index) },
	},

	{
		Name: "SHMEM_CHAOS", Kind: Text, Category: Network, Since: "0.1",
		Text: "A number, and words such as reorder=0.5,delay=1ms: all PEs communicate over the network, even on one host, and the network behaves as badly as a network may, in a way that depends on the number (docs/guides/chaos.md). shmemrun --chaos sets it. If it is empty, the network is not changed.",
		set:  func(c *Config, v parsed) { c.Chaos = v.text },
	},
	{
		Name: "SHMEM_COLLECTIVES", Kind: List, Default: "auto", Choices: collectiveWords, Category: Network, Since: "0.2",
		Text: "The algorithms of collective calls between hosts; PE 0's value applies to all. auto: a model of the network chooses by size and number of hosts. flat: each PE sends to every other PE. Reductions: straight (in one step), pairs (of hosts at distances of 1, 2, 4 and so on), halves (the same pairs, where each host keeps one half of the elements), owners (of blocks) or dest (the same, with no memory but dest, where each host has two PEs or more). Broadcasts: chain (from host to host) or wide (from each host to eight others). collect and alltoall: packed (the blocks of a host together) or apart (each on its own). alltoall and reducescatter: steps (between hosts at distances of 1, 2, 4 and so on).",
		set:  func(c *Config, v parsed) { c.Collectives = collectivesOf(v.words) },
	},
	{
		Name: "SHMEM_ENABLE_NIC_PE_MAPPING", Aliases: []string{"NVSHMEM_ENABLE_NIC_PE_MAPPING"}, Kind: Flag, Category: Network, Since: "0.1",
		Text: "Each PE of a host uses one of its NICs in turn, instead of the nearest ones (docs/guides/topology.md).",
		set:  func(c *Config, v parsed) { c.NICInTurn = v.on },
	},
	{
		Name: "SHMEM_FABRIC", Kind: Choice, Default: "auto", Choices: []string{"auto", "efa", "efa-direct"}, Category: Network, Since: "0.1",
		Text: "The fabric of the provider efa: efa, where the provider implements missing features of NICs in software, or efa-direct, which exists since libfabric 2.1 (docs/guides/efa.md). auto: efa below libfabric 2.4, and efa-direct from 2.4 on; if PEs would choose differently, the one that all of them have.",
		set:  func(c *Config, v parsed) { c.Fabric = Fabric(v.index) },
	},
	{
		Name: "SHMEM_LIBFABRIC", Kind: Text, Category: Network, Since: "0.1",
		Text: "Path of the libfabric to load, searched before one already loaded, the default path and /opt/amazon/efa.",
		set:  func(c *Config, v parsed) { c.Libfabric = v.text },
	},
	{
		Name: "SHMEM_NIC_LIST", Aliases: []string{"NVSHMEM_HCA_LIST"}, Kind: List, Category: Network, Since: "0.1",
		Text: "The NICs to use, by the name of the interface or of the libfabric domain, optionally followed by :1 for the port; with ^ in front of the list, the NICs not to use. Each PE uses all listed tcp interfaces, in this order; other NICs are distributed over the PEs of the host, so that each gets NICs near its GPU (docs/guides/topology.md). Without names a PE uses one interface over tcp; with other providers all NICs that are equally fast are distributed.",
		set:  func(c *Config, v parsed) { c.NICs = v.words },
	},
	{
		Name: "SHMEM_NIC_PE_MAPPING", Aliases: []string{"NVSHMEM_HCA_PE_MAPPING"}, Kind: Text, Category: Network, Since: "0.1",
		Text: "The NICs of each PE of a host: comma-separated entries name:port:PEs, for example mlx5_0:1:2,mlx5_1:1:2 for the first two PEs and the next two. Port and PEs default to 1, and name+name gives a PE several. If SHMEM_NIC_LIST is also set, it takes precedence.",
		set:  func(c *Config, v parsed) { c.NICMap = v.text },
	},
	{
		Name: "SHMEM_NIC_POLICY", Kind: Choice, Default: "auto", Choices: []string{"auto", "split", "round-robin"}, Category: Network, Since: "0.1",
		Text: "How operations of more than 128 KiB are spread over several NICs. split: each is cut into parts for all NICs; round-robin: each goes undivided over the next NIC; auto: into more parts the fewer bytes are in flight. Smaller operations use one NIC for a while, then the next.",
		set:  func(c *Config, v parsed) { c.NICPolicy = NICPolicy(v.index) },
	},
	{
		Name: "SHMEM_ORDERED_BYTES", Kind: Choice, Default: "auto", Choices: []string{"auto", "none", "128", "4096"}, Category: Network, Since: "0.1",
		Text: "For eager transfers: the size of the aligned blocks of a write whose bytes become visible by ascending address (docs/guides/eager.md). auto: as the network promises; 128 or 4096: the user guarantees it; none: eager transfers send no tiles over the network. Whatever the setting, there is no such order on networks over sockets, with several NICs for a PE, with staged memory, and for writes to GPUs before sm_90.",
		set:  func(c *Config, v parsed) { c.Ordered = Ordered(v.index) },
	},
	{
		Name: "SHMEM_PROVIDER", Aliases: []string{"NVSHMEM_LIBFABRIC_PROVIDER"}, Kind: Text, Category: Network, Since: "0.1",
		Text: "The libfabric provider to use between nodes, for example tcp, efa or verbs. If it is empty, the library selects the best one available. tcp means tcp;msg if possible, where the library makes the connections and both ends prove that they belong to the job.",
		set:  func(c *Config, v parsed) { c.Provider = v.text },
	},
	{
		Name: "SHMEM_REGISTRATION_CACHE", Kind: Size, Default: "256m", Min: 0, Max: MaxHeap, Category: Network, Since: "0.1",
		Text: "Bytes of memory outside the heap that stay registered with the NIC after an operation, if the NIC requires registered memory. The library notices if such memory is unmapped or gets other pages. With 0, memory is registered for each operation.",
		set:  func(c *Config, v parsed) { c.RegistrationCache = v.bytes },
	},
	{
		Name: "SHMEM_REQUIRE", Kind: List, Choices: []string{"rdma", "delivery", "ordered-writes", "ordered-messages", "messages-after-writes", "fence", "data", "data-source", "authentication", "atomics", "wait", "gpu", "several-nics", "network", "gpu-heap", "gpu-direct", "registration-cache"}, Category: Network, Since: "0.1",
		Text: "Features that the job needs; if one is missing, the job ends at initialisation and names it. network: some PEs do not share memory; gpu-heap: the heap is in GPU memory; gpu-direct: NICs access it there; registration-cache: buffers outside the heap stay registered, or need no registration. The others concern the network, if there is one; shmem-info --fabric explains them.",
		set:  func(c *Config, v parsed) { c.Require = v.words },
	},

	{
		Name: "SHMEM_PROXY_THREADS", Kind: Integer, Default: "1", Min: 1, Max: 4, Category: Rings, Since: "0.1",
		Text: "Proxy threads of each PE, each with its own endpoint, which post the operations in the rings. The rings are distributed over the threads.",
		set:  func(c *Config, v parsed) { c.ProxyThreads = v.num },
	},
	{
		Name: "SHMEM_RING_COUNT", Kind: Integer, Default: "8", Min: 1, Max: 64, Category: Rings, Since: "0.1",
		Text: "Rings of each PE through which GPU or host threads pass operations to the proxy. Rings are created on demand.",
		set:  func(c *Config, v parsed) { c.RingCount = v.num },
	},
	{
		Name: "SHMEM_RING_MAP_BY", Kind: Choice, Default: "cta", Choices: []string{"cta", "sm", "warp", "pe"}, Category: Rings, Since: "0.1",
		Text: "How threads choose a ring: by their block (cta), their multiprocessor (sm), their warp, or the target PE of the operation (pe).",
		set:  func(c *Config, v parsed) { c.RingMapBy = RingMap(v.index) },
	},
	{
		Name: "SHMEM_RING_MEMORY", Kind: Choice, Default: "auto", Choices: []string{"auto", "pinned", "managed", "bar"}, Category: Rings, Since: "0.1",
		Text: "The memory of the rings of GPU threads. pinned: main memory that the GPU has mapped; managed: memory that the driver places; bar: memory of the GPU that the CPU has mapped; auto: the first of them that works. shmem-info shows which of them work. Rings of host threads are in ordinary memory.",
		set:  func(c *Config, v parsed) { c.RingMemory = RingMemory(v.index) },
	},
	{
		Name: "SHMEM_RING_SIZE", Kind: Integer, Default: "4096", Min: 256, Max: 1 << 20, PowerOf2: true, Category: Rings, Since: "0.1",
		Text: "Slots of each ring, 16 bytes each; an operation takes one to three. If a ring is full, a thread that adds to it waits.",
		set:  func(c *Config, v parsed) { c.RingSize = v.num },
	},

	{
		Name: "SHMEM_BIND", Kind: Choice, Default: "auto", Choices: []string{"auto", "off", "proxy", "pe"}, Category: Launch, Since: "0.1",
		Text: "Which threads are bound to the processors of the NUMA node near the PE's GPU, or near its NIC if it has no GPU, within the processors that they may use. proxy: the proxy's threads; pe: these, the thread that initialises the library, and the threads that it starts later; off: none; auto: the proxy, and also the PE if it has a GPU, shares the machine with other PEs of the job, and may use every processor, which shows that it is not bound already. With another value than auto, shmemrun binds PEs only on request (--bind).",
		set:  func(c *Config, v parsed) { c.Bind = Bind(v.index) },
	},
	{
		Name: "SHMEM_BOOTSTRAP", Kind: Choice, Default: "auto", Choices: []string{"auto", "uid", "mpi", "launcher", "file", "session", "plugin", "pmix", "pmi", "slurm", "singleton"}, Category: Launch, Since: "0.1",
		Text: "How the PEs of a job find each other. uid: by the unique id that the program gives to shmemx_init_attr; mpi: by the communicator that it gives there, or MPI_COMM_WORLD if MPI is initialised; launcher: by shmemrun; file: by SHMEM_BOOTSTRAP_FILE; session: at SHMEM_BOOTSTRAP_SESSION; plugin: by SHMEM_BOOTSTRAP_PLUGIN; pmix: by the PMIx server of mpirun and srun --mpi=pmix; pmi: by the PMI-1 protocol of mpiexec.hydra and srun --mpi=pmi2; slurm: by the variables of srun --mpi=none; singleton: a job of one PE; auto: the first of these, singleton last, that matches how the process was started; the banner names it.",
		set:  func(c *Config, v parsed) { c.Bootstrap = Bootstrap(strings.ToLower(v.text)) },
	},
	{
		Name: "SHMEM_BOOTSTRAP_DIR", Kind: Text, Category: Launch, Since: "0.1",
		Text: "A folder that the hosts of a Slurm step share, in which PEs that srun has started without PMI find each other through a file, instead of munge (docs/guides/bootstrap.md).",
		set:  func(c *Config, v parsed) { c.BootstrapDir = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_FAMILY", Aliases: []string{"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY"}, Kind: Choice, Default: "auto", Choices: []string{"auto", "af_inet", "af_inet6"}, Category: Launch, Since: "0.1",
		Text: "Which addresses a unique id carries: IPv4 (af_inet), IPv6 (af_inet6), or both. It affects the process that makes the id.",
		set:  func(c *Config, v parsed) { c.BootstrapFamily = BootstrapFamily(v.index) },
	},
	{
		Name: "SHMEM_BOOTSTRAP_FILE", Kind: Text, Category: Launch, Since: "0.1",
		Text: "A file in a folder that all PEs share, through which they find each other (docs/guides/bootstrap.md). PE 0 writes it, and removes it when all have arrived. Each PE also needs SHMEM_BOOTSTRAP_PE and SHMEM_BOOTSTRAP_NPES.",
		set:  func(c *Config, v parsed) { c.BootstrapFile.Path = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_INTERFACE", Aliases: []string{"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"}, Kind: Text, Category: Launch, Since: "0.1",
		Text: "The interfaces whose addresses a unique id carries: comma-separated prefixes of names; with = in front of the list exact names, with ^ all interfaces except those with such a prefix. If it is empty, all interfaces that are up. It affects the process that makes the id.",
		set:  func(c *Config, v parsed) { c.BootstrapInterface = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_NPES", Kind: Integer, Default: "0", Min: 0, Max: 1 << 20, Category: Launch, Since: "0.1",
		Text: "With SHMEM_BOOTSTRAP_FILE or SHMEM_BOOTSTRAP_SESSION: the number of PEs. In a session, WORLD_SIZE is used if it is not set.",
		set:  func(c *Config, v parsed) { c.BootstrapFile.NPEs = v.num },
	},
	{
		Name: "SHMEM_BOOTSTRAP_PE", Kind: Integer, Default: "-1", Min: -1, Max: 1<<20 - 1, Category: Launch, Since: "0.1",
		Text: "With SHMEM_BOOTSTRAP_FILE or SHMEM_BOOTSTRAP_SESSION: the number of this PE, from 0. If it is not set, a session uses RANK if WORLD_SIZE is set (torchrun sets both), otherwise JOB_COMPLETION_INDEX, which Kubernetes sets in the pods of an indexed Job.",
		set:  func(c *Config, v parsed) { c.BootstrapFile.PE = libshmem.PE(v.num) },
	},
	{
		Name: "SHMEM_BOOTSTRAP_PLUGIN", Kind: Text, Category: Launch, Since: "0.1",
		Text: "A shared library that connects the PEs, with the functions of shmemx_bootstrap.h (docs/guides/bootstrap.md).",
		set:  func(c *Config, v parsed) { c.BootstrapPlugin = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_SECRET", Kind: Text, Secret: true, Category: Launch, Since: "0.2",
		Text: "With SHMEM_BOOTSTRAP_SESSION: a text of 16 characters or more that only the PEs of the job know, the same on all of them. Only a process that knows it can join. White space around it is ignored, and it is never printed.",
		set:  func(c *Config, v parsed) { c.BootstrapSession.Secret = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_SECRET_FILE", Kind: Text, Category: Launch, Since: "0.2",
		Text: "With SHMEM_BOOTSTRAP_SESSION: a file with the text of SHMEM_BOOTSTRAP_SECRET, for example from a mounted Kubernetes Secret. Programs that a PE starts then do not inherit the text.",
		set:  func(c *Config, v parsed) { c.BootstrapSession.SecretFile = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_SESSION", Aliases: []string{"NVSHMEM_BOOTSTRAP_UID_SESSION_ID"}, Kind: Text, Category: Launch, Since: "0.1",
		Text: "HOST:PORT, a name or an address of the host of PE 0 and a port that is free there. PEs without a launcher connect there to form a job; they also need SHMEM_BOOTSTRAP_PE and SHMEM_BOOTSTRAP_NPES, or variables that replace them (docs/guides/bootstrap.md). Each process that asks for a unique id gets the id of that job, so a program need not distribute one. Without SHMEM_BOOTSTRAP_SECRET, any process that reaches the port can join. If it is empty, each call makes a new id.",
		set:  func(c *Config, v parsed) { c.BootstrapSession.Address = v.text },
	},
	{
		Name: "SHMEM_BOOTSTRAP_TIMEOUT", Kind: Seconds, Default: "60", Min: 0.001, Max: maxWait, Category: Launch, Since: "0.1",
		Text: "Seconds to wait for the other PEs at initialisation. If PEs do not arrive, they are named, and the job ends.",
		set:  func(c *Config, v parsed) { c.BootstrapTimeout = v.span },
	},
	{
		Name: "SHMEM_HOST_ID", Kind: Text, Category: Launch, Since: "0.1",
		Text: "Identity of the host. PEs with the same identity share memory. If it is empty, the machine's own; different values make one machine act as several.",
		set:  func(c *Config, v parsed) { c.HostID = v.text },
	},

	{
		Name: "SHMEM_LAUNCHER_BIND", Kind: Text, Category: Launcher, Since: "0.1",
		Text: "The value of shmemrun's option --bind.",
		set:  func(c *Config, v parsed) { c.Launcher.Bind = v.text },
	},
	{
		Name: "SHMEM_LAUNCHER_BINDING", Kind: Text, Category: Launcher, Since: "0.1",
		Text: "For the banner: how shmemrun has bound the PEs to processors, or why it has not.",
		set:  func(c *Config, v parsed) { c.Launcher.Binding = v.text },
	},
	{
		Name: "SHMEM_LAUNCHER_CPUS", Kind: Text, Category: Launcher, Since: "0.1",
		Text: "The processors to which shmemrun has bound the PE.",
		set:  func(c *Config, v parsed) { c.Launcher.CPUs = v.text },
	},
	{
		Name: "SHMEM_LAUNCHER_FD", Kind: Integer, Default: "-1", Min: -1, Max: math.MaxInt32, Category: Launcher, Since: "0.1",
		Text: "Descriptor of the socket to shmemrun that the PE inherits.",
		set:  func(c *Config, v parsed) { c.Launcher.FD = v.num },
	},
	{
		Name: "SHMEM_LAUNCHER_HELPERS", Kind: Text, Category: Launcher, Since: "0.1",
		Text: "The processors to which shmemrun has bound no PE of the job. Threads of the library use them.",
		set:  func(c *Config, v parsed) { c.Launcher.Helpers = v.text },
	},
	{
		Name: "SHMEM_LAUNCHER_HOSTS", Kind: Integer, Default: "0", Min: 0, Max: 1 << 20, Category: Launcher, Since: "0.1",
		Text: "Number of hosts of the job, real or simulated, so that PEs load libfabric early; 0 if shmemrun has started all PEs on this machine.",
		set:  func(c *Config, v parsed) { c.Launcher.Hosts = v.num },
	},
	{
		Name: "SHMEM_LAUNCHER_NPES", Kind: Integer, Default: "1", Min: 1, Max: 1 << 20, Category: Launcher, Since: "0.1",
		Text: "Number of PEs of the job.",
		set:  func(c *Config, v parsed) { c.Launcher.NPEs = v.num },
	},
	{
		Name: "SHMEM_LAUNCHER_PE", Kind: Integer, Default: "0", Min: 0, Max: 1<<20 - 1, Category: Launcher, Since: "0.1",
		Text: "Number of this PE.",
		set:  func(c *Config, v parsed) { c.Launcher.PE = libshmem.PE(v.num) },
	},
}

// String returns the word for a kind of value, for lists of settings.
func (k Kind) String() string {
	return [...]string{"flag", "size", "seconds", "integer", "choice", "list", "text"}[k]
}

// String returns the name of a category, for lists of settings.
func (c Category) String() string {
	return [...]string{"specification", "diagnostics", "memory", "GPUs", "network", "rings", "launch", "set by shmemrun"}[c]
}
