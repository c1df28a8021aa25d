package spec

// This file has the calls for meshes: processes that work together without a job.

// meshConstants are the results of the calls.
var meshConstants = ConstantGroup{
	Doc: "Results of the calls for meshes; 0: the call has done its work.",
	Constants: []Constant{
		{"SHMEMX_MESH_PENDING", "1", "the request has not ended"},
		{"SHMEMX_MESH_ARGUMENT", "2", "an argument is not valid"},
		{"SHMEMX_MESH_MEMBER", "3", "the member has left, is lost, or was removed"},
		{"SHMEMX_MESH_CLOSED", "4", "the region or the mesh has been closed, or an earlier call has reported the end of the request"},
		{"SHMEMX_MESH_VERSION", "5", "the blob is of another version of the library"},
		{"SHMEMX_MESH_NETWORK", "6", "the network or the system has refused"},
		{"SHMEMX_MESH_TIMEOUT", "7", "the request has not ended within the time of shmemx_mesh_wait"},
	},
}

// meshFlags are the arguments of puts and signals.
var meshFlags = ConstantGroup{
	Doc: "Flags of operations of meshes, what a signal does, and which GPU memory a mesh uses.",
	Constants: []Constant{
		{"SHMEMX_MESH_ORDERED", "1", "flag: the operation follows all earlier ones of its context on the member"},
		{"SHMEMX_MESH_SET", "0", "signal: stores the value"},
		{"SHMEMX_MESH_ADD", "1", "signal: adds the value, atomically with other signals"},
		{"SHMEMX_MESH_GPU_OTHERS", "1", "gpu of the options: regions of other members may be GPU memory"},
		{"SHMEMX_MESH_GPU_OWN", "2", "gpu of the options: also regions and blocks of this member, in memory of the GPU that the thread which calls shmemx_mesh_open uses"},
	},
}

// meshTypes are the types that the calls need.
const meshTypes = `
/*
 * What shmemx_mesh_open needs to know. Set the members that you do not use, and reserved, to 0. The
 * call copies the secret and the strings.
 *
 * log gets errors that no call reports, from any thread, until shmemx_mesh_close has returned. It
 * must not call the library. text is valid until it returns.
 */
typedef struct {
    size_t size;          /* sizeof(shmemx_mesh_options_t) */
    int member;           /* number of this process in the mesh, 0 to most - 1 */
    int most;             /* how many numbers members may ever have, 1 to 65536; the same for all members */
    const void *secret;   /* at least 16 bytes, the same for all members */
    size_t secret_nbytes;
    int contexts;         /* how many contexts this member has, up to 1023; 0: one */
    int timeout_ms;       /* milliseconds that a member may take to answer before it is lost; 0: 10 seconds */
    const char *provider; /* name of a provider of libfabric; NULL: the best that works */
    const char *nics;     /* names of NICs, comma separated; NULL: any */
    const char *library;  /* path of libfabric's shared library; NULL: it is searched for */
    void (*log)(const char *text, void *arg); /* see above; NULL: none */
    void *log_arg;        /* passed to log as arg */
    int gpu;              /* 0: regions and blocks are main memory; or a SHMEMX_MESH_GPU constant: all contexts then share one order */
    int reserved;
} shmemx_mesh_options_t;

/*
 * A part of this member's memory, and a part of a region that is as long. A put copies from the first
 * to the second, a get from the second to the first.
 */
typedef struct {
    void *local;     /* address in this process, of any memory; a put only reads it */
    uint64_t offset; /* bytes from the start of the region */
    size_t nbytes;   /* of both parts */
} shmemx_mesh_block_t;

/* A change of a word of 8 bytes in a region; of a put with a signal, at the member to which its bytes go. */
typedef struct {
    uint64_t remote; /* of the region with the word, as shmemx_mesh_import has set it */
    uint64_t offset; /* bytes from the start of the region, a multiple of 8 */
    uint64_t value;  /* to store or to add */
    int op;          /* SHMEMX_MESH_SET or SHMEMX_MESH_ADD */
    int reserved;    /* 0 */
} shmemx_mesh_signal_t;
`

