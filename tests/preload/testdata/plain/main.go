// Command plain prints a line, from a goroutine of another thread, and calls no function of SHMEM.
package main

import (
	"fmt"
	"os"
	"os/user"
	"runtime"
)

func main() {
	line := make(chan string)
	go func() {
		runtime.LockOSThread()
		u, err := user.Current() // with cgo it asks the C library
		line <- fmt.Sprint(u != nil, err, os.Getenv("SHMEM_PRELOAD") != "none")
	}()
	fmt.Println(<-line)
}
