package job

import (
	"fmt"

	"libshmem/runtime/config"
)

// Tell reports on a wait for a PE, or for none in particular (-1), with the flight recorder's
// events below the text.
func (j *Job) Tell(of int, text string) {
	if j.log.Enabled("pe", config.LogWarn) {
		j.log.Tell("pe", config.LogWarn, fmt.Sprintf("PE %d", j.Me), text, j.Network.Flight(of))
	}
}

// note is Report, for logs of more than warnings.
func (j *Job) note(text string) {
	j.log.Printf("pe", config.LogInfo, "PE %d: %s", j.Me, text)
}

// Report prints the text of a wait or a call of this PE to the log.
func (j *Job) Report(text string) {
	if j.log.Enabled("pe", config.LogWarn) {
		j.log.Say("pe", config.LogWarn, fmt.Sprintf("PE %d: %s", j.Me, text))
	}
}
