package meet

import (
	"fmt"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
)

// Self has what every part of the job needs to know about this PE.
type Self struct {
	Me       libshmem.PE
	NPEs     int
	Nodes    *topo.Nodes // nil until the PEs have met
	Settings *config.Config
	Boot     bootstrap.Bootstrap
	Log      *shmlog.Log
	Fatal    func(error) // ends the job
}

// Report logs a text about this PE as a warning.
func (s *Self) Report(text string) {
	if s.Log.Enabled("pe", config.LogWarn) {
		s.Log.Say("pe", config.LogWarn, fmt.Sprintf("PE %d: %s", s.Me, text))
	}
}

// Note logs a text about this PE as information, for logs with more than warnings.
func (s *Self) Note(text string) {
	s.Log.Printf("pe", config.LogInfo, "PE %d: %s", s.Me, text)
}
