package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/launcher"
)

// pe is the program of the scripts: a PE that carries out its arguments, one after the other. An
// argument is an operation, perhaps with a value, perhaps for one PE only: "barrier", "exit=3",
// "1:kill=11".
func pe() { os.Exit((&element{}).run(os.Args[1:])) }

type element struct {
	rank libshmem.PE
	size int
	boot bootstrap.Bootstrap
}

func (e *element) run(ops []string) int {
	rank, _ := strconv.Atoi(os.Getenv(launcher.EnvPE))
	e.rank = libshmem.PE(rank)
	e.size, _ = strconv.Atoi(os.Getenv(launcher.EnvNPEs))
	for _, arg := range ops {
		op, value, _ := strings.Cut(arg, "=")
		if pe, rest, ok := strings.Cut(op, ":"); ok {
			if pe != fmt.Sprint(e.rank) {
				continue
			}
			op = rest
		}
		if err := e.do(op, value); err != nil {
			fmt.Fprintf(os.Stderr, "pe %d: %v\n", e.rank, err)
			return 9
		}
	}
	return 0
}

func (e *element) do(op, value string) error {
	n, _ := strconv.ParseFloat(value, 64)
	switch op {
	case "init", "init-timeout", "init-goes-on":
		fd, err := strconv.Atoi(os.Getenv(launcher.EnvFD))
		if err != nil {
			return err
		}
		e.boot, err = launcher.New(fd, e.rank, e.size, time.Duration(n*float64(time.Second)), op == "init-goes-on", nil)
		return err
	case "gather":
		all, err := e.boot.Allgather(fmt.Append(nil, e.rank))
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", bytes.Join(all, []byte(" ")))
	case "gather-bytes": // this many from each PE
		all, err := e.boot.Allgather(bytes.Repeat([]byte{byte(e.rank)}, int(n)))
		if err != nil {
			return err
		}
		for pe, b := range all {
			if len(b) != int(n) || bytes.Count(b, []byte{byte(pe)}) != int(n) {
				return fmt.Errorf("contribution of PE %d is wrong", pe)
			}
		}
	case "barrier":
		return e.boot.Barrier()
	case "part":
		return e.boot.LeaveBarrier()
	case "losses": // wait for this many
		for n > 0 {
			for _, l := range e.boot.Losses() {
				fmt.Printf("PE %d hears that PE %d %s\n", e.rank, l.PE, l.Reason)
				n--
			}
			time.Sleep(time.Millisecond)
		}
	case "secret":
		fmt.Printf("secret %x\n", *e.boot.Secret())
	case "garbage": // to shmemrun
		fd, err := strconv.Atoi(os.Getenv(launcher.EnvFD))
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("0123456789abcdef"))
		return err
	case "done":
		return e.boot.Close()
	case "abort":
		e.boot.Abort(4, value)
		os.Exit(4)
	case "global-exit":
		e.boot.Exit(int(n))
		os.Exit(int(n))
	case "exit":
		os.Exit(int(n))
	case "kill":
		// By a shell in our place: the Go runtime would turn the signal into a
		// panic.
		return syscall.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -$0 $$; exec sleep 60", value}, os.Environ())
	case "echo":
		fmt.Println(value)
	case "print":
		fmt.Print(value)
	case "warn":
		fmt.Fprintln(os.Stderr, value)
	case "env":
		fmt.Printf("%s=%s\n", value, os.Getenv(value))
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "sleep":
		time.Sleep(time.Duration(n * float64(time.Second)))
	case "touch":
		return e.touch(value)
	case "shared-file": // as libfabric's provider shm makes it; its name is in a file
		name := fmt.Sprintf("/dev/shm/%d:%d:7", os.Getpid(), os.Getuid())
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return err
		}
		return os.WriteFile(fmt.Sprintf("%s.%d", value, e.rank), []byte(name), 0o666)
	case "launcher": // the process number of shmemrun, into a file
		return os.WriteFile(value, []byte(strconv.Itoa(os.Getppid())), 0o666)
	case "until": // FILE,TEXT: the text is in the file
		file, text, _ := strings.Cut(value, ",")
		for {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(text)) {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
	case "ignore":
		signal.Ignore(syscall.Signal(n))
	case "await": // SIGNAL,FILE: say so in a file, wait for the signal, and go on
		sig, file, _ := strings.Cut(value, ",")
		n, err := strconv.Atoi(sig)
		if err != nil {
			return err
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.Signal(n))
		if err := e.touch(file); err != nil {
			return err
		}
		<-c
		fmt.Printf("got %d\n", n)
	case "daemon": // leave a process behind, in a session of its own
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	case "over": // wait until shmemrun ends the job
		for !e.boot.Over() {
			time.Sleep(time.Millisecond)
		}
		fmt.Printf("PE %d knows\n", e.rank)
	case "cpus":
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return err
		}
		fmt.Println("processors:", set.Count())
	case "sockets": // that it has
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(to, "socket:") {
				fmt.Println("a socket")
			}
		}
	default:
		return fmt.Errorf("no such operation: %s", op)
	}
	return nil
}

// touch makes a file of its own for each PE: FILE.PE.
func (e *element) touch(file string) error {
	return os.WriteFile(file+"."+fmt.Sprint(e.rank), nil, 0o666)
}
