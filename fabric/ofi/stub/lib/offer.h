/*
 * offer.h: the offers of each provider, and copies of them.
 */
#ifndef STUB_OFFER_H
#define STUB_OFFER_H

#include "settings.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

/* Flags of registrations that are newer than the headers. */
#define STUB_MR_DMABUF (1ULL << 40)
#define STUB_MR_RELAXED_ORDERING (1ULL << 61) /* of efa, from 2.7 on */
#define API_DMABUF FI_VERSION(1, 20)

enum { EFA_ADDRESS = 32, CXI_ADDRESS = 8, VERBS_ADDRESS = 16, MAX_ADDRESS = 32 };

/* Returns the offer of one kind of endpoint on one NIC. */
struct fi_info *offer(const struct settings *s, enum kind kind, uint32_t nic);
void offer_keys(const struct settings *s, struct fi_info *o);
/* fields.c: sets the attributes of an offer that are rows of rules.tsv. */
void fields_set(const struct settings *s, enum kind kind, struct fi_info *i);
size_t mtu(const struct settings *s, enum kind kind);
/* fits.c: reports whether an offer has all that hints require. */
bool fits(const struct settings *s, enum kind kind, const struct fi_info *o,
          const struct fi_info *h);
bool wide(const struct settings *s, enum kind kind, const struct fi_tx_attr *t);
/* Returns the kind of endpoint of a fabric's name. */
enum kind kind_of(const struct settings *s, const char *fabric);

/* Makes the NIC of an offer. Of its PCI address only the bus is set. */
struct fid_nic *nic_make(const char *device, uint32_t bus, size_t mtu);
struct fid_nic *nic_copy(const struct fid_nic *n);
void nic_free(struct fid_nic *n);

/* Addresses: each has the number of an endpoint, in the form of its provider; 0: no address. */
size_t address_size(enum kind kind);
void address_make(enum kind kind, uint32_t nic, uint64_t id, void *addr);
uint64_t address_id(enum kind kind, const void *addr);

#endif
