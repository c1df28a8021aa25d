package launcher

// The variables that shmemrun sets for a PE. runtime/config reads them.
const (
	EnvFD     = "SHMEM_LAUNCHER_FD"   // number of the inherited descriptor
	EnvPE     = "SHMEM_LAUNCHER_PE"   // number of the PE
	EnvNPEs   = "SHMEM_LAUNCHER_NPES" // number of PEs
	EnvHostID = "SHMEM_HOST_ID"       // the simulated host, with --hosts only
)
