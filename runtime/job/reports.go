package job

import (
	"fmt"

	"libshmem/runtime/config"
)

// ReportWait logs the report of a wait for a PE, or for none in particular (-1), with the last
// events of the flight recorder with that PE below the text.
func (j *Job) ReportWait(of int, text string) {
	if j.Log.Enabled("pe", config.LogWarn) {
		j.Log.SayWith("pe", config.LogWarn, fmt.Sprintf("PE %d", j.Me), text, j.Network.Flight(of))
	}
}
