// Package job is the life of a processing element: it reads the settings, meets
// the other PEs, maps the symmetric heap, opens the network and takes it all
// down again. It is the one place where those parts are chosen and put
// together; it holds no algorithm of its own, and nothing of it runs between
// init and finalize but the proxy thread that it starts.
package job
