/*
 * info.c: fi_getinfo: picks the offers that fit the hints, and changes them into what is granted.
 * Names such as R17a are rows of rules.tsv, of which a test may switch off each (without).
 */
#define _GNU_SOURCE
#include "cuda.h"
#include "offer.h"

#include <stdlib.h>
#include <string.h>

#define PRIMARY                                                                                    \
    (FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTICAST | FI_NAMED_RX_CTX | FI_DIRECTED_RECV | \
     FI_VARIABLE_MSG | FI_HMEM | FI_COLLECTIVE | FI_READ | FI_WRITE | FI_RECV | FI_SEND |          \
     FI_REMOTE_READ | FI_REMOTE_WRITE)

/* Grants or denies FI_HMEM. Returns 0, or an error where the offer does not fit after all. */
static int alter_hmem(const struct settings *s, enum kind kind, struct fi_info *o,
                      const struct fi_info *h)
{
    const char *rdma = getenv("FI_EFA_USE_DEVICE_RDMA");
    if (h == NULL || !(h->caps & FI_HMEM)) {
        /* G1e: FI_HMEM that was not requested is cleared. */
        o->caps &= ~(uint64_t)(without(s, kind, G1e) ? 0 : FI_HMEM);
        return 0;
    }
    /* R17b: efa refuses FI_HMEM without CUDA. */
    if (rule(s, kind, R17b) && !cuda_found(s))
        return -FI_ENODATA;
    /* G22: programs of old API versions get FI_HMEM only if they allow RDMA. */
    const bool old = FI_VERSION_LT(o->fabric_attr->api_version, FI_VERSION(1, 18));
    if (rule(s, kind, G22) && old && (rdma == NULL || *rdma != '1'))
        return -FI_ENODATA;
    /* R17d: where the NIC does not reach GPU memory, efa copies the bytes with CUDA, but not for
     * programs of old API versions. */
    if (kind == KIND_EFA && cuda_found(s) && !s->p2p && (old || !rule(s, kind, R17d)))
        return -FI_ENODATA;
    /* R17a: a program that requests FI_HMEM has to accept FI_MR_HMEM. */
    if (h->domain_attr != NULL && !(h->domain_attr->mr_mode & FI_MR_HMEM) && rule(s, kind, R17a))
        return -FI_ENODATA;
    o->domain_attr->mr_mode |= FI_MR_HMEM;
    return 0;
}

/* Grants in offer o the primary capabilities that the hints h name. FI_MSG or FI_RMA without a
 * direction, such as FI_SEND or FI_READ, means all directions. */
static void alter_caps(struct fi_info *o, const struct fi_info *h)
{
    const uint64_t messages = FI_SEND | FI_RECV;
    const uint64_t moves = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    if (h->caps != 0)
        o->caps = (h->caps & PRIMARY) | (o->caps & ~(uint64_t)PRIMARY);
    if (o->caps & FI_MSG && !(o->caps & messages))
        o->caps |= messages;
    if (o->caps & FI_RMA && !(o->caps & moves))
        o->caps |= moves;
}

/* Clears secondary capabilities that the hints do not name, because they cost time: cxi's
 * FI_RMA_EVENT, FI_FENCE and FI_SOURCE (rules G48a, G48b), and FI_DIRECTED_RECV and FI_ATOMIC of
 * verbs (G68a). */
static void clear_caps(const struct settings *s, enum kind kind, struct fi_info *o,
                       const struct fi_info *h)
{
    const uint64_t asked = h != NULL ? h->caps : 0;
    if (rule(s, kind, G48a) && asked != 0)
        o->caps &= asked | ~(uint64_t)(FI_RMA_EVENT | FI_FENCE);
    if (rule(s, kind, G48b))
        o->caps &= asked | ~(uint64_t)FI_SOURCE;
    if (rule(s, kind, G68a))
        o->caps &= asked | ~(uint64_t)(FI_DIRECTED_RECV | FI_ATOMIC);
    o->tx_attr->caps &= o->caps;
    o->rx_attr->caps &= o->caps;
}

/* Sets the progress model that the hints request in an offer's domain. Where they request none,
 * data progress of verbs is manual (rule G69b). */
static void alter_progress(const struct settings *s, enum kind kind, struct fi_domain_attr *o,
                           const struct fi_domain_attr *h)
{
    if (h != NULL && h->control_progress != FI_PROGRESS_UNSPEC)
        o->control_progress = h->control_progress;
    if (h != NULL && h->data_progress != FI_PROGRESS_UNSPEC)
        o->data_progress = h->data_progress;
    else if (rule(s, kind, G69b))
        o->data_progress = (enum fi_progress)rule_value(G69b);
}

/* Sets the attributes of the domain in an offer that the hints request. FI_AV_MAP becomes
 * FI_AV_TABLE by rule G12f. */
