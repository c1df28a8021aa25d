package job

import (
	"fmt"

	"libshmem/runtime/config"
)

// ReportWait reports on a wait for a PE, or for none in particular (-1), with the flight recorder's
// events below the text.
func (j *Job) ReportWait(of int, text string) {
	if j.Log.Enabled("pe", config.LogWarn) {
		j.Log.SayWith("pe", config.LogWarn, fmt.Sprintf("PE %d", j.Me), text, j.Network.Flight(of))
	}
}
