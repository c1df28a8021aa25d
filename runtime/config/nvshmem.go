package config

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// NvshmemVersion is the release of NVSHMEM whose names the library has.
const NvshmemVersion = "3.8.0"

// nvshmemPrefix begins the names of NVSHMEM's variables.
const nvshmemPrefix = "NVSHMEM_"

// A Theirs is a variable of NVSHMEM. A variable that is an alias of a setting has an effect in
// every program. The others have an effect, and cause warnings, only in programs that use the names
// of NVSHMEM.
type Theirs struct {
	Name string // with the prefix
	Here string // the setting of this library that the variable sets; "": none
	Text string // a description of the variable's effect, or why it has none

	// convert converts the variable's value to one of the setting Here: "" leaves the setting as it
	// is, and an error says why the value is ignored. nil: the variable is an alias of the setting,
	// or it has no effect.
	convert func(value string) (string, error)
}

// Reasons why a variable of NVSHMEM has no effect.
const (
	noInfiniBand = "libfabric has settings of its own for InfiniBand"
	noAlgorithm  = "collectives choose by size and by the places of the PEs"
	noMulticast  = "multicast by NVLink is not used"
	noNeed       = "there is nothing to limit"
)

// Nvshmem lists the variables of NVSHMEM 3.8 and of the releases before it, sorted by name.
var Nvshmem = []Theirs{
	none("ASSERT_ATOMICS_SYNC", "waits always see all writes before the flag"),
	none("BARRIER_DISSEM_KVAL", noAlgorithm),
	none("BARRIER_TG_DISSEM_KVAL", noAlgorithm),
	none("BCAST_ALGO", noAlgorithm),
	none("BCAST_TREE_KVAL", noAlgorithm),
	{Name: "NVSHMEM_BOOTSTRAP", Here: "SHMEM_BOOTSTRAP", convert: words("pmi", "auto", "mpi", "auto", "shmem", "auto", "uid", "auto", "plugin", "plugin"),
		Text: "PMI, MPI and UID select the bootstrap that matches how the process was started, and arguments of nvshmemx_init_attr take precedence. SHMEM: nvshmem_init asks the program's OpenSHMEM, as NVSHMEMX_INIT_WITH_SHMEM does."},
	none("BOOTSTRAP_MPI_PLUGIN", "MPI is asked without a plugin"),
	{Name: "NVSHMEM_BOOTSTRAP_PLUGIN", Here: "SHMEM_BOOTSTRAP_PLUGIN", convert: unchanged,
		Text: "The library has the functions of shmemx_bootstrap.h: plugins for NVSHMEM have others."},
	none("BOOTSTRAP_PMI", "PMI, PMI-2 and PMIx are distinguished by the launcher's variables"),
	none("BOOTSTRAP_PMI2_PLUGIN", "the library speaks PMI without a plugin"),
	none("BOOTSTRAP_PMIX_PLUGIN", "the library speaks PMIx without a plugin"),
	none("BOOTSTRAP_PMI_PLUGIN", "the library speaks PMI without a plugin"),
	none("BOOTSTRAP_SHMEM_MODE", "the library uses only functions that every OpenSHMEM has"),
	none("BOOTSTRAP_SHMEM_PLUGIN", "the library calls the program's OpenSHMEM without a plugin"),
	none("BOOTSTRAP_TWO_STAGE", "initialisation waits for no GPU"),
	none("BOOTSTRAP_UID_PLUGIN", "unique ids need no plugin"),
	alias("BOOTSTRAP_UID_SESSION_ID", "SHMEM_BOOTSTRAP_SESSION"),
	alias("BOOTSTRAP_UID_SOCK_FAMILY", "SHMEM_BOOTSTRAP_FAMILY"),
	alias("BOOTSTRAP_UID_SOCK_IFNAME", "SHMEM_BOOTSTRAP_INTERFACE"),
	none("BYPASS_ACCESSIBILITY_CHECK", "the library tries which memory a GPU reaches"),
	none("BYPASS_FLUSH", "the proxy flushes where a NIC needs it"),
	none("CONF_FILE", "the library reads no file of settings: set them in the environment"),
	{Name: "NVSHMEM_CPU_AFFINITY", Here: "SHMEM_BIND", convert: words("auto", "auto", "off", "off")},
	none("CUDA_PATH", "the loader finds the driver"),
	none("CUMEM_GRANULARITY", "the heap grows by the driver's own granularity"),
	none("CUMEM_HANDLE_TYPE", "file descriptors are used"),
	alias("DEBUG", "SHMEM_LOG_LEVEL"),
	none("DEBUG_ATTACH_DELAY", "a debugger can attach at any time"),
	alias("DEBUG_FILE", "SHMEM_LOG_FILE"),
	alias("DEBUG_SUBSYS", "SHMEM_LOG_SUBSYS"),
	none("DISABLE_CE_COLLECTIVES", noAlgorithm),
	{Name: "NVSHMEM_DISABLE_CUDA_VMM", Here: "SHMEM_GPU_SHARE", convert: ifSet("ipc")},
	none("DISABLE_DATA_DIRECT", noInfiniBand),
	none("DISABLE_GDRCOPY", "GDRCopy is not used"),
	none("DISABLE_IB_NATIVE_ATOMICS", noInfiniBand),
	none("DISABLE_LOCAL_ONLY_PROXY", "a proxy that has nothing to do sleeps"),
	none("DISABLE_MNNVL", "NVLink between machines is not used"),
	none("DISABLE_NCCL", "NCCL is not used"),
	none("DISABLE_NVLS", noMulticast),
	none("DISABLE_NVLS_SHARING", noMulticast),
	alias("DISABLE_P2P", "SHMEM_DISABLE_P2P"),
	none("DISABLE_SELF_WRITE_CE_COLL", noAlgorithm),
	none("ENABLE_ALIGNED_MALLOC", "blocks are aligned"),
	none("ENABLE_ERROR_CHECKS", "arguments are checked (SHMEM_CHECKS)"),
	none("ENABLE_LOGICAL_ENDPOINT", noInfiniBand),
	none("ENABLE_MULTI_PORT", "a PE uses all NICs near it"),
	alias("ENABLE_NIC_PE_MAPPING", "SHMEM_ENABLE_NIC_PE_MAPPING"),
	none("ENABLE_RAIL_OPT", "a PE uses all NICs near it"),
	none("FCOLLECT_ALGO", noAlgorithm),
	none("FCOLLECT_LL128_THRESHOLD", noAlgorithm),
	none("FCOLLECT_LL_THRESHOLD", noAlgorithm),
	none("FCOLLECT_NTHREADS", noAlgorithm),
	none("FCOLLECT_NVLS_THRESHOLD", noMulticast),
	none("GDRCOPY_USE_INTERNAL_DMABUF", "GDRCopy is not used"),
	none("GPUNETIO_ENABLE_GDAKI", "kernels reach the network through rings"),
	none("GPUNETIO_ENABLE_ORDERING_SEMANTIC", "kernels reach the network through rings"),
	none("GPUNETIO_NIC_HANDLER", "the proxy posts the operations of kernels"),
	none("GPUNETIO_NUM_FETCH_SLOTS_PER_RC", noNeed),
	none("GPUNETIO_NUM_RC_PER_PE_CPU", noNeed),
	{Name: "NVSHMEM_GPUNETIO_NUM_RC_PER_PE_GPU", Here: "SHMEM_RING_COUNT", convert: roundToRange("SHMEM_RING_COUNT")},
	none("GPUNETIO_NUM_REQUESTS_IN_BATCH", "the proxy posts all pending operations"),
	{Name: "NVSHMEM_GPUNETIO_RC_MAP_BY", Here: "SHMEM_RING_MAP_BY", convert: mapBy},
	none("G_BUF_SIZE", noNeed),
	none("G_COALESCING_BUF_SIZE", noNeed),
	alias("HCA_LIST", "SHMEM_NIC_LIST"),
	alias("HCA_PE_MAPPING", "SHMEM_NIC_PE_MAPPING"),
	none("HCA_PREFIX", "NICs have the names that libfabric gives them"),
	{Name: "NVSHMEM_HEAP_KIND", Here: "SHMEM_HEAP", convert: words("vidmem", "device", "device", "device", "sysmem", "pinned")},
	{Name: "NVSHMEM_IBGDA_DCI_MAP_BY", Here: "SHMEM_RING_MAP_BY", convert: mapBy},
	none("IBGDA_ENABLE_MULTI_PORT", "a PE uses all NICs near it"),
	none("IBGDA_FORCE_NIC_BUF_MEMTYPE", "rings have SHMEM_RING_MEMORY"),
	none("IBGDA_NIC_HANDLER", "the proxy posts the operations of kernels"),
	{Name: "NVSHMEM_IBGDA_NUM_DCI", Here: "SHMEM_RING_COUNT", convert: roundToRange("SHMEM_RING_COUNT")},
	none("IBGDA_NUM_DCT", noNeed),
	none("IBGDA_NUM_FETCH_SLOTS_PER_DCI", noNeed),
	none("IBGDA_NUM_FETCH_SLOTS_PER_RC", noNeed),
	{Name: "NVSHMEM_IBGDA_NUM_RC_PER_PE", Here: "SHMEM_RING_COUNT", convert: roundToRange("SHMEM_RING_COUNT")},
	none("IBGDA_NUM_REQUESTS_IN_BATCH", "the proxy posts all pending operations"),
	none("IBGDA_NUM_SHARED_DCI", noNeed),
	{Name: "NVSHMEM_IBGDA_RC_MAP_BY", Here: "SHMEM_RING_MAP_BY", convert: mapBy},
	none("IB_ADDR_FAMILY", noInfiniBand),
	none("IB_ADDR_RANGE", noInfiniBand),
	none("IB_ATOMIC_POLICY", noInfiniBand),
	none("IB_DISABLE_DMABUF", "SHMEM_GPU_NET chooses the path to GPU memory"),
	none("IB_ENABLE_IBGDA", "kernels reach the network through rings, on any NIC"),
	none("IB_ENABLE_RELAXED_ORDERING", noInfiniBand),
	none("IB_FORCE_GRH", noInfiniBand),
	none("IB_GID_INDEX", noInfiniBand),
	none("IB_NUM_RC_PER_DEVICE", noInfiniBand),
	none("IB_PKEY_INDEX", noInfiniBand),
	none("IB_RETRY_CNT", noInfiniBand),
	none("IB_ROCE_VERSION_NUM", noInfiniBand),
	none("IB_ROUTABLE_FLID_GID_INDEX", noInfiniBand),
	none("IB_SL", noInfiniBand),
	none("IB_TIMEOUT", noInfiniBand),
	none("IB_TRAFFIC_CLASS", noInfiniBand),
	none("IGNORE_CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "PEs of one GPU have the whole interface"),
	alias("INFO", "SHMEM_INFO"),
	none("INFO_HIDDEN", "no setting is hidden"),
	none("LIBFABRIC_DISABLE_BATCH_RMA", "the proxy posts all pending operations"),
	none("LIBFABRIC_MAX_NIC_PER_PE", "a PE uses all NICs near it"),
	alias("LIBFABRIC_PROVIDER", "SHMEM_PROVIDER"),
	none("LIBFABRIC_PROXY_REQUEST_BATCH_MAX", "the proxy posts all pending operations"),
	none("LIBFABRIC_SIGNAL_WAIT_SPIN_COUNT", "waits spin, then sleep"),
	none("LIMIT_PTR_P2P_ACCESS", "NVLink between machines is not used"),
	none("MAX_CTAS", noAlgorithm),
	{Name: maxMemory, convert: func(value string) (string, error) { _, err := parseGrowth(value); return "", err }, Text: "The maximum size of a heap in GPU memory, unless SHMEM_SYMMETRIC_SIZE is set; the default is 384 GiB."},
	none("MAX_NICS_PER_PE", "a PE uses all NICs near it"),
	none("MAX_PEER_STREAMS", noNeed),
	{Name: "NVSHMEM_MAX_TEAMS", Here: "SHMEM_ARCHIVE_TEAMS", convert: maxTeams, Text: "There is always room for 1,000 teams, but not for kernels of NVIDIA's device archive. A larger number causes a warning."},
	none("MNNVL_OVERRIDE_MC_CLIQUE_ID", "NVLink between machines is not used"),
	none("NETDEVS_POLICY", "SHMEM_NIC_LIST and SHMEM_NIC_PE_MAPPING choose NICs"),
	alias("NVTX", "SHMEM_NVTX"),
	none("PROXY_REQUEST_BATCH_MAX", "the proxy posts all pending operations"),
	{Name: "NVSHMEM_QP_DEPTH", Here: "SHMEM_RING_SIZE", convert: roundToRange("SHMEM_RING_SIZE"), Text: "Rounded up to a power of two."},
	none("REDMAXLOC_ALGO", noAlgorithm),
	none("REDUCESCATTER_ALGO", noAlgorithm),
	none("REDUCESCATTER_NTHREADS", noAlgorithm),
	none("REDUCESCATTER_NVLS_THRESHOLD", noMulticast),
	none("REDUCE_ALGO", noAlgorithm),
	none("REDUCE_NTHREADS", noAlgorithm),
	none("REDUCE_NVLS_THRESHOLD", noMulticast),
	none("REDUCE_RECEXCH_KVAL", noAlgorithm),
	none("REDUCE_SCRATCH_SIZE", noNeed),
	none("REGION_DEVICE_BATCH_THRESHOLD", "regions have no effect"),
	none("REGION_HOST_BATCH_MAX_OPS", "regions have no effect"),
	none("REGION_MAX_SLOTS", "regions have no effect"),
	{Name: "NVSHMEM_REMOTE_TRANSPORT", convert: transport, Text: "libfabric and none are accepted: the library uses libfabric, and PEs that share memory need no network. Other values are ignored with a warning."},
	none("SRQ_DEPTH", noInfiniBand),
	alias("SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"),
	none("TMA_MAX_BLOCKS", "TMA is not used"),
	none("TMA_POLICY", "TMA is not used"),
	none("TRANSPORT_BATCH_MAX_OPS", "the proxy posts all pending operations"),
	none("UCX_RC_TX_INLINE_RESP", "UCX is not used"),
	none("UCX_TLS", "UCX is not used"),
	none("UCX_ZCOPY_THRESH", "UCX is not used"),
	alias("VERSION", "SHMEM_VERSION"),
}

// none returns a variable that is accepted without effect; name is without the prefix, and why is
// the reason.
func none(name, why string) Theirs { return Theirs{Name: nvshmemPrefix + name, Text: why} }

// alias returns a variable that is among the Aliases of the setting here; name is without the
// prefix. Setting.choose reads its value, so it has no convert.
func alias(name, here string) Theirs { return Theirs{Name: nvshmemPrefix + name, Here: here} }

// Counts reports whether the variable has an effect.
func (t *Theirs) Counts() bool { return t.Here != "" || t.convert != nil }

// Says describes the effect of an NVSHMEM variable in this library, in a few words, for the
// documentation.
func (t *Theirs) Says() string {
	text := t.Text
	switch {
	case t.Here != "":
		return strings.TrimSpace("sets " + t.Here + ". " + text)
	case t.convert != nil:
		return text
	}
	return "accepted without effect: " + text
}

// nvshmemSetting is a variable of NVSHMEM that is set: its value, and the value that convert
// returned for the setting.
type nvshmemSetting struct {
	*Theirs
	text, here string
}

// nvshmemSettings returns the variables of NVSHMEM in env that set a setting, by the setting's
// name, except aliases. It returns warnings of values that are ignored, and of names that NVSHMEM
// does not have.
func nvshmemSettings(env map[string]string) (map[string][]nvshmemSetting, []Warning) {
	out := map[string][]nvshmemSetting{}
	var warnings []Warning
	known := map[string]bool{}
	for i := range Nvshmem {
		t := &Nvshmem[i]
		known[t.Name] = true
		text := env[t.Name]
		if text == "" || t.convert == nil {
			continue
		}
		here, err := t.convert(text)
		if err != nil { // only a warning: the value may be meant for NVSHMEM, which accepts it
			remedy := "unset it"
			if t.Here != "" {
				remedy = "set " + t.Here
			}
			warnings = append(warnings, Warning{t.Name, fmt.Sprintf("read setting %s=%q: ignored, %v (%s)", t.Name, text, err, remedy)})
			continue
		}
		if t.Here != "" {
			out[t.Here] = append(out[t.Here], nvshmemSetting{t, text, here})
		}
	}
	for name, text := range env {
		if text != "" && strings.HasPrefix(name, nvshmemPrefix) && !known[name] && !forOthers(name) {
			warnings = append(warnings, Warning{name, fmt.Sprintf(
				"read setting %s: NVSHMEM has no such variable, it is ignored (the nearest name is %s; nvshmem-info -a lists all)",
				name, nearestOf(name, func(yield func(string) bool) {
					for i := range Nvshmem {
						if !yield(Nvshmem[i].Name) {
							return
						}
					}
				}))})
		}
	}
	return out, warnings
}

// forOthers reports whether a variable with the prefix NVSHMEM_ is no setting: build files of
// NVSHMEM and its programs use it for a path or a build option, or the programs of NVSHMEM's own
// test suites read it.
func forOthers(name string) bool {
	for _, end := range []string{"_HOME", "_DIR", "_ROOT", "_PREFIX", "_PATH", "_INCLUDE", "_INC", "_LIB", "_LIBDIR", "_LIBS", "_SRC", "_SUPPORT", "_VERSION", "_INSTALL"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	for _, begin := range []string{"BUILD_", "USE_", "PERF_", "PERFTEST_", "TEST_"} {
		if strings.HasPrefix(name, nvshmemPrefix+begin) {
			return true
		}
	}
	return name == nvshmemPrefix+"MACHINE_READABLE_OUTPUT"
}

// maxMemory is NVSHMEM's variable for the largest size to which a heap grows. No setting has the
// same meaning, because the heap of an OpenSHMEM program has a fixed size.
const maxMemory = nvshmemPrefix + "MAX_MEMORY_PER_GPU"

// parseGrowth parses the value of the variable maxMemory (NVSHMEM's limit of the heap), in bytes.
func parseGrowth(value string) (uint64, error) {
	n, err := ParseSize(value)
	if err == nil && (n == 0 || n > MaxHeap) {
		err = fmt.Errorf("it is from 1 to %d bytes", uint64(MaxHeap))
	}
	return n, err
}

// unchanged is the convert function of a variable whose values are those of the setting.
func unchanged(value string) (string, error) { return value, nil }

// words returns the convert function of a variable with words of its own. pairs has, for each word,
// the word itself and then the setting's word that means the same.
func words(pairs ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		var known []string
		for pair := range slices.Chunk(pairs, 2) {
			if strings.EqualFold(value, pair[0]) {
				return pair[1], nil
			}
			known = append(known, pair[0])
		}
		return "", fmt.Errorf("it is not one of %s", strings.Join(known, ", "))
	}
}

// mapBy is the convert function of variables that say how threads find their queue pair. NVSHMEM's
// dct, which has no rule for queue pairs, means one for each PE.
var mapBy = words("cta", "cta", "sm", "sm", "warp", "warp", "dct", "pe", "none", "")

// ifSet returns the convert function of a flag of NVSHMEM: if the flag is on, the setting gets the
// value `here`, else it stays unset.
func ifSet(here string) func(string) (string, error) {
	return func(value string) (string, error) {
		p, err := (&Setting{Kind: Flag}).parse(value)
		if !p.on {
			return "", err
		}
		return here, err
	}
}

// roundToRange returns the convert function of a number. It rounds the number up to a power of two,
// if the setting requires one, and moves it into the range of the setting. 0 leaves the setting as
// it is.
func roundToRange(setting string) func(string) (string, error) {
	return func(value string) (string, error) {
		s := Lookup(setting)
		n, err := strconv.ParseUint(value, 0, 31) // base 0: 0x10 is allowed, too
		switch {
		case err != nil:
			return "", errors.New("it is not a number")
		case n == 0:
			return "", nil
		case s.PowerOf2:
			n = 1 << bits.Len64(n-1)
		}
		return strconv.Itoa(int(min(max(float64(n), s.Min), s.Max))), nil
	}
}

// maxTeams is the convert function of NVSHMEM_MAX_TEAMS. It returns an error for more than 1,000
// teams. It adds one team, because this library has one predefined team more than NVSHMEM before
// 3.8.
func maxTeams(value string) (string, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n > 1000 {
		return "", errors.New("there is room for 1,000 teams")
	}
	return roundToRange("SHMEM_ARCHIVE_TEAMS")(strconv.Itoa(n + 1))
}

// transport is the convert function of NVSHMEM_REMOTE_TRANSPORT: it sets nothing, and returns an
// error for networks that the library does not use under that name.
func transport(value string) (string, error) {
	switch strings.ToLower(value) {
	case "libfabric", "none":
		return "", nil
	}
	return "", errors.New("the network is reached by libfabric, SHMEM_PROVIDER=verbs is for InfiniBand")
}
