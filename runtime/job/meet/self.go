package meet

import (
	"fmt"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
)

// Self is this PE as every part of its job needs it.
type Self struct {
	Me       libshmem.PE
	NPEs     int
	Nodes    *topo.Nodes // nil until the PEs have met
	Settings *config.Config
	Boot     bootstrap.Bootstrap
	Log      *shmlog.Log
	Fatal    func(error) // ends the job
}

// Report prints the text of a wait or a call of this PE to the log.
func (s *Self) Report(text string) {
	if s.Log.Enabled("pe", config.LogWarn) {
		s.Log.Say("pe", config.LogWarn, fmt.Sprintf("PE %d: %s", s.Me, text))
	}
}

// Note is Report, for logs of more than warnings.
func (s *Self) Note(text string) {
	s.Log.Printf("pe", config.LogInfo, "PE %d: %s", s.Me, text)
}
