// Command heap proves, on a machine with a GPU, that symmetric heaps in GPU memory behave as
// runtime/heap/devmem says: PEs, which are processes, see each other's stores, through heaps that
// grow, on one GPU and between GPUs, by VMM and by IPC; and so do heaps in pinned memory. It prints
// the cost of each step.
//
// It needs only the driver. The exit status is 0 when all works, 1 when something fails, 2 where
// there is no GPU.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"libshmem/runtime/gpu/cuda"
)

// A PE is this program again, with its role in the environment.
const partVar = "HEAP_PART"

func main() {
	if part := os.Getenv(partVar); part != "" {
		if err := play(part, bufio.NewReader(os.Stdin), os.Stdout); err != nil {
			fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", "; "))
			os.Exit(1)
		}
		return
	}
	os.Exit(run(os.Stdout))
}

func run(out io.Writer) int {
	driver, err := cuda.Open()
	if err != nil {
		fmt.Fprintln(out, "heap:", err)
		return 2
	}
	passed, failed := 0, 0
	for _, kind := range []string{"vmm", "ipc", "pinned"} {
		for _, gpus := range places(driver.Count) {
			name := fmt.Sprintf("%s, PEs on GPUs %v", kind, gpus)
			fmt.Fprintln(out, name)
			begin := time.Now()
			if err := job(out, kind, gpus); err != nil {
				fmt.Fprintf(out, "  FAILED: %v\n", err)
				failed++
				continue
			}
			fmt.Fprintf(out, "  works, %s\n", since(begin))
			passed++
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return 1
	}
	return 0
}

// places lists the GPU of each PE.
func places(gpus int) [][]int {
	if gpus == 1 {
		return [][]int{{0, 0}}
	}
	return [][]int{{0, 0}, {0, 1}, {0, 1, 1}}
}

// pe is one process.
type pe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// limit ends a job that hangs.
const limit = 60 * time.Second

// job runs one PE for each GPU. They communicate by lines: "say WORD" is sent, with the words of
// all, to all, which is also how they wait for each other; "note TEXT" is printed; "failed TEXT" or
// an end without "done" is a failure.
func job(out io.Writer, kind string, gpus []int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var pes []*pe
	var errs []error
	for i, g := range gpus {
		p, err := start(self, fmt.Sprintf("%s %d %d %d", kind, i, len(gpus), g))
		if err != nil {
			errs = append(errs, err)
			break
		}
		pes = append(pes, p)
	}
	stop := time.AfterFunc(limit, func() {
		for _, p := range pes {
			_ = p.cmd.Process.Kill()
		}
	})
	if len(errs) == 0 {
		errs = append(errs, converse(out, pes))
	}
	if !stop.Stop() {
		errs = append(errs, fmt.Errorf("it took more than %v", limit))
	}
	for i, p := range pes {
		// A PE that waits for the others ends with its input.
		if err := errors.Join(p.in.Close(), p.cmd.Wait()); err != nil && errors.Join(errs...) == nil {
			errs = append(errs, fmt.Errorf("PE %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func start(self, part string) (*pe, error) {
	p := &pe{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), partVar+"="+part)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(stdout)
	return p, p.cmd.Start()
}

// converse passes words between the PEs until all have finished.
func converse(out io.Writer, pes []*pe) error {
	for {
		words, done := make([]string, len(pes)), 0
		for i, p := range pes {
			word, err := p.next(out, i)
			if err != nil {
				return fmt.Errorf("PE %d: %w", i, err)
			}
			if words[i] = word; word == "" {
				done++
			}
		}
		if done > 0 && done < len(pes) {
			return errors.New("not all PEs are done")
		}
		if done > 0 {
			return nil
		}
		for i, p := range pes {
			if _, err := fmt.Fprintln(p.in, strings.Join(words, " ")); err != nil {
				return fmt.Errorf("PE %d: %w", i, err)
			}
		}
	}
}

// next returns the next word of a PE, or "" when it has finished.
func (p *pe) next(out io.Writer, i int) (string, error) {
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("it ended: %w", err)
		}
		verb, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "say":
			return text, nil
		case "done":
			return "", nil
		case "note":
			fmt.Fprintf(out, "  PE %d: %s\n", i, text)
		default:
			return "", errors.New(strings.TrimSpace(line))
		}
	}
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(10 * time.Microsecond) }
