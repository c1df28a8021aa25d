package spec

// How a program joins a job by what it knows itself, without a launcher.

// startConstants are the constants of these calls.
var startConstants = ConstantGroup{
	Doc: "What shmemx_init_attr is given.",
	Constants: []Constant{
		{"SHMEMX_INIT_WITH_MPI_COMM", "2", "an MPI communicator, whose address is in mpi_comm"},
		{"SHMEMX_INIT_WITH_UNIQUEID", "8", "a unique id, by shmemx_set_attr_uniqueid_args"},
	},
}

// startTypes are the types of these calls.
const startTypes = `
/*
 * What brings the PEs of a job together: made by one process with
 * shmemx_get_uniqueid, and passed on to all PEs by the program, all 128 bytes of it.
 */
typedef struct {
    int version;
    char internal[124];
} shmemx_uniqueid_v1;
typedef shmemx_uniqueid_v1 shmemx_uniqueid_t;

/* Filled by shmemx_set_attr_uniqueid_args. */
typedef struct {
    int version;
    shmemx_uniqueid_v1 *id;
    int myrank;
    int nranks;
} shmemx_uniqueid_args_v1;
typedef shmemx_uniqueid_args_v1 shmemx_uniqueid_args_t;

/* What shmemx_init_attr takes, beginning as SHMEMX_INIT_ATTR_INITIALIZER. */
typedef struct {
    int version;
    shmemx_uniqueid_args_t uid_args;
    char content[96];
} shmemx_init_args_v1;
typedef shmemx_init_args_v1 shmemx_init_args_t;

typedef struct {
    int version;
    void *mpi_comm; /* the address of an MPI_Comm */
    shmemx_init_args_t args;
} shmemx_init_attr_v1;
typedef shmemx_init_attr_v1 shmemx_init_attr_t;

/* A version is 1 in the upper half, and the bytes of the struct. */
#define SHMEMX_UNIQUEID_INITIALIZER {(1 << 16) + (int)sizeof(shmemx_uniqueid_t), {0}}
#define SHMEMX_UNIQUEID_ARGS_INITIALIZER {(1 << 16) + (int)sizeof(shmemx_uniqueid_args_t), NULL, -1, -1}
#define SHMEMX_INIT_ARGS_INITIALIZER \
    {(1 << 16) + (int)sizeof(shmemx_init_args_t), SHMEMX_UNIQUEID_ARGS_INITIALIZER, {0}}
#define SHMEMX_INIT_ATTR_INITIALIZER \
    {(1 << 16) + (int)sizeof(shmemx_init_attr_t), NULL, SHMEMX_INIT_ARGS_INITIALIZER}
`

const uniqueID = "The process that makes the id has to live until every PE has left the job, and the other PEs have to " +
	"reach one of its addresses by TCP; SHMEM_BOOTSTRAP_INTERFACE and SHMEM_BOOTSTRAP_FAMILY say which of them the id carries."

const sessionID = " Where SHMEM_BOOTSTRAP_SESSION is set, every process that calls it has the id of the job that meets there."

var startCalls = []Family{
	{
		Name: "get_uniqueid", Section: "start", Since: "0.1", Result: "int",
		Params: []Param{{Name: "uid", C: "shmemx_uniqueid_t *", Role: Result, Doc: "the id, all 128 bytes"}},
		Front:  "shmemi_get_uniqueid(uid, $call)",
		Doc: "Makes a unique id, of which one job can be made. One process calls it, mostly the one that becomes PE 0, and the program " +
			"passes the id on to all PEs in a way of its own. Who knows the id can join the job. " + uniqueID + sessionID +
			" It may be called before init.",
		Returns: "0, or non-zero after a message when this host has no address that the settings allow.",
		Errors:  "None beside its result.",
	},
	{
		Name: "set_attr_uniqueid_args", Section: "start", Since: "0.1", Result: "int",
		Params: []Param{
			{Name: "myrank", C: "const int", Doc: "number of this PE in the job"},
			{Name: "nranks", C: "const int", Doc: "number of PEs, the same on each"},
			{Name: "uid", C: "const shmemx_uniqueid_t *", Role: Source, Doc: "the id, the same on each PE. It stays in place until shmemx_init_attr"},
			{Name: "attr", C: "shmemx_init_attr_t *", Role: Result, Doc: "for shmemx_init_attr with SHMEMX_INIT_WITH_UNIQUEID"},
		},
		Front:   "shmemi_set_attr_uniqueid_args(myrank, nranks, uid, attr, $call)",
		Doc:     "Notes who this PE is and by which id it meets the others. It may be called before init.",
		Returns: "0, or non-zero after a message when a pointer is NULL or myrank is not from 0 to nranks - 1.",
		Errors:  "None beside its result.",
	},
	{
		Name: "init_attr", Section: "start", Since: "0.1", Result: "int",
		Params: []Param{
			{Name: "flags", C: "unsigned int", Doc: "SHMEMX_INIT_WITH_UNIQUEID, SHMEMX_INIT_WITH_MPI_COMM, or 0: as shmem_init"},
			{Name: "attr", C: "shmemx_init_attr_t *", Role: Source, Doc: "as the calls that fill it have left it; NULL with flags of 0"},
		},
		Front: "shmemi_init_attr(flags, attr, $call)",
		Doc: "Does what shmem_init does, in a job that the program itself brings together: no launcher is needed. PEs are numbered as a communicator has its processes, " +
			"of Open MPI or MPICH, whichever the program has loaded; MPI is called once, in the caller's thread. Every PE calls it, and returns " +
			"when all have come; those that do not within SHMEM_BOOTSTRAP_TIMEOUT are named. Where the library is in use " +
			"already the call only counts.",
		Returns: "0, or non-zero after a message when the job cannot be joined, or attr or flags are not as they have to be.",
		Errors:  "None beside its result.",
	},
	{
		Name: "finalize_at_exit", Section: "start", Since: "0.1",
		Front: "shmemi_finalize_at_exit($call)",
		Doc: "Has shmem_finalize called when the process ends by exit(0) or by returning 0 from main, where it has not been called " +
			"by then. A process that ends in another way, or with another status, leaves the job without " +
			"it, for the others may never come. exit(0) may not be called by the handler of a signal then, or while another thread " +
			"is in a call of the library.",
		Errors: "None. It may be called at any time, and again.",
	},
}