static void alter_domain(const struct settings *s, enum kind kind, struct fi_domain_attr *o,
                         const struct fi_domain_attr *h)
{
    if (kind == KIND_EFA)
        o->mr_mode |= h->mr_mode & FI_MR_LOCAL;
    if (h->threading != FI_THREAD_UNSPEC)
        o->threading = h->threading;
    if (h->av_type != FI_AV_UNSPEC)
        o->av_type = h->av_type;
    if (h->av_type == FI_AV_MAP && rule(s, kind, G12f))
        o->av_type = (enum fi_av_type)rule_value(G12f);
}

/* Returns the size of a queue in the info that fi_getinfo returns: `asked` of the hints or, where
 * that is 0, the size that the provider offers. cxi then grants another size than it offers (G37b
 * or G37c, by version). */
static size_t granted_size(const struct settings *s, enum kind kind, size_t offered, size_t asked)
{
    if (asked != 0)
        return asked;
    return rule(s, kind, G37b)   ? (size_t)rule_value(G37b)
           : rule(s, kind, G37c) ? (size_t)rule_value(G37c)
                                 : offered;
}

/* Removes the orders that rxm does not keep beside atomic operations, which it carries out by
 * messages: those of rule G68b, and the sizes up to which order holds (G68c). */
static void alter_atomics(const struct settings *s, enum kind kind, struct fi_info *o)
{
    if (rule(s, kind, G68b)) {
        o->tx_attr->msg_order &= ~(uint64_t)rule_value(G68b);
        o->rx_attr->msg_order &= ~(uint64_t)rule_value(G68b);
    }
    if (rule(s, kind, G68c))
        o->ep_attr->max_order_raw_size = o->ep_attr->max_order_war_size =
            o->ep_attr->max_order_waw_size = 0;
}

/* Grants the sizes and op_flags in the hints; a queue of wide entries whose size is not in the
 * hints has half as many. efa grants the orders that are both in the hints and offered (R1c), and
 * cxi grants for the send queue the orders in the hints (G49). */
static void alter_queues(const struct settings *s, enum kind kind, struct fi_info *o,
                         const struct fi_info *h)
{
    const bool both = rule(s, kind, R1c);
    if (h->tx_attr != NULL) {
        o->tx_attr->op_flags = h->tx_attr->op_flags;
        o->tx_attr->size = granted_size(s, kind, o->tx_attr->size, h->tx_attr->size);
        /* A queue of entries that are twice as wide has half as many. */
        if (wide(s, kind, h->tx_attr) && h->tx_attr->size == 0)
            o->tx_attr->size /= 2;
        if (h->tx_attr->inject_size != 0)
            o->tx_attr->inject_size = h->tx_attr->inject_size;
        if (both)
            o->tx_attr->msg_order &= h->tx_attr->msg_order;
        if (rule(s, kind, G49))
            o->tx_attr->msg_order = h->tx_attr->msg_order;
    } else {
        o->tx_attr->op_flags = FI_COMPLETION;
    }
    if (h->rx_attr != NULL) {
        o->rx_attr->size = granted_size(s, kind, o->rx_attr->size, h->rx_attr->size);
        if (both)
            o->rx_attr->msg_order &= h->rx_attr->msg_order;
    }
}

/* Changes an offer into what is granted for the hints. With an error, all of fi_getinfo may
 * fail. */
static int alter(const struct settings *s, enum kind kind, struct fi_info *o,
                 const struct fi_info *h)
{
    int ret = alter_hmem(s, kind, o, h);
    if (ret != 0)
        return ret;
    alter_progress(s, kind, o->domain_attr, h != NULL ? h->domain_attr : NULL);
    if (h != NULL)
        alter_caps(o, h);
    clear_caps(s, kind, o, h);
    if (h == NULL)
        return 0;
    /* A program whose hints are for other hosts alone gets no shm (R8i). */
    if (kind == KIND_EFA && h->caps & FI_REMOTE_COMM && !(h->caps & FI_LOCAL_COMM))
        o->caps &= ~(uint64_t)FI_LOCAL_COMM;
    alter_queues(s, kind, o, h);
    if (h->caps & FI_ATOMIC)
        alter_atomics(s, kind, o);
    if (h->domain_attr != NULL)
        alter_domain(s, kind, o->domain_attr, h->domain_attr);
    /* G4c: a message of efa-direct has at most the MTU; only reads and writes may be larger. */
    if (!(h->caps & FI_RMA) && rule(s, kind, G4c))
        o->ep_attr->max_msg_size = mtu(s, kind);
    /* R11j: immediate data uses up receives of the application. */
    if (rule(s, kind, R11j))
        o->mode |= h->mode & FI_RX_CQ_DATA;
    return 0;
}

/* Stores the kinds of endpoint that the provider has, in the order in which fi_getinfo returns
 * them, and returns their number. efa-direct exists since libfabric 2.1, and rule R2a says that it
 * is first. */
static int kinds(const struct settings *s, enum kind list[2])
{
    if (s->provider != EFA) {
        list[0] = s->provider == CXI ? KIND_CXI : KIND_VERBS;
        return 1;
    }
    list[0] = list[1] = KIND_EFA;
    if (s->release < RELEASE(2, 1))
        return 1;
    list[!rule(s, KIND_EFA, R2a)] = KIND_DIRECT;
    return 2;
}

