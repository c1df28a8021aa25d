package need

import "os"

// Root needs to be root, to become somebody with fewer rights from there.
func Root(t T) {
	if os.Geteuid() != 0 {
		lack(t, "needs root, to take rights away")
	}
}
