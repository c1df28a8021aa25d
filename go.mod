module libshmem

go 1.26
