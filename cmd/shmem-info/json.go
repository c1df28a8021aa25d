package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/hostmem"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/place"
	"libshmem/runtime/stats"
	"libshmem/runtime/statuspage"
	"libshmem/runtime/topo"
)

// This file has the facts as JSON, for programs. Names are in lower case with underscores, sizes in
// bytes and times in seconds. Fields may be added; the meaning of existing ones does not change.

// writeJSON prints a value as an indented JSON object.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

type (
	summaryFacts struct {
		Version       string            `json:"version"`
		Specification string            `json:"specification"`
		Go            string            `json:"go"`
		System        string            `json:"system"`
		Libraries     map[string]string `json:"libraries"`
		Libfabric     string            `json:"libfabric"`
		Registrations string            `json:"registration_cache"`
		Heap          heapFacts         `json:"heap"`
		Rings         ringFacts         `json:"rings"`
	}
	heapFacts struct {
		Size      uint64         `json:"size"`
		Alignment uint64         `json:"alignment"`
		BlockCost uint64         `json:"block_cost"`
		Granule   uint64         `json:"granule"`
		Internal  map[int]uint64 `json:"internal_area"` // by the number of PEs
	}
	ringFacts struct {
		Count  int          `json:"count"`
		Slots  int          `json:"slots"`
		Bytes  uint64       `json:"bytes"`
		GPU    string       `json:"gpu"`
		Memory []memoryFact `json:"memory"`
		Host   memoryFact   `json:"host"`
	}
	memoryFact struct {
		Kind   string `json:"kind"`
		Chosen bool   `json:"chosen"`
		Method string `json:"method,omitempty"`
		Why    string `json:"why_not,omitempty"`
	}
	settingFact struct {
		Name     string   `json:"name"`
		Value    string   `json:"value"`
		From     string   `json:"from"` // the variable; "": the default
		Default  string   `json:"default"`
		Category string   `json:"category"`
		Kind     string   `json:"kind"`
		Range    string   `json:"range"`
		Aliases  []string `json:"aliases,omitempty"`
		Text     string   `json:"text"`
	}
	offerFact struct {
		Provider string `json:"provider"`
		NIC      string `json:"nic"`
		Fabric   string `json:"fabric"`
		Chosen   bool   `json:"chosen"`
		Why      string `json:"why_not,omitempty"`
	}
	silentFact struct {
		Provider string `json:"provider"`
		Why      string `json:"why"`
	}
	openedFact struct {
		Provider string          `json:"provider"`
		NIC      string          `json:"nic"`
		Fabric   string          `json:"fabric"`
		Grants   map[string]bool `json:"grants"` // by the words of SHMEM_REQUIRE
		Ordered  bool            `json:"puts_in_order"`
		Tile     int             `json:"eager_tile"` // 0: no tiles
	}
	networkFacts struct {
		Offers []offerFact  `json:"offers"`
		Silent []silentFact `json:"silent"`
		Opened *openedFact  `json:"opened"`
	}
	liveFacts struct {
		PE       int               `json:"pe"`
		PEs      int               `json:"pes"`
		Nodes    int               `json:"nodes"`
		Process  int               `json:"process"`
		Version  string            `json:"version"`
		Seconds  float64           `json:"seconds"`
		Waits    []waitFact        `json:"waits"`
		Heap     liveHeap          `json:"heap"`
		Counters map[string]uint64 `json:"counters"`
	}
	waitFact struct {
		Call    string  `json:"call"`
		Seconds float64 `json:"seconds"`
		What    string  `json:"what"`
	}
	liveHeap struct {
		Size    uint64 `json:"size"`
		Used    uint64 `json:"used"`
		Peak    uint64 `json:"peak"`
		Largest uint64 `json:"largest_free"`
		Blocks  uint64 `json:"blocks"`
		Failed  uint64 `json:"failed"`
	}
)

// memoryFactOf returns the JSON form of a report on one kind of memory for rings.
func memoryFactOf(r gpu.Report) memoryFact {
	f := memoryFact{Kind: r.Kind.String(), Chosen: r.Chosen, Method: r.Method}
	if r.Why != nil {
		f.Why = r.Why.Error()
	}
	return f
}

