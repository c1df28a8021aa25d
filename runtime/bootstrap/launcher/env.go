package launcher

// The variables that shmemrun sets for a PE. runtime/config reads them.
const (
	EnvFD      = "SHMEM_LAUNCHER_FD"      // number of the inherited descriptor
	EnvPE      = "SHMEM_LAUNCHER_PE"      // number of the PE
	EnvNPEs    = "SHMEM_LAUNCHER_NPES"    // number of PEs
	EnvCPUs    = "SHMEM_LAUNCHER_CPUS"    // processors to which the PE is bound; not set: it is not bound
	EnvBind    = "SHMEM_LAUNCHER_BIND"    // the value of --bind
	EnvHelpers = "SHMEM_LAUNCHER_HELPERS" // processors to which no PE is bound
	EnvBinding = "SHMEM_LAUNCHER_BINDING" // how PEs are bound, as text for messages
	EnvHosts   = "SHMEM_LAUNCHER_HOSTS"   // number of hosts, real or simulated; not set: one
	EnvHostID  = "SHMEM_HOST_ID"          // the simulated host, with --hosts only
)
