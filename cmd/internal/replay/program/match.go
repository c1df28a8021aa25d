package program

import (
	"cmp"
	"slices"
)

// maxFlagBytes is the largest size, in bytes, of a put that may be a flag for a waiting PE.
const maxFlagBytes = 8

// waitWeight returns how likely it is that a wait is for this update: 2 for a signal, 1 for a flag,
// 0 for data.
func waitWeight(o *Op) int {
	switch {
	case o.Kind == SignalledPut, o.Kind == Atomic, o.Kind == Fetch:
		return 2
	case o.Kind == Put && o.Bytes <= maxFlagBytes && o.Pieces == 1:
		return 1
	}
	return 0
}

// pair is a thread and the PE that it updates.
type pair struct{ thread, pe int }

// update is an update that a thread makes of a PE.
type update struct {
	at  int64  // when it began
	seq uint64 // its number among the thread's updates of the PE, from 1
	op  int    // its index among the calls of the thread
}

// matchWaits numbers the updates of each thread to each PE, and finds for each wait the updates
// that have ended it. A recording has no addresses, so that this is a guess from the times and
// kinds of the updates.
func (j *Job) matchWaits() {
	by := map[pair]*[3][]update{} // the updates of a pair, by weight (waitWeight)
	var pairs []pair
	for i, t := range j.Threads {
		for k := range t.Ops {
			o := &t.Ops[k]
			if !o.Kind.Updates() {
				continue
			}
			p := pair{i, o.Peer}
			u := by[p]
			if u == nil {
				u = new([3][]update)
				by[p] = u
				pairs = append(pairs, p)
			}
			o.Seq = uint64(len(u[0])+len(u[1])+len(u[2])) + 1
			u[waitWeight(o)] = append(u[waitWeight(o)], update{o.Start, o.Seq, k})
		}
	}
	to := make([][]pair, j.PEs) // the pairs that update a PE
	for _, p := range pairs {
		to[p.pe] = append(to[p.pe], p)
	}
	for i, t := range j.Threads {
		needed := map[int]uint64{} // by thread: the number of its last update that a wait of t needs
		for k := range t.Ops {
			if o := &t.Ops[k]; o.Kind == Wait {
				j.findNeeds(i, o, to[t.PE], by, needed)
			}
		}
	}
}

// findNeeds finds the updates that have ended one wait: of each other thread that updates the
// waiting PE, the last likely one that had begun before the wait ended. `from` has these threads,
// `by` their updates. `needed` has the updates that earlier waits of the thread needed; they are
// not repeated.
func (j *Job) findNeeds(waiter int, o *Op, from []pair, by map[pair]*[3][]update, needed map[int]uint64) {
	end := o.Start + o.Took
	for _, p := range from {
		if p.thread == waiter {
			continue
		}
		u, found := lastCandidate(by[p], end, o.Signals)
		if !found || u.seq <= needed[p.thread] {
			continue
		}
		needed[p.thread] = u.seq
		o.Needs = append(o.Needs, Need{Ref{p.thread, u.op}, u.seq})
		j.Threads[p.thread].Ops[u.op].Flagged = true
	}
}

// lastCandidate returns the last update that had begun at a time, among updates that may have ended
// a wait. u has the updates of a thread by weight, those of a weight in the order of their times.
// Data counts only if there are no flags and no signals. If the wait is for a signal (signals),
// flags count only if there are no signals.
func lastCandidate(u *[3][]update, at int64, signals bool) (update, bool) {
	var best update
	found := false
	for w := 2; w >= 0; w-- {
		if found && (signals && w < 2 || w == 0) {
			break
		}
		if w == 0 && len(u[1])+len(u[2]) > 0 || w == 1 && signals && len(u[2]) > 0 {
			continue
		}
		// n updates of this weight began at or before the time.
		n, _ := slices.BinarySearchFunc(u[w], at, func(u update, at int64) int { return cmp.Compare(u.at, at+1) })
		if n > 0 && (!found || u[w][n-1].at > best.at) {
			best, found = u[w][n-1], true
		}
	}
	return best, found
}
