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
// server as its last argument. fi_pingpong: -I round trips, -S bytes of a message; iperf3: -1 for
// one client, -t seconds.
var programs = []struct{ name, server, client string }{
	{"fi_pingpong", "fi_pingpong -p '%s' -e rdm -I 2000 -S 8", "fi_pingpong -p '%s' -e rdm -I 2000 -S 8"},
	{"iperf3", "iperf3 -s -1 -p 47633", "iperf3 -J -t 1 -p 47633 -c"},
}

// Beside returns arguments for the measuring program, one NAME:SERVER:CLIENT for each of the named
// programs that it starts itself. provider is the libfabric provider of fi_pingpong.
func Beside(names []string, provider string) (words []string) {
	for _, p := range programs {
		if slices.Contains(names, p.name) {
			with := func(command string) string { return strings.ReplaceAll(command, "%s", provider) }
			words = append(words, p.name+":"+with(p.server)+":"+with(p.client))
		}
	}
	return words
}

// parseBeside returns figures from the output of another program that was measured for comparison
// with libshmem. status is its exit status as a text.
func parseBeside(name string, lines []string, status string) ([]*Figure, error) {
	text := strings.Join(lines, "\n")
	if status != "0" {
		last := "it printed nothing"
		if len(lines) > 0 {
			last = lines[len(lines)-1]
		}
		return nil, fmt.Errorf("status %s: %s (is it on both hosts?)", status, last)
	}
	if name == "iperf3" {
		return parseIperf3(text)
	}
	return parsePingpong(lines)
}

// newOther makes a figure of another program, which prints one value and not a batch of them.
func newOther(name, measure, unit, until string, size int64, value float64) *Figure {
	f := &Figure{
		Kind: "figure", System: name, Test: "put", Measure: measure, Scope: "host", Size: size, PEs: 2, Unit: unit, Until: until,
		Batches: []float64{value},
	}
	f.setMedian()
	return f
}

// parsePingpong returns a figure for each row of the table that fi_pingpong prints. Columns are
// found by their titles, which differ among versions.
func parsePingpong(lines []string) (out []*Figure, err error) {
	sizeColumn, timeColumn := -1, -1
	for _, line := range lines {
		words := strings.Fields(line)
		if at := slices.Index(words, "usec/xfer"); at >= 0 {
			sizeColumn, timeColumn = slices.Index(words, "bytes"), at
			continue
		}
		if timeColumn < 0 || sizeColumn < 0 || timeColumn >= len(words) {
			continue
		}
		n, err := ParseBytes(words[sizeColumn])
		us, err2 := strconv.ParseFloat(words[timeColumn], 64)
		if err == nil && err2 == nil && us > 0 {
			out = append(out, newOther("fi_pingpong", "visible", "us", "received: half a round trip, the mean", n, us))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("its output has no table (another version?)")
	}
	return out, nil
}

// parseIperf3 returns the figure of the rate in the JSON output of iperf3.
func parseIperf3(text string) ([]*Figure, error) {
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
	return []*Figure{newOther("iperf3", "bandwidth", "GB/s", "received: one TCP connection, the mean of 1 s", 0, report.End.Sum.Rate/8e9)}, nil
}
