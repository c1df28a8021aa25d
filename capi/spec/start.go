package spec

// This file has the calls that join a job without a launcher, by a unique id or an MPI
// communicator.

// startConstants are the constants for shmemx_init_attr.
var startConstants = ConstantGroup{
	Doc: "Flags of shmemx_init_attr.",
	Constants: []Constant{
		{"SHMEMX_INIT_WITH_MPI_COMM", "2", "an MPI communicator, whose address is in mpi_comm"},
		{"SHMEMX_INIT_WITH_UNIQUEID", "8", "a unique id, by shmemx_set_attr_uniqueid_args"},
	},
}

// startTypes are the types for shmemx_get_uniqueid and shmemx_init_attr.
const startTypes = `
/*
 * A unique id, by which the PEs of a job find each other. One process makes it with
 * shmemx_get_uniqueid, and the program passes all 128 bytes on to all PEs.
 */
typedef struct {
    int version;
    char internal[124];
} shmemx_uniqueid_v1;
typedef shmemx_uniqueid_v1 shmemx_uniqueid_t;

/* Filled by shmemx_set_attr_uniqueid_args. *id must stay valid until shmemx_init_attr returns. */
typedef struct {
    int version;
    shmemx_uniqueid_v1 *id;
    int myrank;
    int nranks;
} shmemx_uniqueid_args_v1;
typedef shmemx_uniqueid_args_v1 shmemx_uniqueid_args_t;

/*
 * The part of shmemx_init_attr_t for jobs by a unique id. content is not used; it gives the struct
 * the size of NVSHMEM's.
 */
typedef struct {
    int version;
    shmemx_uniqueid_args_t uid_args;
    char content[96];
} shmemx_init_args_v1;
typedef shmemx_init_args_v1 shmemx_init_args_t;

/* The argument of shmemx_init_attr. Its initial value is SHMEMX_INIT_ATTR_INITIALIZER. */
typedef struct {
    int version;
    void *mpi_comm; /* the address of an MPI_Comm, which is read during shmemx_init_attr */
    shmemx_init_args_t args;
} shmemx_init_attr_v1;
typedef shmemx_init_attr_v1 shmemx_init_attr_t;

/* A version is 1 in the upper half, and the size of the struct in bytes in the lower half. */
#define SHMEMX_UNIQUEID_INITIALIZER {(1 << 16) + (int)sizeof(shmemx_uniqueid_t), {0}}
#define SHMEMX_UNIQUEID_ARGS_INITIALIZER {(1 << 16) + (int)sizeof(shmemx_uniqueid_args_t), NULL, -1, -1}
#define SHMEMX_INIT_ARGS_INITIALIZER \
    {(1 << 16) + (int)sizeof(shmemx_init_args_t), SHMEMX_UNIQUEID_ARGS_INITIALIZER, {0}}
#define SHMEMX_INIT_ATTR_INITIALIZER \
    {(1 << 16) + (int)sizeof(shmemx_init_attr_t), NULL, SHMEMX_INIT_ARGS_INITIALIZER}
`

const uniqueID = "The process that makes the id must live until every PE has left the job, and the other PEs must be able to " +
	"reach one of its addresses by TCP; SHMEM_BOOTSTRAP_INTERFACE and SHMEM_BOOTSTRAP_FAMILY select the addresses in the id."

const sessionID = " With SHMEM_BOOTSTRAP_SESSION every process that makes the call gets the id of that session's job."

var startCalls = []Family{
	{
		Name: "get_uniqueid", Section: "start", Since: "0.1", Result: "int",
		Params: []Param{{Name: "uid", C: "shmemx_uniqueid_t *", Role: Result, Doc: "the id, all 128 bytes"}},
		Front:  "shmemi_get_uniqueid(uid, $call)",
		Doc: "Makes a unique id for one job. One process calls it, usually the one that becomes PE 0, and the program " +
			"passes the id on to all PEs by means of its own. A process that knows the id can join the job. " + uniqueID + sessionID +
			" It may be called before init.",
		Returns: "0, or non-zero after a message when this host has no address that the settings allow.",
		Errors:  "None beside its result.",
	},
	{
		Name: "set_attr_uniqueid_args", Section: "start", Since: "0.1", Result: "int",
		Params: []Param{
			{Name: "myrank", C: "const int", Doc: "number of this PE in the job"},
			{Name: "nranks", C: "const int", Doc: "number of PEs, the same on each"},
			{Name: "uid", C: "const shmemx_uniqueid_t *", Role: Source, Doc: "the id, the same on each PE. attr points to it, so it must stay in place until shmemx_init_attr returns"},
			{Name: "attr", C: "shmemx_init_attr_t *", Role: Result, Doc: "for shmemx_init_attr with SHMEMX_INIT_WITH_UNIQUEID"},
		},
		Front:   "shmemi_set_attr_uniqueid_args(myrank, nranks, uid, attr, $call)",
		Doc:     "Stores the number of this PE and the unique id of its job in attr. It may be called before init.",
		Returns: "0, or non-zero after a message when a pointer is NULL or myrank is not from 0 to nranks - 1.",
		Errors:  "None beside its result.",
	},
	{
		Name: "init_attr", Section: "start", Since: "0.1", Result: "int",
		Params: []Param{
			{Name: "flags", C: "unsigned int", Doc: "SHMEMX_INIT_WITH_UNIQUEID, SHMEMX_INIT_WITH_MPI_COMM, or 0: as shmem_init"},
			{Name: "attr", C: "shmemx_init_attr_t *", Role: Source, Doc: "filled by the calls for its flags; NULL with flags of 0"},
		},
		Front: "shmemi_init_attr(flags, attr, $call)",
		Doc: "Does what shmem_init does, in a job that starts without a launcher. With a communicator the PEs have the ranks of its processes; " +
			"it is one of Open MPI or MPICH, whichever the program has loaded. Call MPI_Init before, and MPI_Finalize after shmem_finalize; the library calls MPI " +
			"only during this call, in the caller's thread. Every PE calls it; it " +
			"returns when all PEs have called it. After SHMEM_BOOTSTRAP_TIMEOUT a message names the PEs that are missing. When the library is in use " +
			"already, the call only counts as one more init.",
		Returns: "0, or non-zero after a message when the PE cannot join the job, or attr or flags are not valid.",
		Errors:  "None beside its result.",
	},
	{
		Name: "finalize_at_exit", Section: "start", Since: "0.1",
		Front: "shmemi_finalize_at_exit($call)",
		Doc: "Makes the library call shmem_finalize when the process ends with exit(0) or by returning 0 from main, unless the program has called it " +
			"before. A process that ends in another way, or with another status, leaves the job without " +
			"shmem_finalize, because the other PEs may never call it. After this call a signal handler must not call exit(0), nor may any thread " +
			"call it while another thread is in a call of the library.",
		Errors: "None. It may be called at any time, and again.",
	},
}
