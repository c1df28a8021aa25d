/*
 * settings.h: the words of FAKE_NIC, rules, and the log.
 */
#ifndef STUB_SETTINGS_H
#define STUB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fi_errno.h>

#define RELEASE(major, minor) ((uint32_t)(major) << 8 | (minor))

enum provider { EFA, CXI, VERBS };
enum { FIRST_BUS = 0x50 }; /* PCI bus of NIC 0; the others follow */
/* The kinds of endpoint. Those up to KIND_DIRECT are of the provider efa: code compares by <=. */
enum kind { KIND_EFA, KIND_DIRECT, KIND_CXI, KIND_VERBS };

/*
 * The settings, words KEY=VALUE in FAKE_NIC. Those that a test may change while endpoints are open
 * (fail_at, unreached_at, data_fails_at, dmabuf, peer, overrun_at and the stray ones) are read when
 * they are needed; the others keep their values from the opening of the fabric on.
 */
struct settings {
    enum provider provider;
    uint32_t release; /* of libfabric, as RELEASE */
    uint32_t nics;    /* how many NICs are offered */
    uint64_t seed;    /* of delays, orders and refusals */
    uint64_t max_cq;  /* entries of a completion queue that the device grants */
    uint64_t again;   /* one of how many postings is refused by EAGAIN; 0: none */
    bool unsolicited; /* writes with data need no receive (rules.tsv: R11) */
    bool p2p;         /* the NIC reaches the GPU's memory (rules.tsv: R20) */
    bool in_order;   /* the device has the option to write the bytes of each aligned 128 in order */
    bool loads_cuda; /* FI_HMEM only if CUDA's libraries are there (rules.tsv: R21) */
    bool old_fork;   /* the kernel is older than 5.13 (rules.tsv: R23) */
    bool one_host; /* the peers of efa are on this host, which its shm reaches (rules.tsv: R18, R24)
                    */
    bool flush; /* posted operations are reported when their endpoint is closed (rules.tsv: R15) */
    uint32_t part;    /* of the device: 0xefa0 (p4d), 0xefa1 (p5) or a later one (rules.tsv: R10) */
    bool all_fail;    /* every operation fails as on a NIC that is broken (rules.tsv: R15) */
    uint32_t dies;    /* the NIC that breaks */
    uint64_t dies_at; /* with which of an endpoint's operations it breaks; 0: it does not */
    int lost_status;  /* the provider's error of operations on a lost peer: it no longer answers, it
                         never answered, or its queue pair does not exist (rules.tsv: R15) */
    char without[256]; /* rules that are switched off */
};

void settings_read(struct settings *s);

/* Returns the present value of KEY=, or otherwise. */
long setting(const char *key, long otherwise);
/* Copies the value of KEY=, or "". */
void setting_text(const char *key, char *text, size_t len);

#include "../zz_rules.h"

/* Reports whether a provider keeps a rule: in this version, on this fabric, and not switched off.
 */
bool rule(const struct settings *s, enum kind kind, enum rule_id id);
/*
 * Reports whether a rule of this provider, version and fabric was switched off. An operation that
 * the rule allows is refused then.
 */
bool without(const struct settings *s, enum kind kind, enum rule_id id);
/* Returns the value in a rule's row of rules.tsv (column answer): an error, flags, or a size. */
int64_t rule_value(enum rule_id id);

/* Ends the process if both fork safety and huge pages are set (nic.c, R23). */
void nic_fork_check(const struct settings *s);

/* Adds a line to the file of FAKE_NIC_LOG: a registration, or a refusal. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Adds a line to the file of the setting log: the use of the queues, or an option. */
void count_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the process with a message, where the real provider aborts or crashes. */
_Noreturn void die(enum rule_id id, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
