package spec

// This file has the calls for eager transfers, of tokens whose signals travel within their bytes.

// eagerTypes are the types that the calls for eager transfers need.
const eagerTypes = `
/*
 * Slots for tokens: messages of one fixed size. shmemx_eager_create fills in this structure, with
 * the same values on every PE. Programs may copy it, also to kernels, and do not change it.
 */
typedef struct {
    void *slots;      /* symmetric address of slot 0, which the others follow */
    uint32_t count;   /* number of slots of each PE */
    uint32_t nbytes;  /* bytes of a token */
    uint32_t stride;  /* bytes from the start of a slot to the next */
    uint32_t tile;    /* SHMEMX_EAGER_BLOCK, LINE or PACKET, or SHMEMX_EAGER_NOTIFY or NONE */
    uint32_t counter; /* with SHMEMX_EAGER_NOTIFY: slot i has number counter + i of the counters of eager transfers */
    uint32_t buffers; /* number of buffers, after the slots, for tokens that kernels send through the ring */
} shmemx_eager_t;
`

var eagerConstants = ConstantGroup{
	Doc: "Tiles of eager transfers: bytes that a path delivers in ascending order, with the signal last.",
	Constants: []Constant{
		{"SHMEMX_EAGER_BEST", "(-1)", "the largest tile that the paths between all PEs keep, or SHMEMX_EAGER_NOTIFY or SHMEMX_EAGER_NONE"},
		{"SHMEMX_EAGER_NONE", "0", "no tile: a token is a put with one signal behind it, on any path"},
		{"SHMEMX_EAGER_NOTIFY", "1", "no tile: a token is one write with a notification that counts in its slot"},
		{"SHMEMX_EAGER_PACKET", "8", "4 bytes of data and 4 of signal"},
		{"SHMEMX_EAGER_LINE", "128", "120 bytes of data and 8 of signal"},
		{"SHMEMX_EAGER_BLOCK", "4096", "4080 bytes of data and 16 of signal"},
	},
}

var (
	eagerSlots = Param{Name: "eager", C: "const shmemx_eager_t *", Role: Source, Doc: "the handle from shmemx_eager_create"}
	eagerSlot  = Param{Name: "slot", C: "uint32_t", Doc: "number of a slot, 0 to count - 1 of shmemx_eager_create"}
	eagerEpoch = Param{Name: "epoch", C: "uint32_t", Doc: "number of the token in this slot: 1, 2 and so on; 0 follows 2^32 - 1"}
	eagerBytes = Param{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "of a token: 1 to 2^30"}
	eagerTile  = Param{Name: "tile", C: "int", Doc: "one of the SHMEMX_EAGER constants"}
	eagerFrom  = Param{Name: "source", C: "const void *", Role: Source, Doc: "the token, as many bytes as shmemx_eager_create was given"}
	eagerTo    = Param{Name: "dest", C: "void *", Role: Result, Doc: "the token, as many bytes as shmemx_eager_create was given"}

	eagerBuffer    = Param{Name: "buffer", C: "void *", Doc: "of shmemx_eager_size bytes, at a multiple of 16"}
	eagerShared    = Param{Name: "shared", C: "const void *", Role: Source, Doc: "shared memory, whole units of 16 bytes; bulk copies need a multiple of 16"}
	eagerSharedOut = Param{Name: "shared", C: "void *", Role: Result, Doc: "shared memory, whole units of 16 bytes; bulk copies need a multiple of 16"}

	eagerSendParams  = []Param{eagerSlots, eagerSlot, eagerFrom, eagerEpoch, paramPE}
	eagerReadyParams = []Param{eagerSlots, eagerSlot, eagerEpoch}
	eagerRecvParams  = []Param{eagerSlots, eagerSlot, eagerTo, eagerEpoch}
)

const (
	eagerErrors = "Ends the job when called before init or after finalize, and when eager does not come from shmemx_eager_create or has no such slot"
	eagerSkips  = eagerErrors + ", when the slot has a token of an epoch other than this one and the previous one, and when its token has another size."
	eagerReads  = "A PE that finds the token ready sees all of its bytes."
)

// eagerRow completes the table row of a function for eager transfers: its section and its first
// release.
func eagerRow(f Family) Family {
	f.Section, f.Since = "eager transfers", "0.1"
	return f
}

