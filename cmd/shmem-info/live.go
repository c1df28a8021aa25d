package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
	"libshmem/runtime/stats"
	"libshmem/runtime/statuspage"
)

// watchPE prints what a running PE does: its waits, its heap, and its counters. If `between` is not
// 0 it reads them twice, and also prints how fast they grow.
func watchPE(w io.Writer, process string, between time.Duration) error {
	pid, views, done, err := viewPE(process)
	if err != nil {
		return err
	}
	defer done()
	page, last, err := readPages(views)
	if err != nil {
		return fmt.Errorf("look at process %d: %w", pid, err)
	}
	var first *stats.Sample
	if between > 0 {
		time.Sleep(between)
		first = last
		if page, last, err = readPages(views); err != nil {
			return fmt.Errorf("look at process %d: %w", pid, err)
		}
	}
	running := time.Since(time.Unix(0, page.Began)).Round(time.Second / 10)
	fmt.Fprintf(w, "PE %d of %d on %d nodes, process %d, libshmem %s, in the job for %v\n", page.Me, page.NPEs, page.Nodes, pid, libshmem.Version, running)
	if err := printWaits(w, page); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, heapUse(&page.Heap)); err != nil {
		return err
	}
	if len(views) == 1 {
		fmt.Fprintln(w, "no network: all PEs share memory, and loads and stores are not counted")
	}
	if err := stats.Live(w, first, last); err != nil {
		return err
	}
	if _, err := statuspage.Find(pid); err != nil {
		fmt.Fprintf(w, "this was the end: %v\n", err)
	}
	return nil
}

// viewPE opens the status pages of a running PE: first that of the PE, then one for each of its
// endpoints. done closes them.
func viewPE(process string) (pid int, views []*statuspage.View, done func(), err error) {
	pid, err = strconv.Atoi(process)
	if err != nil || pid <= 0 {
		return 0, nil, nil, &shmerr.Error{
			Op: "look at", Object: fmt.Sprintf("process %q", process), Cause: shmerr.Causef(shmerr.ErrArgument, "it is not the number of a process"),
			Remedy: "ps and shmemrun --tag-output help to find it",
		}
	}
	if views, err = statuspage.Find(pid); err != nil {
		return 0, nil, nil, err
	}
	return pid, views, func() {
		for _, v := range views {
			_ = v.Close() // they were only read
		}
	}, nil
}

// printWaits prints the waits of a PE's threads.
func printWaits(w io.Writer, page *statuspage.PE) error {
	all := page.Waiting()
	for _, t := range all {
		waited := time.Duration(statuspage.Now() - t.Since).Round(time.Millisecond)
		if t.What != "" {
			t.What = " " + t.What
		}
		if _, err := fmt.Fprintf(w, "%s waits for %v:%s\n", t.Call, waited, t.What); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no thread waits for long")
		return err
	}
	return nil
}

// heapUse returns the line about the user heap of a PE.
func heapUse(h *statuspage.Heap) string {
	bytes := func(v uint64) string { return stats.Amount(v, stats.Bytes) }
	line := fmt.Sprintf("heap: %s of %s in %d blocks, at most %s so far; the largest free block has %s",
		bytes(h.Used), bytes(h.Size), h.Blocks, bytes(h.Peak), bytes(h.Largest))
	if h.Failed > 0 {
		line += fmt.Sprintf("; %d allocations failed (raise SHMEM_SYMMETRIC_SIZE)", h.Failed)
	}
	return line
}

// readPages reads the status pages of a PE once: that of the PE, and the counters of the PE and its
// endpoints.
func readPages(views []*statuspage.View) (*statuspage.PE, *stats.Sample, error) {
	page, err := views[0].PE()
	if err != nil {
		return nil, nil, err
	}
	at := time.Now()
	var ends []*proxy.EndpointPage
	for _, v := range views[1:] {
		end, err := proxy.ReadEndpointPage(v)
		var version *statuspage.VersionError
		if errors.As(err, &version) {
			return nil, nil, &shmerr.Error{Op: "read", Object: "an endpoint", Cause: err, Remedy: "run the shmem-info that is installed beside that library"}
		}
		if err != nil {
			return nil, nil, err
		}
		ends = append(ends, end)
	}
	return page, &stats.Sample{PE: stats.Collect(page, ends), At: at}, nil
}
