package perf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"libshmem/cmd/internal/figure"
)

// A test is an operation with its measures, in the order of the measuring program.
type test struct {
	name, group string
	measures    []string
}

// tests are the tests of the program in cmd/shmem-perf/measure.
var tests = []test{
	{"put", "rma", []string{"latency", "visible", "bandwidth", "bidirectional", "pairs", "rate", "pairs-rate"}},
	{"get", "rma", []string{"latency", "bandwidth", "bidirectional", "pairs", "rate"}},
	{"p", "rma", []string{"visible", "rate"}},
	{"g", "rma", []string{"latency"}},
	{"fetch_add", "atomics", []string{"latency"}},
	{"add", "atomics", []string{"latency", "rate"}},
	{"compare_swap", "atomics", []string{"latency"}},
	{"swap", "atomics", []string{"latency"}},
	{"fetch", "atomics", []string{"latency"}},
	{"set", "atomics", []string{"latency"}},
	{"put_signal", "signals", []string{"visible", "exchange", "bandwidth", "rate"}},
	{"put_notify", "signals", []string{"visible", "bandwidth", "rate"}},
	{"send", "messages", []string{"latency", "bandwidth", "rate"}},
	{"barrier", "collectives", []string{"latency"}},
	{"sync", "collectives", []string{"latency"}},
	{"broadcast", "collectives", []string{"latency"}},
	{"sum", "collectives", []string{"latency"}},
	{"max", "collectives", []string{"latency"}},
	{"inscan", "collectives", []string{"latency"}},
	{"exscan", "collectives", []string{"latency"}},
	{"collect", "collectives", []string{"latency"}},
	{"fcollect", "collectives", []string{"latency"}},
	{"alltoall", "collectives", []string{"latency"}},
	{"alltoalls", "collectives", []string{"latency"}},
}

// otherNames maps names that tests and measures have in other programs to ours.
var otherNames = map[string]string{
	"lat": "latency", "bw": "bandwidth", "bibw": "bidirectional", "mbw": "pairs", "mr": "rate", "mbw_mr": "pairs-rate",
	"fadd": "fetch_add", "cswap": "compare_swap", "amo": "atomics", "coll": "collectives", "barrier_all": "barrier", "reduce": "sum",
	"am": "send", "tag": "send", "notify": "put_notify", "signal": "put_signal",
}

// ourName returns our name for a test or measure that another program names differently. Other
// words stay as they are.
func ourName(word string) string {
	if ours := otherNames[word]; ours != "" {
		return ours
	}
	return word
}

// parseTests returns the figures TEST:MEASURE of a list and of arguments; nil: all.
func parseTests(list string, args []string) (out []string, err error) {
	words := slices.Clone(args)
	if list != "" {
		words = append(strings.Split(list, ","), words...)
	}
	for _, arg := range words {
		for word := range strings.SplitSeq(arg, ",") {
			found := figures(strings.ToLower(word))
			if len(found) == 0 {
				var names []string
				for _, t := range tests {
					names = append(names, t.name)
				}
				return nil, fmt.Errorf("there is no test %q (tests are %s; measures such as %s_bandwidth)", word, strings.Join(names, ", "), tests[0].name)
			}
			for _, name := range found {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out, nil
}

// figures returns the figures TEST:MEASURE of one word: "all", a group, a test, or a test and a
// measure with _ or : between them.
func figures(word string) (out []string) {
	word = ourName(word)
	for _, t := range tests {
		for _, m := range t.measures {
			if word == "all" || word == t.group || word == t.name {
				out = append(out, t.name+":"+m)
				continue
			}
			for _, between := range []string{"_", ":"} {
				// The measure may begin after any of the separators: put_signal_rate, put_mbw_mr.
				for at := 0; ; {
					next := strings.Index(word[at:], between)
					if next < 0 {
						break
					}
					name, measure := word[:at+next], word[at+next+1:]
					at += next + 1
					// Of a test without a latency, latency means visible.
					if ourName(name) == t.name && (ourName(measure) == m || ourName(measure) == "latency" && m == "visible" && t.measures[0] == m) {
						out = append(out, t.name+":"+m)
					}
				}
			}
		}
	}
	return out
}

// maxSizes is the largest number of sizes that the measuring program accepts.
const maxSizes = 64

// parseSizes reads the sizes of -s: 8, a list 8,4K,1M, a range 8:1M by powers of 2, or 8:1M:4 by
// powers of 4; "all" is a range. The result is sorted.
func parseSizes(text string) (out []int64, err error) {
	if text == "all" {
		text = "1:4M"
	}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Split(part, ":")
		if len(words) > 3 {
			return nil, fmt.Errorf("-s %s: %q is not a range (say 8:1M, or 8:1M:4)", text, part)
		}
		first, err := figure.ParseBytes(words[0])
		last, factor := first, int64(2)
		if err == nil && len(words) > 1 {
			last, err = figure.ParseBytes(words[1])
		}
		if err == nil && len(words) > 2 {
			factor, err = strconv.ParseInt(words[2], 10, 64)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("-s %s: %w", text, err)
		case first == 0 || last < first || factor < 2:
			return nil, fmt.Errorf("-s %s: %q has no size above 0, or does not ascend (say 8:1M, or 8:1M:4)", text, part)
		}
		out = append(out, first)
		for n := first; n <= last/factor; { // the product fits
			n *= factor
			out = append(out, n)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxSizes {
		return nil, fmt.Errorf("-s %s: %d sizes, and a run has at most %d (say fewer)", text, len(out), maxSizes)
	}
	return out, nil
}