var eagerCalls = []Family{
	eagerRow(Family{
		Name: "eager_create", Result: "int",
		Params: []Param{
			eagerBytes,
			{Name: "count", C: "size_t", Doc: "slots of each PE, 1 to 2^31 - 1"},
			eagerTile,
			{Name: "eager", C: "shmemx_eager_t *", Role: Result, Doc: "filled unless the result is not 0"},
		},
		Front: "shmemi_eager_create(nbytes, count, tile, eager, $call)",
		Doc: "Makes slots for tokens in the symmetric heap. The bytes of a token travel in tiles, and each tile ends with a signal, so " +
			"that no message follows the data. Every slot is empty: its epoch is 0. A tile that a path between two PEs does not keep is " +
			"refused; SHMEMX_EAGER_BEST selects one that all paths keep, or none. The paths are those " +
			"of the host, and those of kernels where PEs have a GPU; only the latter where the heap is in the memory of GPUs. There a network keeps " +
			"a tile only in slots that NICs reach. Without a tile, " +
			"SHMEMX_EAGER_BEST selects SHMEMX_EAGER_NOTIFY for tokens of more than 4104 bytes where some kernels use the ring, or networks carry " +
			"a notification in the write of a token, and there is a counter for each slot, else SHMEMX_EAGER_NONE. " +
			"All PEs make the call together, with the same arguments.",
		Returns: "0. 1 on every PE when a path does not keep the tile (shmemx_eager_tile), when NICs do not reach the slots in the memory of a GPU, or when kernels of a PE have no notification " +
			"counters; 2 when the heap has no room, when " +
			"fewer than count counters in a row are left for SHMEMX_EAGER_NOTIFY (there are 4096) and, with SHMEM_ON_FAILURE=return, when a PE is lost.",
		Errors: "Ends the job when called before init or after finalize, when nbytes, count or tile is not valid, and when an argument " +
			"is not the same on every PE.",
		Order: "Ends with a barrier, so that the slots of every PE may be used at once.",
	}),
	eagerRow(Family{
		Name:   "eager_destroy",
		Params: []Param{{Name: "eager", C: "shmemx_eager_t *", Role: Result, Doc: "the handle from shmemx_eager_create, zeroed on return"}},
		Front:  "shmemi_eager_destroy(eager, $call)",
		Doc:    "Frees the slots. All PEs make the call together.",
		Errors: "Ends the job when called before init or after finalize, and when eager does not come from shmemx_eager_create.",
		Order:  "Begins with a barrier.",
	}),
	eagerRow(Family{
		Name: "eager_size", Result: "size_t",
		Params: []Param{eagerBytes, eagerTile},
		Front:  "shmemi_eager_size(nbytes, tile, $call)",
		Doc: "Returns how many bytes of a slot a token takes, signals included. shmem/eager_layout.h says where in the slot each byte " +
			"and each signal is.",
		Returns: "The number of bytes.",
		Errors:  "Ends the job when nbytes or tile is not valid; SHMEMX_EAGER_BEST is not valid here.",
	}),
	eagerRow(Family{
		Name: "eager_tile", Result: "int",
		Params: []Param{paramPE},
		Front:  "shmemi_eager_tile(pe, $call)",
		Doc: "Returns the largest tile that the path from the caller to another PE keeps: on the host the path of the host's calls, in " +
			"kernels that of kernels. It keeps smaller tiles as well.",
		Returns: "SHMEMX_EAGER_BLOCK, LINE or PACKET, or SHMEMX_EAGER_NONE when it keeps none.",
		Errors:  "Ends the job when called before init or after finalize, and when there is no such PE.",
	}),
	eagerRow(Family{
		Name:   "eager_send",
		Params: eagerSendParams,
		Front:  "shmemi_eager_send(eager, slot, source, epoch, pe, false, $call)",
		Doc: "Sends a token to a slot of another PE. The slot must be free: that PE has received the token of the previous epoch. It returns " +
			"when source may be reused.",
		Errors: eagerErrors + ", when there is no such PE, and when the path to it does not keep the tile.",
		Order:  "Unordered with other operations: the token carries its own signals.",
	}),
	eagerRow(Family{
		Name:   "eager_send_nbi",
		Params: eagerSendParams,
		Front:  "shmemi_eager_send(eager, slot, source, epoch, pe, true, $call)",
		Doc: "As shmemx_eager_send, but it may return before source may be reused: source must stay as it is until shmem_quiet. The slot " +
			"must be free, and it is free again when its reader says so, whether or not the sender has called shmem_quiet. By a network, 16 " +
			"tokens of a PE are under way at a time, fewer of more than 256 KiB; the next waits for one of them. On a PE with a GPU a token " +
			"without a tile waits for its own write, as after shmemx_eager_send.",
		Errors: eagerErrors + ", when there is no such PE, and when the path to it does not keep the tile.",
		Order:  "Unordered with other operations: the token carries its own signals.",
	}),
	eagerRow(Family{
		Name: "eager_ready", Result: "int",
		Params:  eagerReadyParams,
		Front:   "shmemi_eager_ready(eager, slot, epoch, $call)",
		Doc:     "Reports whether the whole token of this epoch is in a slot of the caller.",
		Returns: "1 or 0.",
		Errors:  eagerSkips,
		Order:   eagerReads,
	}),
	eagerRow(Family{
		Name:   "eager_wait",
		Params: eagerReadyParams,
		Front:  "shmemi_eager_wait(eager, slot, epoch, $call)",
		Doc:    "Waits until the whole token of this epoch is in a slot of the caller.",
		Errors: eagerSkips,
		Order:  eagerReads,
		Range:  RangeWait,
	}),
	eagerRow(Family{
		Name:   "eager_recv",
		Params: eagerRecvParams,
		Front:  "shmemi_eager_recv(eager, slot, dest, epoch, $call)",
		Doc:    "Waits for the token of this epoch and copies its bytes out of the slot, which is free afterwards.",
		Errors: eagerSkips,
		Order:  eagerReads,
		Range:  RangeWait,
	}),
}

