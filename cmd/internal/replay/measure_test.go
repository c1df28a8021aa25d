package replay

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"libshmem/fabric/sim"
)

// A model is found again from the metrics that it makes.
func TestFit(t *testing.T) {
	true_, err := Named("tcp")
	if err != nil {
		t.Fatal(err)
	}
	true_.Latency, true_.Model.Bandwidth, true_.OneSided, true_.Call, true_.Byte, true_.Wake = 7*sim.Microsecond, 20e9, 6000, 90, 0.35, 90*sim.Microsecond
	measured := map[string]float64{}
	for i := range metrics {
		f := &metrics[i]
		ns, err := f.simulate(&true_)
		if err != nil {
			t.Fatal(err)
		}
		value := float64(f.bytes) / ns
		switch f.unit {
		case "us":
			value = ns / 1e3
		case "Mop/s":
			value = 1e3 / ns
		}
		measured[fmt.Sprintf("%s %d", f.name, f.bytes)] = value
	}
	m, err := Named("tcp")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Fit(&m, measured)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(metrics) {
		t.Errorf("%d metrics are compared, of %d", len(all), len(metrics))
	}
	for _, c := range all {
		t.Logf("%s %d: measured %.1f ns, simulated %.1f", c.Metric, c.Bytes, c.Measured, c.Simulated)
		if math.Abs(c.Simulated/c.Measured-1) > 0.05 {
			t.Errorf("%s of %d bytes: %.1f ns, measured %.1f", c.Metric, c.Bytes, c.Simulated, c.Measured)
		}
	}
	t.Logf("%v", &m)
	if off := math.Abs(float64(m.Latency)/float64(true_.Latency) - 1); off > 0.1 {
		t.Errorf("the latency is %d ns, not %d", m.Latency, true_.Latency)
	}
	if math.Abs(m.Byte/true_.Byte-1) > 0.1 {
		t.Errorf("a byte takes %.3f ns of a processor, not %.3f", m.Byte, true_.Byte)
	}
	if math.Abs(float64(m.Wake)/float64(true_.Wake)-1) > 0.05 {
		t.Errorf("a wake takes %d ns of a processor, not %d", m.Wake, true_.Wake)
	}
	if off := math.Abs(float64(m.Model.Bandwidth)/float64(true_.Model.Bandwidth) - 1); off > 0.05 {
		t.Errorf("the bandwidth is %d, not %d", m.Model.Bandwidth, true_.Model.Bandwidth)
	}
}

// Without the exchange nothing says whether processors or wires bound the bandwidth: wires do.
func TestFitWithoutExchange(t *testing.T) {
	m, err := Named("tcp")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Fit(&m, map[string]float64{"p_visible 8": 20, "put_bandwidth 1048576": 1.25, "put_bandwidth 4096": 0.5, "add_rate 8": 2})
	if err != nil || m.Byte != 0 || math.Abs(float64(m.Model.Bandwidth)/10e9-1) > 0.1 {
		t.Errorf("%v, a byte takes %g ns of a processor, and %d bits go in a second", err, m.Byte, m.Model.Bandwidth)
	}
}

// TestMeasured: figures come from the lines of shmem-perf and of woken, as medians; those of other
// libraries and of GPUs are skipped.
func TestMeasured(t *testing.T) {
	const line = `{"kind":"figure","system":"%s","test":"put","measure":"latency","scope":"%s","size":8,"path":"network","median":%g}` + "\n"
	text := `{"kind":"run","path":"network"}` + "\n"
	for _, v := range []float64{5, 1, 2} {
		text += fmt.Sprintf(line, "libshmem", "host", v)
	}
	text += fmt.Sprintf(line, "oshmem", "host", 7.0) + fmt.Sprintf(line, "libshmem", "block", 7.0) + "noise\n"
	text += "put_signal_woken_cpu\t8\t30\tus\nput_signal_woken_cpu\t8\t40\tus\n"
	got, err := ReadMeasured(strings.NewReader(text))
	if want := map[string]float64{"put_latency 8": 2, wokenCPU + " 8": 35}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestFitRefuses(t *testing.T) {
	read := func(text string) error {
		m, err := Named("tcp")
		if err != nil {
			t.Fatal(err)
		}
		all, err := ReadMeasured(strings.NewReader(text))
		if err == nil {
			_, err = Fit(&m, all)
		}
		return err
	}
	for _, c := range []struct{ text, want string }{
		{"", "it lacks p_visible of 8 bytes"},
		{"p_visible\t8\tfast\tus\n", `the value of p_visible is "fast"`},
		{`{"kind":"figure","test":"put","measure":"latency","path":"node"}`, "line 1: put latency was measured on one node"},
		{`{"kind":`, "give a file that shmem-perf --out has written"},
		{"p_visible\t8\t-1\tus\n", "p_visible of 8 bytes is -1 us"},
	} {
		if err := read(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}