/* Reports whether an offer has FI_HMEM before the hints are read. efa always has, and refuses later
 * where CUDA is missing (R17b); efa-direct only with CUDA and peer-to-peer (R17c), cxi and verbs
 * only with CUDA. */
static bool hmem_offered(const struct settings *s, enum kind kind)
{
    if (kind == KIND_EFA)
        return true; /* it checks later, in alter_hmem (rules.tsv: R17b) */
    if (kind == KIND_DIRECT)
        return (cuda_found(s) && s->p2p) || !rule(s, kind, R17c);
    return cuda_found(s);
}

/* Reports whether FI_EFA_IFACE, a comma-separated list of devices, allows a device (rule G20);
 * without the variable, or if it begins with "all", every device is allowed. */
static bool chosen(const struct settings *s, enum kind kind, const char *device)
{
    const char *names = getenv("FI_EFA_IFACE");
    if (names == NULL || !rule(s, kind, G20) || strncmp(names, "all", 3) == 0)
        return true;
    for (size_t n = 0; *names != 0; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        if (strncmp(device, names, n) == 0 && strcmp(device + n, "-rdm") == 0)
            return true;
    }
    return false;
}

/* Appends an offer to the list if it fits the hints. Returns 1; 0 if it was dropped; or a negative
 * error, with which all of fi_getinfo fails. By rule G18 an error of alter is such an error;
 * without the rule it drops the offer. */
static int add(const struct settings *s, enum kind kind, struct fi_info *o, uint64_t flags,
               const struct fi_info *hints, struct fi_info ***end)
{
    if (!hmem_offered(s, kind))
        o->caps &= ~(uint64_t)FI_HMEM;
    int ret = chosen(s, kind, o->domain_attr->name) && (hints == NULL || fits(s, kind, o, hints));
    if (ret && !(flags & FI_PROV_ATTR_ONLY)) {
        ret = alter(s, kind, o, hints);
        ret = ret == 0 ? 1 : rule(s, kind, G18) ? ret : 0;
    }
    if (ret <= 0) {
        fi_freeinfo(o);
        return ret;
    }
    **end = o;
    *end = &o->next;
    return 1;
}

/* Appends the offers of one NIC to the list that *end ends. cxi has a second offer, for programs
 * that choose the keys of their memory (offer_keys); it is left out if hints were given and the
 * first offer fits. Returns a negative error, or a number from 0 on. */
static int collect_nic(const struct settings *s, enum kind kind, uint32_t nic, uint32_t version,
                       uint64_t flags, const struct fi_info *hints, struct fi_info ***end)
{
    for (int keys = 0; keys < (kind == KIND_CXI ? 2 : 1); keys++) {
        struct fi_info *o = offer(s, kind, nic);
        if (o == NULL)
            return -FI_ENOMEM;
        if (keys)
            offer_keys(s, o);
        o->fabric_attr->api_version = version;
        int ret = add(s, kind, o, flags, hints, end);
        if (ret < 0 || (ret == 1 && hints != NULL))
            return ret;
    }
    return 0;
}

/* Lists the offers, of all kinds of endpoint on all NICs, that fit the hints. */
static int collect(const struct settings *s, uint32_t version, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **list)
{
    enum kind order[2];
    int n = kinds(s, order);
    struct fi_info **end = list;
    for (int k = 0; k < n; k++) {
        for (uint32_t nic = 0; nic < s->nics; nic++) {
            int ret = collect_nic(s, order[k], nic, version, flags, hints, &end);
            if (ret < 0)
                return ret;
        }
    }
    return *list != NULL ? 0 : -FI_ENODATA;
}

/* Ends the process if a variable is set that the provider has dropped (rules.tsv: G21). */
static void abort_old_settings(const struct settings *s)
{
    static const char *const names[] = {"FI_EFA_MTU_SIZE", "FI_EFA_TX_IOV_LIMIT",
                                        "FI_EFA_RX_IOV_LIMIT"};
    for (int i = 0; i < 3; i++)
        if (getenv(names[i]) != NULL && rule(s, KIND_EFA, G21))
            die(G21, "%s is set", names[i]);
}

/* Implements fi_getinfo. */
int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    static bool called;
    struct settings s;
    (void)node, (void)service;
    settings_read(&s);
    if (FI_VERSION_LT(fi_version(), version))
        return -FI_ENOSYS;
    abort_old_settings(&s);
    /* R22b: the first call allocates memory of the GPU. */
    if (!called && cuda_found(&s) && rule(&s, KIND_EFA, R22b))
        cuda_touch(&s);
    if (!called)
        nic_fork_check(&s);
    called = true;
    *info = NULL;
    int ret = collect(&s, version, flags, hints, info);
    if (ret != 0) {
        fi_freeinfo(*info);
        *info = NULL;
    }
    return ret;
}
