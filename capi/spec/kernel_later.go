package spec

// A Later is a group of names of NVSHMEM's device interface that the library lacks, with the
// reason.
type Later struct {
	Pattern string // a regular expression for the whole name
	Why     string
}

// KernelLater has all groups of names that the library lacks. A test fails for a name of NVSHMEM's
// device interface that neither the table nor KernelLater has.
var KernelLater = []Later{
	{`shmemx_qp_\w+`, "queues as an argument: the context of shmemx_queue is one"},
	{`shmemx::tile_\w+`, "tiles: collectives over a layout that a template library describes"},
	{`shmemx?_\w+_reducescatter(_\w+)?`, "reductions whose result is spread over the PEs"},
	{`shmemx_double2_maxloc_reduce_block`, "the place of the greatest element"},
	{`shmemx_barrier_warpgroup`, "four warps as a scope"},
	{`shmemx_flush(_\w+)?`, "completion at this PE only: quiet does more"},
	{`shmemx_(region_\w+|(ask|give|release)_smem)`, "hints about a kernel's shared memory"},
	{`shmemx_mc_ptr`, "multicast addresses"},
	{`shmemx_signal_counted_reset`, "signals that count bytes"},
	{`shmem_info_get_\w+|shmemx_vendor_get_version_info`, "queries that the host can make before a kernel starts"},
}
