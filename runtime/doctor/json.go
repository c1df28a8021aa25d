package doctor

import (
	"encoding/json"

	"libshmem"
)

// The findings in the form of JSON, for programs.
type (
	jsonReport struct {
		Version string        `json:"version"`
		Verdict string        `json:"verdict"` // the worst of all findings
		Hosts   []jsonHost    `json:"hosts"`
		Between []jsonFinding `json:"between"`
	}
	jsonHost struct {
		Name     string        `json:"name"`
		PEs      []int         `json:"pes"`
		Findings []jsonFinding `json:"findings"`
	}
	jsonFinding struct {
		Verdict string `json:"verdict"` // ok, lack or fault
		Subject string `json:"subject"`
		Text    string `json:"text"`
		Remedy  string `json:"remedy,omitempty"`
	}
)

// word returns the verdict as it is written in JSON.
func (v Verdict) word() string { return [...]string{"ok", "lack", "fault"}[v] }

// jsonFindings converts findings to their form in JSON.
func jsonFindings(all []Finding) []jsonFinding {
	out := []jsonFinding{}
	for _, f := range all {
		out = append(out, jsonFinding{f.Verdict.word(), f.Subject, f.Text, f.Remedy})
	}
	return out
}

// JSON returns the findings about hosts, and those about the network between them, as one JSON
// object.
func JSON(hosts []Host, between []Finding) string {
	r := jsonReport{Version: libshmem.Version, Hosts: []jsonHost{}, Between: jsonFindings(between)}
	worst := Worst(between)
	for i := range hosts {
		h := &hosts[i]
		worst = max(worst, Worst(h.Findings))
		pes := []int{}
		for _, pe := range h.PEs {
			pes = append(pes, int(pe))
		}
		r.Hosts = append(r.Hosts, jsonHost{h.Name, pes, jsonFindings(h.Findings)})
	}
	r.Verdict = worst.word()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // impossible: the object has only texts and numbers
	}
	return string(text)
}
