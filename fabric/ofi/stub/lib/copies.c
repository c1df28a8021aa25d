/*
 * copies.c: fi_dupinfo and fi_freeinfo, and the NIC's part of an info.
 */
#define _GNU_SOURCE
#include "offer.h"

#include <stdlib.h>
#include <string.h>

/* Returns a copy of n bytes, zeroes if `from` is NULL. */
static void *copied(const void *from, size_t n)
{
    void *to = calloc(1, n > 0 ? n : 1);
    if (to != NULL && from != NULL)
        memcpy(to, from, n);
    return to;
}

/* Returns a copy of a text; of NULL it is NULL. */
static char *copied_text(const char *s)
{
    return s != NULL ? strdup(s) : NULL;
}

/* Closes the description of a NIC. */
static int close_nic(struct fid *fid)
{
    nic_free((struct fid_nic *)fid);
    return 0;
}

static struct fi_ops nic_ops = {.size = sizeof nic_ops, .close = close_nic};

/* Returns a copy of the description of a NIC (fi_info.nic), an empty one if n is NULL. */
struct fid_nic *nic_copy(const struct fid_nic *n)
{
    static const struct fi_device_attr no_device;
    static const struct fi_bus_attr no_bus;
    static const struct fi_link_attr no_link;
    struct fid_nic *to = calloc(1, sizeof *to);
    to->fid = (struct fid){.fclass = FI_CLASS_NIC, .ops = &nic_ops};
    to->device_attr = copied(n != NULL ? n->device_attr : &no_device, sizeof no_device);
    to->bus_attr = copied(n != NULL ? n->bus_attr : &no_bus, sizeof no_bus);
    to->link_attr = copied(n != NULL ? n->link_attr : &no_link, sizeof no_link);
    struct fi_device_attr *d = to->device_attr;
    d->name = copied_text(d->name), d->device_id = copied_text(d->device_id);
    d->device_version = copied_text(d->device_version), d->vendor_id = copied_text(d->vendor_id);
    d->driver = copied_text(d->driver), d->firmware = copied_text(d->firmware);
    to->link_attr->address = copied_text(to->link_attr->address);
    to->link_attr->network_type = copied_text(to->link_attr->network_type);
    return to;
}

/* Frees the description of a NIC. */
void nic_free(struct fid_nic *n)
{
    if (n == NULL)
        return;
    struct fi_device_attr *d = n->device_attr;
    free(d->name), free(d->device_id), free(d->device_version);
    free(d->vendor_id), free(d->driver), free(d->firmware);
    free(n->link_attr->address), free(n->link_attr->network_type);
    free(n->device_attr), free(n->bus_attr), free(n->link_attr);
    free(n);
}

/* Returns the description of a NIC of this stub: 100 Gb/s, with the given name, PCI bus and MTU. */
struct fid_nic *nic_make(const char *device, uint32_t bus, size_t mtu)
{
    struct fid_nic *n = nic_copy(NULL);
    n->device_attr->name = strdup(device);
    n->device_attr->driver = strdup("stub");
    n->bus_attr->bus_type = FI_BUS_PCI;
    n->bus_attr->attr.pci.bus_id = (uint8_t)bus;
    n->link_attr->mtu = mtu;
    n->link_attr->speed = (size_t)100 * 1000 * 1000 * 1000;
    n->link_attr->state = FI_LINK_UP;
    n->link_attr->network_type = strdup("Ethernet");
    return n;
}

/*
 * Later versions of libfabric have more fields at the end of an info and of its parts. Each copy
 * has LATER bytes for them.
 */
enum { LATER = 64 };

#define PART(name)                                                                                 \
    do {                                                                                           \
        to->name = calloc(1, sizeof *to->name + LATER);                                            \
        if (from != NULL && from->name != NULL)                                                    \
            *to->name = *from->name;                                                               \
    } while (0)

/* Implements fi_dupinfo: a copy with all that it points to. */
struct fi_info *fi_dupinfo(const struct fi_info *from)
{
    struct fi_info *to = calloc(1, sizeof *to + LATER);
    if (to == NULL)
        return NULL;
    if (from != NULL)
        *to = *from;
    to->next = NULL;
    to->src_addr = to->dest_addr = NULL;
    to->nic = NULL;
    PART(tx_attr);
    PART(rx_attr);
    PART(ep_attr);
    PART(domain_attr);
    PART(fabric_attr);
    to->domain_attr->name = copied_text(to->domain_attr->name);
    to->fabric_attr->name = copied_text(to->fabric_attr->name);
    to->fabric_attr->prov_name = copied_text(to->fabric_attr->prov_name);
    to->ep_attr->auth_key = NULL;
    to->domain_attr->auth_key = NULL;
    if (from == NULL)
        return to;
    if (from->src_addr != NULL)
        to->src_addr = copied(from->src_addr, from->src_addrlen);
    if (from->dest_addr != NULL)
        to->dest_addr = copied(from->dest_addr, from->dest_addrlen);
    if (from->nic != NULL)
        to->nic = nic_copy(from->nic);
    return to;
}

/* Implements fi_freeinfo. */
void fi_freeinfo(struct fi_info *info)
{
    while (info != NULL) {
        struct fi_info *next = info->next;
        free(info->src_addr);
        free(info->dest_addr);
        if (info->domain_attr != NULL)
            free(info->domain_attr->name);
        if (info->fabric_attr != NULL) {
            free(info->fabric_attr->name);
            free(info->fabric_attr->prov_name);
        }
        free(info->tx_attr), free(info->rx_attr), free(info->ep_attr);
        free(info->domain_attr), free(info->fabric_attr);
        nic_free(info->nic);
        free(info);
        info = next;
    }
}