// eagerOfKernels has the functions for eager transfers that kernels call.
var eagerOfKernels = Chapter{
	File: "eager", Title: "Eager Transfers", Kernel: kernelEager,
	Families: []Family{
		eagerKernel("eager_size", "size_t", []Param{eagerBytes, eagerTile}, "shmemi_eager_size($job, $call, nbytes, tile)",
			"Returns how many bytes of a slot a token takes, signals included.", Thread),
		eagerKernel("eager_tile", "int", []Param{paramPE}, "shmemi_eager_tile($job, $call, pe)",
			"Returns the largest tile that the kernels' path to another PE keeps.", Thread),
		eagerKernel("eager_send", "", eagerSendParams, "shmemi_eager_send<$scope>($job, $call, eager, slot, source, epoch, pe)",
			"Sends a token to a slot of another PE.", allScopes...),
		eagerKernel("eager_ready", "int", eagerReadyParams, "shmemi_eager_ready<$scope>($job, $call, eager, slot, epoch)",
			"Reports whether the whole token of this epoch is in a slot of this PE.", allScopes...),
		eagerKernel("eager_wait", "", eagerReadyParams, "shmemi_eager_wait<$scope>($job, $call, eager, slot, epoch)",
			"Waits until the whole token of this epoch is in a slot of this PE.", allScopes...),
		eagerKernel("eager_recv", "", eagerRecvParams, "shmemi_eager_recv<$scope>($job, $call, eager, slot, dest, epoch)",
			"Waits for the token of this epoch and copies its bytes out of the slot.", allScopes...),
		eagerKernel("eager_signal", "", []Param{eagerSlots, eagerSlot, eagerEpoch, paramPE},
			"shmemi_eager_signal_words<$scope>($job, $call, eager, slot, epoch, pe)",
			"Stores the signals of a token after the words that the threads have stored with shmemx_eager_store.", allScopes...),
		eagerKernel("eager_wrap", "", []Param{eagerBuffer, eagerBytes, eagerTile, eagerEpoch},
			"shmemi_eager_wrap<$scope>($job, $call, buffer, nbytes, tile, epoch)",
			"Converts a token, within its buffer, to the layout of a slot.", Warp, Block),
		eagerKernel("eager_unwrap", "", []Param{eagerBuffer, eagerBytes, eagerTile}, "shmemi_eager_unwrap<$scope>($job, $call, buffer, nbytes, tile)",
			"Converts a token, within its buffer, back from the layout of a slot.", Warp, Block),
		eagerKernel("eager_send_shared", "", []Param{eagerSlots, eagerSlot, eagerShared, eagerEpoch, paramPE},
			"shmemi_eager_send_shared($job, $call, eager, slot, shared, epoch, pe)",
			"Sends a token that is in shared memory, by bulk copies where the GPU has them.", Block),
		eagerKernel("eager_recv_shared", "", []Param{eagerSlots, eagerSlot, eagerSharedOut, eagerEpoch},
			"shmemi_eager_recv_shared($job, $call, eager, slot, shared, epoch)",
			"Waits for a token and moves it to shared memory, by bulk copies where the GPU has them.", Block),
	},
}

// eagerKernel returns the row of a function for eager transfers that kernels call.
func eagerKernel(name, result string, params []Param, body, doc string, scopes ...Scope) Family {
	return eagerRow(Family{
		Name: name, Doc: doc,
		Kernel: []Kernel{{X: true, Scopes: scopes, Result: result, Params: params, Body: body}},
	})
}

// KernelTemplates are the names of hand-written templates, which may also occur in reports of
// kernels.
var KernelTemplates = []string{"shmemx_eager_load", "shmemx_eager_store"}
