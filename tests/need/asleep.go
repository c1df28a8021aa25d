package need

import (
	"fmt"
	"os"
	"strings"
)

// Asleep reports whether a thread sleeps in the kernel. A thread that is ready to run, and that a
// busy machine does not let run, does not sleep.
func Asleep(process, thread int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", process, thread))
	_, state, _ := strings.Cut(string(b), ") ")
	return err == nil && strings.HasPrefix(state, "S")
}
