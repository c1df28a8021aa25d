package spec

import (
	"cmp"
	"slices"
)

// Nvshmem is the surface with the names of NVSHMEM 3.8, for programs that were written for NVSHMEM.
// Its library forwards calls to Shmem's. The tests compare its names, types and numbers with
// capi/spec/testdata/nvshmem-3.8.0.tsv; tests/nvshmem/left.tsv lists the names that it lacks.
var Nvshmem = &Surface{
	Name:                  "nvshmem",
	Over:                  Shmem,
	Library:               "libshmem_nvshmem.so",
	Node:                  "SHMEM_NVSHMEM_0.1",
	Headers:               Headers{"nvshmem/host/nvshmem_api.h", nvshmemAbout, nvshmemTypes},
	Beyond:                Headers{"nvshmem/host/nvshmemx_api.h", nvshmemxAbout, ""},
	HostOnly:              true,
	Private:               nvshmemPrivate,
	Device:                Headers{"nvshmem/device/nvshmem_defines.h", nvshmemDeviceAbout, nvshmemDeviceTypes},
	DeviceBeyond:          Headers{"nvshmem/device/nvshmemx_defines.h", nvshmemxDeviceAbout, nvshmemxDeviceTypes},
	Tiles:                 nvshmemTiles(),
	TileHeader:            Headers{"nvshmem/device/tile/nvshmemx_tile_api_defines.cuh", nvshmemTileAbout, nvshmemTileTypes},
	Row:                   nvshmemRow,
	Constant:              nvshmemConstant,
	Own:                   slices.Concat(nvshmemRows, nvshmemMore, nvshmemOfKernels),
	OwnBeyond:             slices.Concat(nvshmemxRows, nvshmemxLater, nvshmemxStrided, nvshmemxScatters(), nvshmemxAtomics),
	Hand:                  "own.h",
	OwnConstants:          nvshmemConstants,
	OwnExtensionConstants: nil,
}

const nvshmemAbout = `host/nvshmem_api.h: what programs that were written for NVSHMEM call on the host.

The functions are those of shmem.h under the names of NVSHMEM, for NVSHMEM's element types.
They have NVSHMEM's arguments and, where the two differ, NVSHMEM's meaning. shmem.h describes
symmetric addresses and mistakes.

Below, <T> is the name of an element type and T the type itself.
`

const nvshmemxAbout = `host/nvshmemx_api.h: the extensions of NVSHMEM that host code calls.

nvshmemx_..._on_stream enqueues a call on a CUDA stream: the function returns at once, and
the stream carries the call out in its order. shmemx.h says more.
`

