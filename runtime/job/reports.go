package job

import (
	"fmt"

	"libshmem/runtime/config"
)

// ReportWait logs text, the report of a wait for the PE `of`, or for no particular PE (-1). Below
// the text it prints the last events of the flight recorder with that PE.
func (j *Job) ReportWait(of int, text string) {
	if j.Log.Enabled("pe", config.LogWarn) {
		j.Log.SayWith("pe", config.LogWarn, fmt.Sprintf("PE %d", j.Me), text, j.Network.Flight(of))
	}
}
