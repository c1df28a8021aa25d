package tracereplay

import (
	"libshmem/cmd/internal/replay"
	"libshmem/fabric/sim"
)

// Prediction is the output of --json. Times are in nanoseconds.
type Prediction struct {
	Program    string              `json:"program"`
	Model      string              `json:"model"`
	Hosts      int                 `json:"hosts"`
	Recorded   int64               `json:"recorded_ns"`
	Predicted  sim.Time            `json:"predicted_ns"`
	Bottleneck string              `json:"bottleneck"`
	Bounds     map[string]sim.Time `json:"bounds_ns"`
	PEs        []PE                `json:"pes"`
	Phases     []Phase             `json:"phases"`
}

// PE is one PE of a Prediction.
type PE struct {
	Recorded       sim.Time `json:"recorded_ns"`
	Predicted      sim.Time `json:"predicted_ns"`
	Computes       sim.Time `json:"computes_ns"`
	WaitsForPEs    sim.Time `json:"waits_for_pes_ns"`
	WaitsForWires  sim.Time `json:"waits_for_network_ns"`
	OthersWaitFor  sim.Time `json:"others_wait_for_it_ns"`
	ProcessorOfNet sim.Time `json:"network_processor_ns"`
}

// Phase is the time between two consecutive barriers of all PEs.
type Phase struct {
	Recorded  sim.Time `json:"recorded_ns"`
	Predicted sim.Time `json:"predicted_ns"`
}

var causeNames = [replay.Causes]string{"computation", "late PEs", "latency", "bandwidth", "operations"}

// Summary returns a prediction in the form that --json prints.
func Summary(r *Recording, s *Setup, x *replay.Explanation) *Prediction {
	p := &Prediction{
		Program: programOf(r), Model: s.Model.String(), Hosts: s.Hosts, Recorded: r.Recorded(), Predicted: x.Total,
		Bottleneck: causeNames[x.Bottleneck()], Bounds: map[string]sim.Time{}, PEs: []PE{}, Phases: []Phase{},
	}
	for c, name := range causeNames {
		p.Bounds[name] = x.Costs[c]
	}
	for _, pe := range x.PEs {
		p.PEs = append(p.PEs, PE{pe.Recorded, pe.Predicted, pe.Computed, pe.Late, pe.Waited, pe.CausedLate, pe.Network})
	}
	for i := range x.Phases {
		recorded, predicted := x.Phase(i)
		p.Phases = append(p.Phases, Phase{recorded, predicted})
	}
	return p
}
