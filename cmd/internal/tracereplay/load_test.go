package tracereplay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/cmd/internal/replay"
	"libshmem/cmd/internal/replay/program"
	"libshmem/cmd/internal/tracefile/sample"
)

// The job of package sample, on two hosts whose clocks differ: its PE 5 is late by 10 ms once.
func TestSample(t *testing.T) {
	dir := t.TempDir()
	if _, err := sample.Job(dir); err != nil {
		t.Fatal(err)
	}
	r, err := Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	puts := 0
	for _, th := range r.Job.Threads {
		for _, o := range th.Ops {
			if o.Kind == program.Put {
				puts++
			}
		}
	}
	if want := sample.Barriers * sample.PEs * (sample.PEs + 1) / 2; r.Job.PEs != sample.PEs || puts != want {
		t.Errorf("%d PEs with %d puts, want %d with %d", r.Job.PEs, puts, sample.PEs, want)
	}
	model, err := replay.Named("verbs")
	if err != nil {
		t.Fatal(err)
	}
	x, err := replay.Explain(r.Job, model, replay.Site{Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if x.Late != sample.Late || len(x.Phases) != sample.Barriers {
		t.Errorf("PE %d is late, after %d barriers", x.Late, len(x.Phases))
	}
	// A round is Step long because of computation, and the late PE's has 10 ms more.
	for i := range x.Phases {
		want := float64(sample.Step)
		if i == sample.LateIn {
			want += sample.LateBy
		}
		if _, got := x.Phase(i); i > 0 && (float64(got) < 0.9*want || float64(got) > 1.1*want) {
			t.Errorf("the phase up to barrier %d takes %d ns, want %.0f", i, got, want)
		}
	}
	var text bytes.Buffer
	Write(&text, r, &Setup{Model: model, Site: replay.Site{Hosts: 2, NICs: 1}}, x)
	for _, want := range []string{
		"stencil: 8 PEs, recorded on 2 hosts.", "2 hosts, with 4 PEs and 1 NIC each.", "PEs that arrive late, PE 5 most",
		"Most of it is computation", "What this cannot know:", "the topology of its switches", "those of the model are assumptions",
		"waits are matched with updates by their times",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &text)
		}
	}
	if p := Summary(r, &Setup{Model: model, Site: replay.Site{Hosts: 2}}, x); p.Predicted != x.Total || len(p.PEs) != sample.PEs || p.Bottleneck != "computation" {
		t.Errorf("summary %+v", p)
	}
}

// Traces that are not whole are refused, by the name of what they lack.
func TestRefused(t *testing.T) {
	call := `{"ph":"X","name":"shmem_quiet","cat":"shmem","ts":1,"dur":1,"pid":%d,"tid":1,"args":{}}`
	file := func(pe, npes int, head string, calls int) string {
		f := sample.Head(pe, npes, head)
		for range calls {
			f.Raw(fmt.Sprintf(call, pe))
		}
		return f.Text()
	}
	whole := file(1, 2, `"lost":0`, 1)
	counted := sample.Head(0, 2, `"lost":0`)
	counted.Raw(fmt.Sprintf(call, 0))
	counted.Raw(`{"ph":"M","name":"libshmem_counts","pid":0,"tid":0,"args":{"shmem_my_pe":3,"shmem_int_p":7}}`)
	stranger := sample.Head(0, 2, `"lost":0`)
	stranger.Call("shmem_putmem", 1000, 10, `"pe":2,"bytes":8`)
	for _, c := range []struct {
		name, zero, one, want string
	}{
		{"missing", file(0, 3, `"lost":0`, 1), file(1, 3, `"lost":0`, 1), "the files of PE 2 of the 3 PEs are missing"},
		{"lost", file(0, 2, `"lost":5`, 1), whole, "5 calls of PE 0 were lost"},
		{"cut", strings.TrimSuffix(file(0, 2, `"lost":0`, 2), "}}\n]\n"), whole, "0.json: "},
		{"without calls", file(0, 2, `"lost":0`, 0), whole, "no calls of PE 0"},
		{"counted", counted.Text(), whole, "PE 0 has only counted its 7 calls of shmem_int_p"},
		{"no trace", "hello", whole, "0.json"},
		{"a PE that does not exist", stranger.Text(), whole, "PE 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for pe, text := range []string{c.zero, c.one} {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(pe, ".json")), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Load([]string{dir}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