var (
	meshMesh    = Param{Name: "mesh", C: "uint64_t", Doc: "as shmemx_mesh_open has set it"}
	meshContext = Param{Name: "context", C: "int", Doc: "number of a context of this member, from 0"}
	meshRemote  = Param{Name: "remote", C: "uint64_t", Doc: "the region, as shmemx_mesh_import has set it"}
	meshBlocks  = Param{Name: "blocks", C: "const shmemx_mesh_block_t *", Role: Source, Doc: "the array may be reused when the call returns, the memory that it names when the request has ended"}
	meshCount   = Param{Name: "nblocks", C: "size_t", Doc: "number of blocks"}
	meshMember  = Param{Name: "member", C: "int", Doc: "number of a member"}
	meshRequest = Param{Name: "request", C: "uint64_t *", Role: Result, Doc: "set to a request, which lasts until shmemx_mesh_test or shmemx_mesh_wait reports its end, or until shmemx_mesh_close"}
	meshSignal  = Param{Name: "signal", C: "const shmemx_mesh_signal_t *", Role: Source, Doc: "the change; may be reused when the call returns"}
	meshFlag    = Param{Name: "flags", C: "int", Doc: "0 or SHMEMX_MESH_ORDERED"}
	meshBlob    = Param{Name: "blob", C: "const void *", Role: Source, Doc: "that the other member has made, by shmemx_mesh_address to be added and by shmemx_mesh_describe for a region; may be reused when the call returns"}
	meshSize    = Param{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "of the blob"}
	meshTo      = Param{Name: "blob", C: "void *", Role: Result, Doc: "gets the blob; NULL: only its size is wanted"}
	meshRoom    = Param{Name: "nbytes", C: "size_t *", Role: Result, Doc: "in: bytes that there is room for; out: bytes of the blob, also when it has no room (SHMEMX_MESH_ARGUMENT)"}
)

// meshRow completes the row of a call for meshes.
func meshRow(f Family) Family {
	f.Name, f.Section, f.Since, f.Result = "mesh_"+f.Name, "meshes", "0.1", "int"
	if f.Returns == "" {
		f.Returns = "0, or one of the SHMEMX_MESH constants."
	}
	f.Errors += "Its result; shmemx_mesh_error_text has the reason. No error ends the process, and an error of a member ends no operation on another."
	return f
}