// nvshmemTypes are the types of NVSHMEM's header. Names, members and sizes are NVSHMEM's; the text
// is our own.
const nvshmemTypes = `
#ifdef __CUDACC_RTC__
/* Installed headers find it by their place, that of the sources by -I. */
#if __has_include("../../shmem/types.h")
#include "../../shmem/types.h"
#elif __has_include(<shmem/types.h>)
#include <shmem/types.h>
#else
#error "shmem/types.h is not there: install libshmem's device headers beside those of NVSHMEM"
#endif
#endif

/* Programs that include this header use what CUDA's headers declare. */
#if !defined(__CUDACC_RTC__) && !defined(SHMEMI_PUBLIC) && defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#include <cuda.h>
#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#endif
#ifndef __CUDACC_RTC__
#include <stdio.h>
#include <stdlib.h>
#endif

/* The release of these headers, in the numbers of NVSHMEM_VENDOR_VERSION. The library finds the
 * variable in the program by its name, and refuses a program with a newer release than its own. */
#if !defined(SHMEMI_PUBLIC) && !defined(__CUDA_ARCH__) && !defined(__CUDACC_RTC__)
__attribute__((weak, visibility("default"))) int nvshmemi_headers_release = 30800;
#endif

/* CUDA's headers define them. */
struct __half;
struct __nv_bfloat16;

/* A set of PEs. Handles may be copied and compared. */
typedef int32_t nvshmem_team_t;
typedef nvshmem_team_t nvshmemx_team_t;

typedef uint64_t nvshmemx_team_uniqueid_t; /* of nvshmemx_team_get_uniqueid */
typedef uint64_t nvshmemx_region_handle_t; /* of nvshmemx_region_start */
typedef int nvshmemx_qp_handle_t;          /* of nvshmemx_qp_create, or an NVSHMEMX_QP constant */

/* The configuration of a new team. Splits accept any version; nvshmemx_team_init refuses those of
 * other headers. */
typedef struct {
    int version;
    int num_contexts; /* used if the mask has NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS */
    char padding[56];
} nvshmem_team_config_v1;

typedef struct {
    int version;
    int num_contexts;                  /* as above */
    nvshmemx_team_uniqueid_t uniqueid; /* used by nvshmemx_team_init alone */
    char padding[48];
} nvshmem_team_config_v2;
typedef nvshmem_team_config_v2 nvshmem_team_config_t;

/* What brings the PEs of a job together. One process makes it by nvshmemx_get_uniqueid, and the
 * program copies all 128 bytes to the other processes. */
typedef struct {
    int version;
    char internal[124];
} nvshmemx_uniqueid_v1;
typedef nvshmemx_uniqueid_v1 nvshmemx_uniqueid_t;

/* nvshmemx_set_attr_uniqueid_args fills it. */
typedef struct {
    int version;
    nvshmemx_uniqueid_v1 *id; /* the program's; it stays in place until nvshmemx_init_attr returns */
    int myrank;               /* number of this PE, from 0 */
    int nranks;               /* number of PEs */
} nvshmemx_uniqueid_args_v1;
typedef nvshmemx_uniqueid_args_v1 nvshmemx_uniqueid_args_t;

/* The arguments in the attributes of an init. */
typedef struct {
    int version;
    nvshmemx_uniqueid_args_t uid_args;
    char content[96]; /* not used */
} nvshmemx_init_args_v1;

typedef struct {
    int version;
    nvshmemx_uniqueid_args_t uid_args;
    int cuda_device_id; /* not used: the PE takes the GPU that is current at the first allocation */
    char content[92];   /* not used */
} nvshmemx_init_args_v2;
typedef nvshmemx_init_args_v2 nvshmemx_init_args_t;

/* What nvshmemx_init_attr takes. The flags say which member it uses. */
typedef struct {
    int version;
    void *mpi_comm;            /* NVSHMEMX_INIT_WITH_MPI_COMM: the address of an MPI_Comm */
    nvshmemx_init_args_t args; /* NVSHMEMX_INIT_WITH_UNIQUEID: uid_args in it */
} nvshmemx_init_attr_v1;

typedef struct {
    int version;
    void *mpi_comm;
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_v2;
typedef nvshmemx_init_attr_v2 nvshmemx_init_attr_t;

/* A release. No function of the library takes or returns one. */
typedef struct {
    int major;
    int minor;
    int patch;
} nvshmemi_version_t;

/* What nvshmemx_region_start takes. The library ignores it. */
typedef struct nvshmemx_region_attrs {
    uint32_t hints; /* bits of the NVSHMEMX_REGION_HINT constants */
    char reserved[60];
} nvshmemx_region_attrs_t;

/* A version is a number in the upper 16 bits, and the bytes of the struct in the lower 16. */
#define NVSHMEM_INIT_ARGS_V2_IDENTIFIER ((2 << 16) + (int)sizeof(nvshmemx_init_args_t))
#define NVSHMEM_INIT_ATTR_V1_IDENTIFIER ((1 << 16) + (int)sizeof(nvshmemx_init_attr_v1))
#define NVSHMEM_INIT_ATTR_V2_IDENTIFIER ((2 << 16) + (int)sizeof(nvshmemx_init_attr_v2))
#define NVSHMEMX_UNIQUEID_INITIALIZER {(1 << 16) + (int)sizeof(nvshmemx_uniqueid_t), {0}}
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
    {(1 << 16) + (int)sizeof(nvshmemx_uniqueid_args_t), NULL, 0, 0}
#define NVSHMEMX_INIT_ARGS_V2_INITIALIZER \
    {NVSHMEM_INIT_ARGS_V2_IDENTIFIER, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1, {0}}
#define NVSHMEMX_INIT_ARGS_INITIALIZER \
    {(1 << 16) + (int)sizeof(nvshmemx_init_args_v1), NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1, {0}}
#define NVSHMEMX_INIT_ATTR_V1_INITIALIZER \
    {NVSHMEM_INIT_ATTR_V1_IDENTIFIER, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER}
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
    {NVSHMEM_INIT_ATTR_V2_IDENTIFIER, NULL, NVSHMEMX_INIT_ARGS_V2_INITIALIZER}
#define NVSHMEM_TEAM_CONFIG_INITIALIZER \
    {(2 << 16) + (int)sizeof(nvshmem_team_config_t), 0, (nvshmemx_team_uniqueid_t)-1, {0}}
#define NVSHMEMX_REGION_ATTRS_INITIALIZER {NVSHMEMX_REGION_HINT_NONE, {0}}

/* Prints a message to stderr and ends the process with status 255 (exit(-1)), as NVSHMEM's macro of
 * this name does. */
#define NVSHMEMI_ERROR_PRINT(...)                     \
    do {                                              \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                 \
        exit(-1);                                     \
    } while (0)
`

