package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// programs are other programs that are measured between the same hosts for comparison, by their
// names in the results (systems): the commands of the two PEs. The client gets the address of the
// server as its last argument.
var programs = []struct{ name, server, client string }{
	{"fi_pingpong", "fi_pingpong -p '%s' -e rdm -I 2000 -S 8", "fi_pingpong -p '%s' -e rdm -I 2000 -S 8"},
	{"iperf3", "iperf3 -s -1 -p 47633", "iperf3 -J -t 1 -p 47633 -c"},
}

// Beside returns the words NAME:SERVER:CLIENT of the named programs for the program that measures.
// provider is the libfabric provider of fi_pingpong.
func Beside(names []string, provider string) (words []string) {
	for _, p := range programs {
		if slices.Contains(names, p.name) {
			with := func(command string) string { return strings.ReplaceAll(command, "%s", provider) }
			words = append(words, p.name+":"+with(p.server)+":"+with(p.client))
		}
	}
	return words
}

// beside returns figures from the output of another program that was measured for comparison with
// libshmem.
func beside(name string, lines []string, status string) ([]*Figure, error) {
	text := strings.Join(lines, "\n")
	if status != "0" {
		last := "it printed nothing"
		if len(lines) > 0 {
			last = lines[len(lines)-1]
		}
		return nil, fmt.Errorf("status %s: %s (is it on both hosts?)", status, last)
	}
	if name == "iperf3" {
		return iperf3(text)
	}
	return pingpong(lines)
}

// other makes a figure of another program, which has one value.
func other(name, measure, unit, until string, size int64, value float64) *Figure {
	f := &Figure{
		Kind: "figure", System: name, Test: "put", Measure: measure, Scope: "host", Size: size, PEs: 2, Unit: unit, Until: until,
		Batches: []float64{value},
	}
	f.complete()
	return f
}

// pingpong reads the table of fi_pingpong, whose columns have titles.
func pingpong(lines []string) (out []*Figure, err error) {
	size, each := -1, -1
	for _, line := range lines {
		words := strings.Fields(line)
		if at := slices.Index(words, "usec/xfer"); at >= 0 {
			size, each = slices.Index(words, "bytes"), at
			continue
		}
		if each < 0 || size < 0 || each >= len(words) {
			continue
		}
		n, err := ParseBytes(words[size])
		us, err2 := strconv.ParseFloat(words[each], 64)
		if err == nil && err2 == nil && us > 0 {
			out = append(out, other("fi_pingpong", "visible", "us", "received: half a round trip, the mean", n, us))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("its output has no table (another version?)")
	}
	return out, nil
}

// iperf3 reads the rate in the JSON output of iperf3.
func iperf3(text string) ([]*Figure, error) {
	var report struct {
		End struct {
			Sum struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.End.Sum.Rate <= 0 {
		return nil, errors.New("its output has no rate (another version?)")
	}
	return []*Figure{other("iperf3", "bandwidth", "GB/s", "received: one TCP connection, the mean of 1 s", 0, report.End.Sum.Rate/8e9)}, nil
}
