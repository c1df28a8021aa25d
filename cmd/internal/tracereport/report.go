package tracereport

import "encoding/json"

// Version is the version of the JSON form.
const Version = 1

// Report is the evaluation of a trace. Times are in nanoseconds on the clock of PE 0, sizes in
// bytes.
type Report struct {
	Version   int        `json:"version"`
	Job       Job        `json:"job"`
	Notes     []string   `json:"notes"`   // what is missing, and how far the clocks agree
	Summary   []string   `json:"summary"` // sentences
	Functions []Function `json:"functions"`
	Network   []Function `json:"network"` // actions of proxies, rings and NICs, from SHMEM_TRACE
	Counted   []Count    `json:"counted"` // functions that were counted and not timed
	PEs       []PE       `json:"pes"`
	Matrix    Matrix     `json:"matrix"`
	Sizes     []Size     `json:"sizes"`
	Waits     Waits      `json:"waits"`
	Guesses   []Guess    `json:"value_waits"` // for values in memory, by their likely writers
}

// Job describes the job of the trace.
type Job struct {
	Program      string   `json:"program"`
	Library      string   `json:"library"`
	Hosts        []string `json:"hosts"`
	Simulated    int      `json:"hosts_simulated"` // by shmemrun --hosts; 0: none
	NPEs         int      `json:"npes"`
	Seen         int      `json:"pes_seen"`
	Missing      []int    `json:"pes_missing"` // the first 1000
	BeginNs      int64    `json:"begin_ns"`
	LengthNs     int64    `json:"length_ns"` // from the first event to the end of the last one
	Calls        int64    `json:"calls"`
	CallNs       int64    `json:"call_ns"`        // in calls, of all threads
	ThreadNs     int64    `json:"thread_ns"`      // the sum of the lengths of all threads with calls
	ClockErrorNs int64    `json:"clock_error_ns"` // -1: not known
	Lost         int64    `json:"lost"`
}

// Function is one row of the table of functions. Percentiles are within ErrorPercent.
type Function struct {
	Name  string `json:"name"`
	Calls int64  `json:"calls"`
	Bytes int64  `json:"bytes"` // that it moved
	Ns    int64  `json:"ns"`
	P50   int64  `json:"p50_ns"`
	P90   int64  `json:"p90_ns"`
	P99   int64  `json:"p99_ns"`
	Max   int64  `json:"max_ns"`
}

// Count has how often a function was called.
type Count struct {
	Name  string `json:"name"`
	Calls int64  `json:"calls"`
}

// PE has the sums of one PE.
type PE struct {
	PE       int    `json:"pe"`
	Host     string `json:"host"`
	Calls    int64  `json:"calls"`
	Bytes    int64  `json:"bytes"` // that its calls moved
	CallNs   int64  `json:"call_ns"`
	LengthNs int64  `json:"length_ns"`
	WaitedNs int64  `json:"waited_ns"` // in collective calls, for PEs that came later
	CausedNs int64  `json:"caused_ns"` // that others waited for it
	Last     int64  `json:"last"`      // times that it came last, by more than the clocks' error
	Lost     int64  `json:"lost"`
}

// Matrix has in row r and column c what the PEs of group r moved to or from memory of the PEs of
// group c. Group g has PEs g*Group to g*Group+Group-1.
type Matrix struct {
	Of    string // calls, or network if the trace has no calls
	Group int
	Calls [][]int64
	Bytes [][]int64
}

// matrixJSON is a matrix in JSON: most pairs of PEs in a large job move nothing.
type matrixJSON struct {
	Of    string  `json:"of"`
	Group int     `json:"pes_per_group"`
	Cells []entry `json:"cells"`
}

type entry struct {
	Row    int   `json:"row"`
	Column int   `json:"column"`
	Calls  int64 `json:"calls"`
	Bytes  int64 `json:"bytes"`
}

// MarshalJSON writes the matrix as the list of its entries that are not empty, because most are.
func (m Matrix) MarshalJSON() ([]byte, error) {
	j := matrixJSON{m.Of, m.Group, []entry{}}
	for r, row := range m.Calls {
		for c, n := range row {
			if n > 0 {
				j.Cells = append(j.Cells, entry{r, c, n, m.Bytes[r][c]})
			}
		}
	}
	return json.Marshal(j)
}

// Size counts the calls that moved From to To bytes.
type Size struct {
	From  int64 `json:"from_bytes"`
	To    int64 `json:"to_bytes"`
	Calls int64 `json:"calls"`
	Bytes int64 `json:"bytes"`
}

// Waits has the pairs of PEs of which one waited for the other in collective calls.
type Waits struct {
	Collectives int64     `json:"collectives"` // calls that several PEs of the trace made together
	Unmatched   int64     `json:"unmatched"`   // calls that could not be put together, as the notes say
	Ns          int64     `json:"ns"`
	Pairs       []Pair    `json:"pairs"` // the largest first
	Worst       []Instant `json:"worst"`
	Start       *Instant  `json:"start"` // the call that began the job, which the rest leaves out
}

// Pair is the total time for which one PE waited for another.
type Pair struct {
	Waiter int   `json:"waiter"`
	For    int   `json:"for"`
	Ns     int64 `json:"ns"`
	Times  int64 `json:"times"`
}

// Instant is one collective call of a team.
type Instant struct {
	Function string `json:"function"`
	Team     int64  `json:"team"`
	Members  string `json:"members,omitempty"` // of the team, where the trace has them
	Number   int64  `json:"number"`            // among the calls of this function on this team, from 1
	Late     int    `json:"late"`              // the PE that came last
	ByNs     int64  `json:"by_ns"`             // how much later it came than the PE before it
	LostNs   int64  `json:"lost_ns"`
	AtNs     int64  `json:"at_ns"` // its arrival, from the begin of the job
	PEs      int    `json:"pes"`
}
