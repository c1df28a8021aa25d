package job

import (
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
)

// Meet brings this process together with the other PEs of its job, by the bootstrap that Start
// would take. It does nothing else. environ is as in Options.
func Meet(cfg *config.Config, environ []string) (bootstrap.Bootstrap, error) {
	return (&Job{Config: cfg}).meet(&Options{Environ: environ})
}