var meshCalls = []Family{
	meshRow(Family{
		Name: "open",
		Params: []Param{
			{Name: "options", C: "const shmemx_mesh_options_t *", Role: Source, Doc: "may be reused when the call returns"},
			{Name: "mesh", C: "uint64_t *", Role: Result, Doc: "set to the mesh"},
		},
		Front: "shmemi_mesh_open(options, mesh, $call)",
		Doc: "Opens a mesh with this process as its only member. It needs no job, and works beside one. A process may open several. " +
			"Any thread may make the calls for a mesh, at any time, also several at once. " +
			"The number of a member is given to one process only: when that has left, a new one takes a new number.",
	}),
	meshRow(Family{
		Name: "close", Params: []Param{meshMesh},
		Front: "shmemi_mesh_close(mesh, $call)",
		Doc: "Leaves a mesh. It tells the other members, and waits until they have taken what was sent to them, for at most the timeout " +
			"of the mesh for each step. Afterwards calls with the mesh, its regions or its requests return SHMEMX_MESH_CLOSED, and nothing uses their memory.",
	}),
	meshRow(Family{
		Name: "address", Params: []Param{meshMesh, meshTo, meshRoom},
		Front: "shmemi_mesh_address(mesh, blob, nbytes, $call)",
		Doc:   "Copies the blob by which other members add this one. The program carries it to them. The secret is not in it.",
	}),
	meshRow(Family{
		Name:   "add",
		Params: []Param{meshMesh, meshBlob, meshSize, {Name: "member", C: "int *", Role: Result, Doc: "set to the number of the member, or -1; may be NULL"}},
		Front:  "shmemi_mesh_add(mesh, blob, nbytes, member, $call)",
		Doc: "Adds a member. Two members work together when each has added the other; operations of the first to do so wait for the " +
			"second, for the timeout of the mesh. A blob of another secret, version or provider is refused.",
	}),
	meshRow(Family{
		Name: "remove", Params: []Param{meshMesh, meshMember},
		Front: "shmemi_mesh_remove(mesh, member, $call)",
		Doc: "Ends the work with a member at once. Requests on it end with an error. Where the network has connections, it can neither " +
			"read nor write memory of this member any more.",
	}),
	meshRow(Family{
		Name: "status", Params: []Param{meshMesh, meshMember},
		Front: "shmemi_mesh_status(mesh, member, $call)",
		Doc: "Reports whether a member is there, as far as is known. A member whose process ends is found lost within a second, " +
			"where the network has connections and one to it is open.",
		Returns: "0: it can be used. SHMEMX_MESH_MEMBER: it has left, is lost, or was removed. SHMEMX_MESH_ARGUMENT: it was not added. Other constants: an error.",
	}),
	meshRow(Family{
		Name: "register",
		Params: []Param{
			meshMesh, {Name: "base", C: "void *", Doc: "memory of this process, at a multiple of 8"},
			{Name: "nbytes", C: "size_t", Doc: "how many bytes: 1 to 2^44"},
			{Name: "region", C: "uint64_t *", Role: Result, Doc: "set to the region"},
		},
		Front: "shmemi_mesh_register(mesh, base, nbytes, region, $call)",
		Doc: "Makes memory a region, which other members may import. It is a call of this member alone. The memory has to stay " +
			"mapped until the request of shmemx_mesh_unregister has ended. It may be memory of the GPU of a mesh that was opened with " +
			"SHMEMX_MESH_GPU_OWN; kernels must not change words that members signal.",
	}),
	meshRow(Family{
		Name: "describe", Params: []Param{{Name: "region", C: "uint64_t", Doc: "as shmemx_mesh_register has set it"}, meshTo, meshRoom},
		Front: "shmemi_mesh_describe(region, blob, nbytes, $call)",
		Doc:   "Copies the blob by which other members import a region. The program carries it to them.",
	}),
	meshRow(Family{
		Name: "unregister", Params: []Param{{Name: "region", C: "uint64_t", Doc: "as shmemx_mesh_register has set it"}, meshRequest},
		Front: "shmemi_mesh_unregister(region, request, $call)",
		Doc: "Ends a region; no later call may name it. Operations of other members that are under way end first, and new ones fail there with SHMEMX_MESH_CLOSED. " +
			"When the request has ended the memory may be unmapped. A member that does not answer within the timeout is lost.",
	}),
	meshRow(Family{
		Name: "import",
		Params: []Param{
			meshMesh, meshBlob, meshSize,
			{Name: "remote", C: "uint64_t *", Role: Result, Doc: "set to what names the region here"},
			{Name: "length", C: "size_t *", Role: Result, Doc: "set to the bytes of the region; may be NULL"},
			meshRequest,
		},
		Front: "shmemi_mesh_import(mesh, blob, nbytes, remote, length, request, $call)",
		Doc:   "Asks a member for the use of its region. Operations may name it when the request has ended.",
	}),
	meshRow(Family{
		Name: "put", Params: []Param{meshMesh, meshContext, meshRemote, meshBlocks, meshCount, meshFlag, meshRequest},
		Front: "shmemi_mesh_put(mesh, context, remote, blocks, nblocks, NULL, flags, request, $call)",
		Doc:   "Copies blocks to a region of another member. When the request has ended their local memory may be reused.",
		Order: "None with other operations without SHMEMX_MESH_ORDERED. shmemx_mesh_flush completes it.",
	}),
	meshRow(Family{
		Name: "put_signal", Params: []Param{meshMesh, meshContext, meshRemote, meshBlocks, meshCount, meshSignal, meshFlag, meshRequest},
		Front: "shmemi_mesh_put_signal(mesh, context, remote, blocks, nblocks, signal, flags, request, $call)",
		Doc:   "Copies blocks as shmemx_mesh_put does, and then changes a word of the same member.",
		Order: "A process that reads the new word with acquire order sees all bytes of the call. With SHMEMX_MESH_ORDERED it also sees those of earlier operations.",
	}),
	meshRow(Family{
		Name: "notify", Params: []Param{meshMesh, meshContext, meshSignal, meshFlag, meshRequest},
		Front: "shmemi_mesh_notify(mesh, context, signal, flags, request, $call)",
		Doc:   "Changes a word of a member.",
		Order: "With SHMEMX_MESH_ORDERED it follows all earlier operations of the context on the member, without it none.",
	}),
	meshRow(Family{
		Name: "get", Params: []Param{meshMesh, meshContext, meshRemote, meshBlocks, meshCount, meshRequest},
		Front: "shmemi_mesh_get(mesh, context, remote, blocks, nblocks, request, $call)",
		Doc:   "Copies blocks from a region of another member. When the request has ended the bytes are in their local memory.",
		Order: "It may overtake earlier puts: flush them first.",
	}),
	meshRow(Family{
		Name: "flush", Params: []Param{meshMesh, meshContext, meshMember, meshRequest},
		Front: "shmemi_mesh_flush(mesh, context, member, request, $call)",
		Doc:   "When the request has ended, all earlier operations of the context on the member have taken effect there.",
	}),
	meshRow(Family{
		Name: "send",
		Params: []Param{
			meshMesh, meshMember, {Name: "data", C: "const void *", Role: Source, Doc: "may be reused when the call returns"},
			{Name: "nbytes", C: "size_t", Doc: "how many bytes: 1 to 4064"}, meshRequest,
		},
		Front: "shmemi_mesh_send(mesh, member, data, nbytes, request, $call)",
		Doc: "Sends a message to the program of another member, such as a request to a server. When the request has ended the message is on its way; " +
			"it waits while the member has 64 messages of this one that its program has not received.",
		Order: "Messages to a member arrive in order. They have no order with other operations.",
	}),
	meshRow(Family{
		Name: "receive",
		Params: []Param{
			meshMesh, {Name: "data", C: "void *", Role: Result, Doc: "gets the message, up to 4064 bytes"},
			{Name: "nbytes", C: "size_t *", Role: Result, Doc: "in: bytes that there is room for; out: bytes of the message"},
			{Name: "member", C: "int *", Role: Result, Doc: "set to the member that has sent it"},
			{Name: "timeout_ms", C: "int", Doc: "milliseconds; 0 or less: does not wait"},
		},
		Front: "shmemi_mesh_receive(mesh, data, nbytes, member, timeout_ms, $call)",
		Doc: "Receives the first message that has arrived, of any member, or waits for one. A message that has no room stays the first one; the result " +
			"is SHMEMX_MESH_ARGUMENT, *nbytes is unchanged, and shmemx_mesh_error_text has its size. Messages " +
			"of members that have left since are received, too.",
		Returns: "0. SHMEMX_MESH_PENDING: no message has arrived within the timeout. Other constants: an error.",
	}),
	meshRow(Family{
		Name: "test", Params: []Param{{Name: "request", C: "uint64_t *", Role: Result, Doc: "in: a request; 0 is one that has ended. Set to 0 when it has ended"}},
		Front:   "shmemi_mesh_test(request, $call)",
		Doc:     "Reports whether a request has ended, and its error if it has. It lets the mesh go on, and does not wait.",
		Returns: "0: it has ended well. SHMEMX_MESH_PENDING: it has not ended. Other constants: it has ended with an error.",
	}),
	meshRow(Family{
		Name: "wait",
		Params: []Param{
			{Name: "request", C: "uint64_t *", Role: Result, Doc: "as for shmemx_mesh_test"},
			{Name: "timeout_ms", C: "int", Doc: "milliseconds; 0 or less: as shmemx_mesh_test, but for the result"},
		},
		Front:   "shmemi_mesh_wait(request, timeout_ms, $call)",
		Doc:     "Waits until a request has ended. After the timeout it returns SHMEMX_MESH_TIMEOUT, and the request goes on.",
		Returns: "As shmemx_mesh_test, but SHMEMX_MESH_TIMEOUT in place of SHMEMX_MESH_PENDING.",
	}),
	{
		Name: "mesh_error_text", Section: "meshes", Since: "0.1", Result: "const char *",
		Front:   "shmemi_mesh_error_text($call)",
		Doc:     "Describes the last error of a call for meshes in the calling thread: what failed, on what, why, and what to do.",
		Returns: "A text for people, valid until the next such error of this thread; empty when there was none.",
		Errors:  "None. It may be called at any time.",
	},
}