var (
	nvshmemTeam   = Param{Name: "team", C: "nvshmem_team_t", Doc: "a team that the caller is in, or NVSHMEM_TEAM_INVALID"}
	nvshmemParent = Param{Name: "parent_team", C: "nvshmem_team_t", Doc: "the team to take PEs from"}
)

// nvshmemFamily completes the row of a family that only NVSHMEM's set of names has: with the first
// release, unless the row has one.
func nvshmemFamily(f Family) Family {
	f.Since = cmp.Or(f.Since, "0.1")
	return f
}

const nvshmemConfig = "const nvshmem_team_config_t *"

var nvshmemRows = []Chapter{{
	File: "nvshmem", Title: "Functions with the meaning of NVSHMEM",
	Families: []Family{
		nvshmemFamily(Family{
			Name: "info_get_version",
			Params: []Param{
				{Name: "major", C: "int *", Role: Result, Doc: "NVSHMEM_MAJOR_VERSION, 1"},
				{Name: "minor", C: "int *", Role: Result, Doc: "NVSHMEM_MINOR_VERSION, 3"},
			},
			Front: "nvshmemi_info_get_version($args)",
			Doc:   "Returns the version of NVSHMEM's interface that the library follows: 1.3. It may be called at any time.",
		}),
		nvshmemFamily(Family{
			Name: "barrier", Result: "int", Params: []Param{nvshmemTeam},
			Front:   "shmemi_team_barrier(team, $call)",
			Doc:     "Completes the caller's operations, as nvshmem_quiet does, and waits until every PE of a team has called it.",
			Returns: "0, or non-zero for NVSHMEM_TEAM_INVALID.",
		}),
		nvshmemFamily(Family{
			Name: "team_get_config",
			Params: []Param{
				nvshmemTeam,
				{Name: "config", C: "nvshmem_team_config_t *", Role: Result, Doc: "all of it"},
			},
			Front: "nvshmemi_team_get_config($args)",
			Doc:   "Returns the configuration of a team: num_contexts, with an initial version and unique id. It leaves config as it is when team is NVSHMEM_TEAM_INVALID.",
		}),
		nvshmemFamily(Family{
			Name: "team_split_strided", Result: "int",
			Params: []Param{
				nvshmemParent,
				{Name: "PE_start", C: "int", Doc: "number, in the parent, of the first PE of the caller's team"},
				{Name: "PE_stride", C: "int", Doc: "distance, in the parent, from one PE to the next"},
				{Name: "PE_size", C: "int", Doc: "how many PEs the caller's team has"},
				{Name: "config", C: nvshmemConfig, Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "config_mask", C: "long", Doc: "the fields of config that are used: NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, or 0"},
				{Name: "new_team", C: "nvshmem_team_t *", Role: Result, Doc: "the team, or NVSHMEM_TEAM_INVALID where the caller is not in it"},
			},
			Front: "nvshmemi_team_split_strided($args)",
			Doc: "Makes teams of PEs of a parent team that are the same distance apart. All PEs of the parent team make the call together. Each passes the " +
				"numbers of its own team, so that one call makes several teams that have no PE in common.",
			Returns: "0, or non-zero where the caller's numbers are not usable, on every PE when there is no room for another team, and when the parent is NVSHMEM_TEAM_INVALID.",
		}),
		nvshmemFamily(Family{
			Name: "team_split_2d", Result: "int",
			Params: []Param{
				nvshmemParent,
				{Name: "xrange", C: "int", Doc: "length of a row, at least 1"},
				{Name: "xaxis_config", C: nvshmemConfig, Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "xaxis_mask", C: "long", Doc: "the fields of xaxis_config that are used: NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, or 0"},
				{Name: "xaxis_team", C: "nvshmem_team_t *", Role: Result, Doc: "the PEs of the caller's row"},
				{Name: "yaxis_config", C: nvshmemConfig, Role: Source, Doc: "may be NULL when the mask is 0"},
				{Name: "yaxis_mask", C: "long", Doc: "the fields of yaxis_config that are used: NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, or 0"},
				{Name: "yaxis_team", C: "nvshmem_team_t *", Role: Result, Doc: "the PEs of the caller's column"},
			},
			Front: "nvshmemi_team_split_2d($args)",
			Doc: "Lays the PEs of a team out in rows of xrange and makes a team of each row and of each column; the last row may be shorter. " +
				"All PEs of the parent team make the call together, with the same xrange, masks and numbers of contexts.",
			Returns: "0, or non-zero on every PE of the parent when xrange is not usable, when there is no room for two more teams, and when the parent is NVSHMEM_TEAM_INVALID.",
		}),
	},
}}

