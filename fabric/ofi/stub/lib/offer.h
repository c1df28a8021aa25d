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
/* Changes cxi's first offer into its second offer, for programs that choose the keys of their
 * memory. */
void offer_keys(const struct settings *s, struct fi_info *o);
/* Sets the attributes of an offer that are rows of rules.tsv (fields.c). */
void fields_set(const struct settings *s, enum kind kind, struct fi_info *i);
/* Returns the bytes of the largest message that is one packet. */
size_t mtu(const struct settings *s, enum kind kind);
/* Reports whether the offer o has all that the hints h require (fits.c). */
bool fits(const struct settings *s, enum kind kind, const struct fi_info *o,
          const struct fi_info *h);
/* Reports whether hints get a send queue with wide entries, which have room for more injected bytes
 * (the setting wide). */
bool wide(const struct settings *s, enum kind kind, const struct fi_tx_attr *t);
/* Returns the kind of endpoint of a fabric's name. */
enum kind kind_of(const struct settings *s, const char *fabric);

/* Returns the description of a NIC for an offer. Of its PCI address only the bus is set. */
struct fid_nic *nic_make(const char *device, uint32_t bus, size_t mtu);
/* Returns a copy of the description of a NIC, an empty one if n is NULL. */
struct fid_nic *nic_copy(const struct fid_nic *n);
/* Frees the description of a NIC. */
void nic_free(struct fid_nic *n);

/* Returns the bytes of an address of a provider. */
size_t address_size(enum kind kind);
/* Writes the address of endpoint id on a NIC, in the form of its provider. */
void address_make(enum kind kind, uint32_t nic, uint64_t id, void *addr);
/* Returns the id of the endpoint at an address, 0 if the address is not of this provider. */
uint64_t address_id(enum kind kind, const void *addr);

#endif
