package figure

import (
	"fmt"
	"strings"
	"testing"
)

// TestBeside: what other programs print beside the figures becomes figures of runs of their own,
// with the facts and NICs of the job.
func TestBeside(t *testing.T) {
	const text = `beside	name=fi_pingpong	text=bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
beside	name=fi_pingpong	text=8       2k      =2k      31k         0.02s      1.55       5.17       0.19
beside	name=fi_pingpong	text=4k      2k      =2k      15m         0.05s    325.77      12.57       0.08
besides	name=fi_pingpong	status=0
beside	name=iperf3	text={"end": {
beside	name=iperf3	text= "sum_received": {"bits_per_second": 16e9}
beside	name=iperf3	text=}}
besides	name=iperf3	status=0
`
	lines, others, err := kept(t, strings.Replace(written, "end\t", text+"end\t", 1))
	if err != nil || len(others) != 1 {
		t.Errorf("%v, other lines %q", err, others)
	}
	for _, want := range []string{
		`{"kind":"run","run":"id-fi_pingpong","system":"fi_pingpong","library":"fi_pingpong","pes":2,"path":"network","nics":["eth0"],`,
		`{"kind":"run","run":"id-iperf3",`,
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%s is missing in\n%s", want, lines)
		}
	}
	ping, err := parseBeside("fi_pingpong", strings.Split("bytes usec/xfer\n8 5.17\n4k 12.57", "\n"), "0")
	if err != nil || len(ping) != 2 || ping[1].Key().String() != "fi_pingpong put visible of 4K, 2 PEs, " || ping[1].Median != 12.57 {
		t.Errorf("%v, %+v", err, ping)
	}
	iperf, err := parseBeside("iperf3", []string{`{"end":{"sum_received":{"bits_per_second":16e9}}}`}, "0")
	if err != nil || len(iperf) != 1 || iperf[0].Median != 2 || iperf[0].Unit != "GB/s" {
		t.Errorf("%v, %+v", err, iperf)
	}
	for _, c := range []struct{ name, text, status, want string }{
		{"iperf3", "sh: 1: iperf3: not found", "127", "status 127: sh: 1: iperf3: not found (is it on both hosts?)"},
		{"iperf3", "", "1", "status 1: it printed nothing"},
		{"iperf3", "{}", "0", "no rate"},
		{"fi_pingpong", "bytes usec/xfer", "0", "no table"},
		{"fi_pingpong", "8 5.17", "0", "no table"},
	} {
		if _, err := parseBeside(c.name, strings.Split(c.text, "\n"), c.status); err == nil || !strings.Contains(err.Error(), c.want) && c.text != "" {
			t.Errorf("%s, %q: %v, want %s", c.name, c.text, err, c.want)
		}
	}
	if got := fmt.Sprint(Beside([]string{"oshmem", "iperf3"}, "tcp")); got != "[iperf3:iperf3 -s -1 -p 47633:iperf3 -J -t 1 -p 47633 -c]" {
		t.Error(got)
	}
}