// summaryJSON prints as JSON what printSummary prints as text, but for the memory of a CUDA context.
func summaryJSON(w io.Writer, cfg *config.Config) error {
	want, err := gpu.ParseKind(cfg.RingMemory.String())
	if err != nil {
		return err
	}
	plan := hostmem.NewPlan(0, cfg.SymmetricSize, 1) // without an internal area, for one PE
	out := summaryFacts{
		Version: libshmem.Version, Specification: specification,
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Libraries: map[string]string{}, Libfabric: describeLibfabric(cfg), Registrations: describeRegistrations(cfg),
		Heap: heapFacts{Size: cfg.SymmetricSize, Alignment: plan.Align, BlockCost: heap.BlockCost, Granule: heap.Granule, Internal: map[int]uint64{}},
		Rings: ringFacts{
			Count: cfg.RingCount, Slots: cfg.RingSize, Bytes: uint64(cfg.RingCount) * uint64(cfg.RingSize) * slotSize,
			Memory: []memoryFact{}, Host: memoryFactOf(hostReport()),
		},
	}
	for _, name := range ownLibraries {
		out.Libraries[name] = ownLibrary(name)
	}
	for _, n := range jobSizes {
		out.Heap.Internal[n] = area.New(n, 0, cfg.NotifyCount, cfg.MessageMemory).Internal // 0: no statics
	}
	name, reports, _, err := surveyRingMemory(want)
	out.Rings.GPU = name
	for _, r := range reports {
		out.Rings.Memory = append(out.Rings.Memory, memoryFactOf(r))
	}
	return errors.Join(err, writeJSON(w, out))
}

// settingsJSON prints the settings with their values as JSON. Those that only shmemrun sets are
// left out, unless they are set.
func settingsJSON(w io.Writer, cfg *config.Config) error {
	out := []settingFact{}
	for _, v := range cfg.Values() {
		if v.Category == config.Launcher && v.From == "" {
			continue
		}
		out = append(out, settingFact{
			v.Name, v.Text, v.From, v.Default, v.Category.String(), v.Kind.String(), v.Range(), v.Aliases, v.Setting.Text,
		})
	}
	return writeJSON(w, map[string]any{"version": libshmem.Version, "settings": out})
}

// networkJSON prints as JSON what printNetwork prints as text.
func networkJSON(w io.Writer, cfg *config.Config) error {
	s, err := place.ReadSettings(cfg)
	if err != nil {
		return err
	}
	hints := s.Hints(cfg)
	offers, err := ofi.List(cfg.Libfabric, hints) // with an error it returns the offers, too
	out := networkFacts{Offers: []offerFact{}, Silent: []silentFact{}}
	for _, o := range offers {
		out.Offers = append(out.Offers, offerFact(o))
	}
	if len(offers) > 0 {
		silent, err := ofi.ListSilent(cfg.Libfabric)
		if err != nil {
			return err
		}
		for _, s := range silent {
			out.Silent = append(out.Silent, silentFact{s.Provider, s.Why})
		}
	}
	if err != nil {
		return errors.Join(err, writeJSON(w, out))
	}
	p, err := openChosen(jobConfig(cfg, hints))
	if err != nil {
		return errors.Join(err, writeJSON(w, out))
	}
	c := p.Caps()
	out.Opened = &openedFact{
		Provider: c.Provider, NIC: c.Domain, Fabric: c.Fabric, Grants: map[string]bool{},
		Ordered: c.SendAfterWrite, Tile: c.Tile(cfg.Ordered.Bytes()),
	}
	for _, property := range fabric.Properties {
		out.Opened.Grants[property.Name] = property.Has(&c)
	}
	return errors.Join(p.Close(), writeJSON(w, out))
}

// topologyJSON prints as JSON which NICs each PE of a machine would use: this machine, or the one
// that a file describes.
func topologyJSON(w io.Writer, cfg *config.Config, file string) error {
	m, r, picks, err := planMachine(io.Discard, cfg, file)
	if err != nil {
		return err
	}
	out := m.Choices(r, picks)
	if out == nil {
		out = []topo.Choice{}
	}
	return writeJSON(w, map[string]any{"choices": out})
}

// liveJSON prints as JSON what the PE with this process number does now: its waits, its heap and
// its counters.
func liveJSON(w io.Writer, process string) error {
	pid, views, done, err := viewPE(process)
	if err != nil {
		return err
	}
	defer done()
	page, sample, err := readPages(views)
	if err != nil {
		return fmt.Errorf("look at process %d: %w", pid, err)
	}
	h := &page.Heap
	out := liveFacts{
		PE: int(page.Me), PEs: int(page.NPEs), Nodes: int(page.Nodes), Process: pid, Version: libshmem.Version,
		Seconds: time.Since(time.Unix(0, page.Began)).Seconds(), Waits: []waitFact{},
		Heap:     liveHeap{h.Size, h.Used, h.Peak, h.Largest, h.Blocks, h.Failed},
		Counters: map[string]uint64{},
	}
	for _, t := range page.Waiting() {
		out.Waits = append(out.Waits, waitFact{t.Call, time.Duration(statuspage.Now() - t.Since).Seconds(), strings.TrimSpace(t.What)})
	}
	if len(views) > 1 {
		for i, c := range stats.Counters {
			out.Counters[c.Name] = sample.PE.Values[i]
		}
	}
	return writeJSON(w, out)
}
