/*
 * endpoint.h: one reliable datagram endpoint with what belongs to it.
 *
 * A descriptor of memory is an opaque word here: not every provider's is an
 * address, and Go refuses pointers that are not. Answers are 0 or a negative libfabric error
 * number. One caller at a time, but for wait and wake.
 */
#ifndef SHMEMI_OFI_ENDPOINT_H
#define SHMEMI_OFI_ENDPOINT_H

#include "state.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define SHMEMI_OFI_ADDR_MAX 512

struct shmemi_ofi {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fi_context2 *contexts; /* of each token */
    uint32_t n_contexts;
    fi_addr_t *addrs; /* of each PE */
    uint32_t n_addrs;
    uint64_t write_flags; /* FI_DELIVERY_COMPLETE where writes are not ordered */
    int wait_fd;          /* of the completion queue, -1: it has none */
    int wake_fd;
    int events_fd;    /* epoll over both */
    const char *step; /* of open, that failed */
    char error[256];  /* the provider's own words for the last failed completion */
};

/* Opens everything that info describes; takes info over. Also when it fails,
 * shmemi_ofi_close must be called. */
int shmemi_ofi_open(struct shmemi_ofi *o, struct fi_info *info, uint32_t tokens);
void shmemi_ofi_close(struct shmemi_ofi *o);

int shmemi_ofi_address(struct shmemi_ofi *o, void *addr, size_t *size);
int shmemi_ofi_connect(struct shmemi_ofi *o, uint32_t n);
int shmemi_ofi_insert(struct shmemi_ofi *o, uint32_t pe, const void *addr);

int shmemi_ofi_register(struct shmemi_ofi *o, void *base, size_t n, uint64_t key,
                        struct fid_mr **mr);

int shmemi_ofi_recv(struct shmemi_ofi *o, void *buf, size_t n, uintptr_t desc, uint32_t token);
int shmemi_ofi_send(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t n, uintptr_t desc,
                    uint32_t token, int inject);
int shmemi_ofi_write(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t n, uintptr_t desc,
                     uint64_t remote, uint64_t key, uint32_t token, int inject);
int shmemi_ofi_read(struct shmemi_ofi *o, uint32_t pe, void *buf, size_t n, uintptr_t desc,
                    uint64_t remote, uint64_t key, uint32_t token);

/* The functions of fabric.Native. */
int shmemi_ofi_poll(void *self, struct shmemi_completion *c, int max);
int shmemi_ofi_arm(void *self);
int shmemi_ofi_wait(void *self, int64_t ns); /* 1: something came, 0: it did not */
void shmemi_ofi_wake(void *self);

#endif