var nvshmemxRows = []Family{
	nvshmemFamily(Family{
		Name: "init_attr", Result: "int",
		Params: []Param{
			{Name: "flags", C: "unsigned int", Doc: "one of the NVSHMEMX_INIT constants, or 0: as nvshmem_init"},
			{Name: "attributes", C: "nvshmemx_init_attr_t *", Role: Source, Doc: "what the flags need"},
		},
		Front: "nvshmemi_init_attr($args)",
		Doc: "Does what nvshmem_init does, in a job that starts without a launcher. Attributes need no initializer: " +
			"only the version of a later release is refused.",
		Returns: "0, or non-zero after a message.",
	}),
	nvshmemFamily(Family{
		Name: "hostlib_init_attr", Result: "int",
		Params: []Param{
			{Name: "flags", C: "unsigned int", Doc: "as for nvshmemx_init_attr"},
			{Name: "attr", C: "nvshmemx_init_attr_t *", Role: Source, Doc: "as for nvshmemx_init_attr"},
		},
		Front:   "nvshmemi_hostlib_init_attr($args)",
		Doc:     "Does what nvshmemx_init_attr does, for programs that load the library.",
		Returns: "0, or non-zero after a message.",
	}),
	nvshmemFamily(Family{Name: "hostlib_finalize", Front: "shmem_finalize()", Doc: "Does what nvshmem_finalize does."}),
	nvshmemFamily(Family{
		Name: "get_uniqueid", Result: "int",
		Params:  []Param{{Name: "uniqueid", C: "nvshmemx_uniqueid_t *", Role: Result, Doc: "the id, all 128 bytes"}},
		Front:   "nvshmemi_get_uniqueid($args)",
		Doc:     "Makes a unique id. Every process may call it; the job is made of one of the ids, which the program passes on.",
		Returns: "0, or non-zero after a message.",
	}),
	nvshmemFamily(Family{
		Name: "set_attr_uniqueid_args", Result: "int",
		Params: []Param{
			{Name: "myrank", C: "const int", Doc: "number of this PE in the job"},
			{Name: "nranks", C: "const int", Doc: "number of PEs"},
			{Name: "uniqueid", C: "const nvshmemx_uniqueid_t *", Role: Source, Doc: "the id, which stays in place until nvshmemx_init_attr"},
			{Name: "attr", C: "nvshmemx_init_attr_t *", Role: Result, Doc: "for nvshmemx_init_attr with NVSHMEMX_INIT_WITH_UNIQUEID"},
		},
		Front:   "nvshmemi_set_attr_uniqueid_args($args)",
		Doc:     "Stores the number of this PE and the unique id of its job.",
		Returns: "0, or non-zero after a message.",
	}),
	nvshmemFamily(Family{
		Name: "set_attr_mpi_comm_args", Result: "int",
		Params: []Param{
			{Name: "mpi_comm", C: "void *", Doc: "the address of an MPI_Comm, which stays in place until nvshmemx_init_attr"},
			{Name: "nvshmem_attr", C: "nvshmemx_init_attr_t *", Role: Result, Doc: "for nvshmemx_init_attr with NVSHMEMX_INIT_WITH_MPI_COMM"},
		},
		Front:   "nvshmemi_set_attr_mpi_comm_args($args)",
		Doc:     "Stores the address of the communicator of the job's PEs.",
		Returns: "0, or non-zero, without a message, when a pointer is NULL.",
	}),
	nvshmemFamily(Family{
		Name: "init_status", Result: "int", Front: "nvshmemi_init_status()",
		Doc: "Reports whether the library is in use. It may be called at any time.",
		Returns: "NVSHMEM_STATUS_NOT_INITIALIZED before the first init and after the last finalize; NVSHMEM_STATUS_IS_BOOTSTRAPPED in a job whose " +
			"program may still choose the GPU of the PE; NVSHMEM_STATUS_IS_INITIALIZED otherwise.",
	}),
	nvshmemFamily(Family{
		Name: "status_string", Result: "const char *",
		Params:  []Param{{Name: "status", C: "int", Doc: "one of the NVSHMEMX_SUCCESS and NVSHMEMX_ERROR constants"}},
		Front:   "nvshmemi_status_string($args)",
		Doc:     "Describes the result of a call.",
		Returns: "A text that stays valid until the process ends, and that the program does not change or free; \"unknown status\" for other numbers.",
	}),
	nvshmemFamily(Family{
		Name: "vendor_get_version_info",
		Params: []Param{
			{Name: "major", C: "int *", Role: Result, Doc: "NVSHMEM_VENDOR_MAJOR_VERSION"},
			{Name: "minor", C: "int *", Role: Result, Doc: "NVSHMEM_VENDOR_MINOR_VERSION"},
			{Name: "patch", C: "int *", Role: Result, Doc: "NVSHMEM_VENDOR_PATCH_VERSION"},
		},
		Front: "nvshmemi_vendor_get_version_info($args)",
		Doc:   "Returns the release of NVSHMEM that the library replaces. It may be called at any time.",
	}),
	nvshmemFamily(Family{
		Name: "mc_ptr", Result: "void *",
		Params: []Param{
			nvshmemTeam,
			{Name: "ptr", C: "const void *", Doc: "symmetric address"},
		},
		Front:   "nvshmemi_mc_ptr($args)",
		Doc:     "Finds the multicast address of symmetric memory. The library makes no such addresses.",
		Returns: "NULL.",
	}),
	nvshmemFamily(Family{
		Name: "flush", Front: "shmem_quiet()",
		Doc: "Waits until the sources of the caller's nonblocking puts may be reused. It does what nvshmem_quiet does.",
	}),
	nvshmemFamily(Family{
		Name: "flush_on_stream", Params: []Param{stream}, Front: "shmemx_quiet_on_stream(stream)",
		Doc: "Does what nvshmemx_flush does when the stream reaches it.",
	}),
	nvshmemFamily(Family{
		Name: "buffer_register", Result: "int",
		Params: []Param{
			{Name: "addr", C: "void *", Doc: "of a buffer of the program"},
			{Name: "length", C: "size_t", Unit: "bytes", Doc: "of the buffer"},
		},
		Front:   "nvshmemi_buffer_register($args)",
		Doc:     "Announces a buffer as a local source or destination. Any memory may be one without this call, which only checks its arguments.",
		Returns: "0, or NVSHMEMX_ERROR_INVALID_VALUE when addr is NULL or length is 0.",
	}),
	nvshmemFamily(Family{
		Name: "buffer_unregister", Result: "int",
		Params:  []Param{{Name: "addr", C: "void *", Doc: "as it was registered"}},
		Front:   "nvshmemi_buffer_unregister($args)",
		Doc:     "Announces that a buffer will no longer be used. It only checks its argument.",
		Returns: "0, or NVSHMEMX_ERROR_INVALID_VALUE when addr is NULL.",
	}),
	nvshmemFamily(Family{
		Name: "buffer_unregister_all", Front: "(void)0",
		Doc: "Announces that no buffer will be used any more. It does nothing.",
	}),
	nvshmemFamily(Family{
		Name: "qp_create", Result: "int",
		Params: []Param{
			{Name: "num_qps", C: "int", Doc: "how many"},
			{Name: "out_qp_array", C: "nvshmemx_qp_handle_t **", Role: Result, Doc: "an array of num_qps handles, which the program passes to free"},
		},
		Front: "nvshmemi_qp_create($args)",
		Doc: "Makes handles of queues for kernels. All PEs call it. Each handle stands for one of the PE's rings (SHMEM_RING_COUNT); " +
			"several handles share a ring when there are more handles than rings. Order and completion are those of the ring.",
		Returns: "0; NVSHMEMX_ERROR_INVALID_VALUE when num_qps is less than 1 or out_qp_array is NULL; NVSHMEMX_ERROR_OUT_OF_MEMORY.",
	}),
	nvshmemFamily(Family{
		Name:   "signal_counted_reset",
		Params: []Param{{Name: "sig_addr", C: "uint64_t *", Role: Result, Doc: "symmetric, set at the caller alone"}},
		Front:  "nvshmemi_signal_counted_reset($args)",
		Doc:    "Sets the caller's own counter of counted writes to 0.",
		Order:  "It is 0 when the call returns, which also completes the caller's earlier operations, as nvshmem_quiet does.",
	}),
	nvshmemFamily(Family{
		Name: "region_start", Result: "int",
		Params: []Param{
			{Name: "handle", C: "nvshmemx_region_handle_t *", Role: Result, Doc: "0, for nvshmemx_region_stop"},
			{Name: "attrs", C: "const nvshmemx_region_attrs_t *", Role: Source, Doc: "hints"},
		},
		Front:   "nvshmemi_region_start($args)",
		Doc:     "Begins a region with hints. They have no effect.",
		Returns: "0, or NVSHMEMX_ERROR_INVALID_VALUE when a pointer is NULL.",
	}),
	nvshmemFamily(Family{
		Name: "region_stop", Result: "int",
		Params:  []Param{{Name: "handle", C: "nvshmemx_region_handle_t", Doc: "of nvshmemx_region_start"}},
		Front:   "nvshmemi_region_stop($args)",
		Doc:     "Ends a region.",
		Returns: "0.",
	}),
	nvshmemFamily(Family{
		Name: "region_is_active", Result: "int",
		Params: []Param{
			{Name: "hints", C: "uint32_t", Doc: "the hints in question, which the library ignores"},
			{Name: "active", C: "int *", Role: Result, Doc: "0, as hints have no effect"},
		},
		Front:   "nvshmemi_region_is_active($args)",
		Doc:     "Reports whether hints have an effect.",
		Returns: "0, or NVSHMEMX_ERROR_INVALID_VALUE when active is NULL.",
	}),
}
