/*
 * team_init.c: teams of PEs that know an id and their own rank.
 *
 * The id names the PE that has made it, its root. The root need not take part: the PEs write
 * proposals to the team init area of the root's heap, and the PE of rank 0 reads them there. Rank 0
 * writes its reply to each PE to that area of the PE's own heap. There are two rounds: the first
 * finds the PEs and a team slot that all have free; the second confirms that each has made its team
 * in that slot. If another thread has occupied the slot meanwhile, two more rounds follow.
 *
 * Each area has one proposal of each PE, which the PE overwrites when rank 0 has replied. A word
 * for each PE names the id and the round to which its proposal belongs.
 */
#include "agree.h"
#include "below.h"
#include "error.h"
#include "notify.h"
#include "quiet.h"
#include "remote.h"
#include "team_ids.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What a PE writes to rank 0: the team's size, the PE's rank, whether it has made the team (MEMORY,
 * CLAIMED), and its free slots. */
struct proposal {
    int32_t n, rank;
    int64_t state;
    uint64_t free[SHMEMI_TEAM_SLOTS / 64];
};
_Static_assert(sizeof(struct proposal) == 144, "the size in runtime/job/area.teamInitSize");

/* The reply of rank 0, followed by the PEs of the team by rank. */
struct reply {
    uint64_t word;   /* the id and the round (word_of), written last */
    int32_t verdict; /* GOOD and so on */
    struct shmemi_team_id id;
    /* In a refusal: two PEs that conflict, and the numbers that they have passed. */
    int32_t pes[2], numbers[2];
    int32_t spare[7]; /* not used */
    int32_t list[];
};
_Static_assert(sizeof(struct reply) == 64, "the size in runtime/job/area.teamInitSize");

enum { MEMORY = 1, CLAIMED = 2 }; /* of proposal.state */
/* The verdicts of a reply: the round has succeeded; try once more; or why no team can be made. */
enum { GOOD, AGAIN, FULL_MEMORY, NO_SLOT, OTHER_SIZE, SAME_RANK };
/* The bits of an id for its root, and those of a word below the id for the round. */
enum { PE_BITS = 24, ROUND_BITS = 8 };

/* A team that is being made, as a member sees it. */
struct forming {
    uint64_t id, round; /* the program's id, and the present round, from 1 on */
    int root, n, rank;  /* the PE that has made the id; the team's size; this PE's rank */
    int32_t *list;      /* rank 0: the PEs by rank */
    uint64_t *words;    /* rank 0: a copy of the words of all PEs, if the root is on another node */
    const char *call;
};

/* One thread of a PE makes a team at a time: all use the same words in the areas. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t made; /* how many ids this PE has made */

/* ----------------------------------------------------------------- messages */

/* Returns n rounded up to whole cache lines. */
static size_t round_up(size_t n)
{
    return (n + SHMEMI_CACHE_LINE - 1) / SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
}

/* Returns the offset of the word of a PE in the team init area. This area is before the user heap,
 * so that offsets from the heap are negative. It has a word for each PE, a reply, and a proposal of
 * each PE. */
static int64_t word_at(int pe)
{
    return -(int64_t)shmemi_state.team_init_offset + (int64_t)sizeof(uint64_t) * pe;
}

/* Returns the offset, from the user heap, of the reply in the team init area. */
static int64_t reply_at(void)
{
    return word_at(0) + (int64_t)round_up(sizeof(uint64_t) * shmemi_state.n_pes);
}

/* Returns the offset, from the user heap, of the proposal of a PE in the team init area. */
static int64_t proposal_at(int pe)
{
    size_t size = sizeof(struct reply) + sizeof(int32_t) * shmemi_state.n_pes;
    return reply_at() + (int64_t)round_up(size) + (int64_t)sizeof(struct proposal) * pe;
}

/* Returns the word that marks a proposal or a reply of this id and round. */
static uint64_t word_of(const struct forming *m)
{
    return m->id << ROUND_BITS | (m->round & ((1u << ROUND_BITS) - 1));
}

/* Writes n bytes at an offset of a PE's heap, and then the word at word_offset there, by which the
 * PE sees that they have arrived in this round. */
static void send_message(const struct forming *m, int pe, int64_t offset, const void *source,
                         size_t n, int64_t word_offset)
{
    char *base = shmemi_state.peer_base[pe];
    if (base == NULL) {
        shmemi_net_message(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                                           .pe = pe,
                                                           .offset = offset,
                                                           .nbytes = n,
                                                           .source = source,
                                                           .signal_offset = word_offset,
                                                           .operand = word_of(m),
                                                           .op = SHMEMI_AMO_SET,
                                                           .call = m->call});
        shmemi_quiet_slow(SHMEM_CTX_DEFAULT, m->call); /* until source may be reused */
        return;
    }
    memcpy(base + offset, source, n);
    shmemi_publish((uint64_t *)(base + word_offset), word_of(m));
    shmemi_notify(pe);
}

/* Copies n bytes at an offset of the heap of the root (the PE that has made the id), where rank 0
 * of the new team collects the proposals. */
static void read_at_root(const struct forming *m, int64_t offset, void *dest, size_t n)
{
    char *base = shmemi_state.peer_base[m->root];
    if (base != NULL)
        memcpy(dest, base + offset, n);
    else
        shmemi_net_do(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_GET,
                                                      .pe = m->root,
                                                      .offset = offset,
                                                      .nbytes = n,
                                                      .dest = dest,
                                                      .call = m->call});
}

/* ------------------------------------------------------------------- rank 0 */

/* Reports whether the proposal of a PE for this round has arrived. */
static bool has_proposed(const struct forming *m, int pe)
{
    char *base = shmemi_state.peer_base[m->root];
    if (base == NULL)
        return m->words[pe] == word_of(m);
    return shmemi_observe((uint64_t *)(base + word_at(pe))) == word_of(m);
}

/* Returns how many proposals of this round have arrived. In the first round it counts all PEs with
 * the id, later only the PEs of the team: others may have left a word when another team was made
 * from the same id. */
static int count_proposals(const struct forming *m)
{
    int n = 0;
    if (shmemi_state.peer_base[m->root] == NULL)
        read_at_root(m, word_at(0), m->words, sizeof(uint64_t) * shmemi_state.n_pes);
    for (int rank = 0; m->round > 1 && rank < m->n; rank++)
        n += has_proposed(m, m->list[rank]);
    for (int pe = 0; m->round == 1 && pe < (int)shmemi_state.n_pes; pe++)
        n += has_proposed(m, pe);
    return n;
}

/* For the hang report: names the team whose PEs have yet to reach rank 0. */
static void describe_gathering(const void *subject, char *text, size_t size)
{
    const struct forming *m = subject;
    snprintf(text, size, "for the %d PEs of the team with the id %#llx", m->n,
             (unsigned long long)m->id);
}

/* Makes the reply a refusal, with two PEs that conflict and the numbers that they have proposed. */
static void set_refusal(struct reply *a, int verdict, int pe, int number, int other_pe,
                        int other_number)
{
    a->pes[0] = pe;
    a->numbers[0] = number;
    a->pes[1] = other_pe;
    a->numbers[1] = other_number;
    a->verdict = verdict;
}

/* Lists the PEs of the team by rank. Refuses if two disagree about its size, or have one rank. */
static void list_by_rank(const struct forming *m, struct reply *a)
{
    for (int rank = 0; rank < m->n; rank++)
        m->list[rank] = -1;
    for (int pe = 0; a->verdict == GOOD && pe < (int)shmemi_state.n_pes; pe++) {
        struct proposal p;
        if (!has_proposed(m, pe))
            continue;
        read_at_root(m, proposal_at(pe), &p, sizeof p);
        if (p.n != m->n)
            set_refusal(a, OTHER_SIZE, shmemi_state.my_pe, m->n, pe, p.n);
        else if (m->list[p.rank] >= 0)
            set_refusal(a, SAME_RANK, m->list[p.rank], p.rank, pe, p.rank);
        else
            m->list[p.rank] = pe;
    }
}

/* Combines the proposals: the flags that all members have set, and the slots that all have free. */
static void combine_proposals(const struct forming *m, struct proposal *all)
{
    all->state = MEMORY | CLAIMED;
    memset(all->free, 0xff, sizeof all->free);
    for (int rank = 0; rank < m->n; rank++) {
        struct proposal p;
        read_at_root(m, proposal_at(m->list[rank]), &p, sizeof p);
        all->state &= p.state;
        for (size_t i = 0; i < sizeof all->free / sizeof *all->free; i++)
            all->free[i] &= p.free[i];
    }
}

/* Called by rank 0: decides on the proposals of a round. In odd rounds it chooses a slot that is
 * free at all PEs, for them to make the team in; in even rounds it checks that all have made it.
 * AGAIN: another thread of a PE has taken the slot. */
static void decide_round(const struct forming *m, struct reply *a)
{
    struct proposal all;
    a->verdict = GOOD;
    if (m->round == 1)
        list_by_rank(m, a);
    if (a->verdict != GOOD)
        return;
    combine_proposals(m, &all);
    if (!(all.state & MEMORY))
        a->verdict = FULL_MEMORY;
    else if (!(all.state & CLAIMED))
        a->verdict = AGAIN;
    else if (m->round % 2 == 1 && (a->id = shmemi_team_ids_choose(all.free, 0)).slot < 0)
        a->verdict = NO_SLOT;
}

/* Called by rank 0 in each round: waits for the proposals of all members, and sends the reply to
 * each. Returns false if a PE was lost. */
static bool gather_and_reply(const struct forming *m, struct reply *a)
{
    const int64_t after_word = (int64_t)sizeof a->word;
    size_t list = sizeof(int32_t) * (size_t)m->n;
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = m->call,
                              .describe = describe_gathering,
                              .subject = m,
                              .whom = SHMEMI_ANY_MATE};
    while (count_proposals(m) < m->n) {
        if (!shmemi_wait_step(&w))
            return false;
        /* count_proposals may post a get, which waits, too, and only one wait of a thread may poll
         * the network. */
        shmemi_wait_over(&w);
    }
    decide_round(m, a);
    memcpy(a->list, m->list, list);
    /* Rank 0 knows the PEs of the team. Otherwise it replies to all PEs that have proposed. */
    bool known = a->verdict == GOOD || m->round > 1;
    for (int i = 0; i < (known ? m->n : (int)shmemi_state.n_pes); i++)
        if (known || has_proposed(m, i))
            send_message(m, known ? m->list[i] : i, reply_at() + after_word, (char *)a + after_word,
                         sizeof *a + list - (size_t)after_word, reply_at());
    return true;
}

/* -------------------------------------------------------------- every member */

/* For the hang report: names the team whose rank 0 has yet to reply. */
static void describe_reply(const void *subject, char *text, size_t size)
{
    const struct forming *m = subject;
    snprintf(text, size, "for PE 0 of the team with the id %#llx, as its PE %d",
             (unsigned long long)m->id, m->rank);
}

/* Performs one round: sends a proposal, and returns the reply, or NULL if a PE was lost. At rank 0
 * it also collects the proposals and replies to all; made_reply is rank 0's memory for that reply.
 */
static const struct reply *send_proposal(struct forming *m, const struct proposal *p,
                                         struct reply *made_reply)
{
    const struct reply *a =
        (const struct reply *)(shmemi_state.peer_base[shmemi_state.my_pe] + reply_at());
    int me = shmemi_state.my_pe;
    m->round++;
    send_message(m, m->root, proposal_at(me), p, sizeof *p, word_at(me));
    if (m->rank == 0 && !gather_and_reply(m, made_reply))
        return NULL;
    bool lost = false;
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), m->call, describe_reply, m,
                    shmemi_observe(&a->word) == word_of(m) || (lost = shmemi_is_lost(m->root)),
                    .whom = SHMEMI_ANY_MATE);
    if (lost)
        shmemi_fail_lost(m->root, m->call);
    return shmemi_observe(&a->word) == word_of(m) ? a : NULL;
}

/* Prints a message about this PE's call. */
__attribute__((format(printf, 2, 3))) static void print_error(const char *call, const char *format,
                                                              ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "shmem: PE %d: %s: %s\n", shmemi_state.my_pe, call, text);
}

/* Prints why rank 0 has refused the team, with the PEs and numbers that do not fit together. */
static void print_refusal(const struct forming *m, const struct reply *a)
{
    switch (a->verdict) {
    case FULL_MEMORY:
        print_error(m->call, "a PE has no memory for a team of %d PEs (free some)", m->n);
        break;
    case NO_SLOT:
        print_error(m->call,
                    "no place is left for a team at all of its %d PEs (destroy teams that "
                    "are not needed)",
                    m->n);
        break;
    case OTHER_SIZE:
        print_error(m->call,
                    "PE %d says %d PEs and PE %d says %d (pass the same npes on all PEs of "
                    "the team)",
                    a->pes[0], a->numbers[0], a->pes[1], a->numbers[1]);
        break;
    case SAME_RANK:
        print_error(m->call,
                    "PE %d and PE %d are both number %d of the team (pass another "
                    "pe_idx_in_team on each)",
                    a->pes[0], a->pes[1], a->numbers[0]);
        break;
    }
}

/* Cleans up after a team that rank 0 has refused: sets this PE's word at the root to another round
 * and clears the reply in this PE's heap, so that the same id may be used again. */
static void leave_refused(struct forming *m, struct proposal *p)
{
    int me = shmemi_state.my_pe;
    m->round++;
    send_message(m, m->root, proposal_at(me), p, sizeof *p, word_at(me));
    *(uint64_t *)(shmemi_state.peer_base[me] + reply_at()) = 0;
}

/* Makes the team in the slot that rank 0 has chosen. Returns what this PE reports to rank 0 in the
 * next round: MEMORY unless it has too little memory, and CLAIMED unless another thread has taken
 * the slot. A PE with too little memory for the team reports CLAIMED without trying to claim. */
static int64_t make_team(const struct forming *m, const struct reply *a, int num_contexts,
                         struct shmemi_team **t)
{
    struct shmemi_team_id id = a->id;
    int32_t *pes = malloc(sizeof(int32_t) * (size_t)m->n);
    if (pes != NULL)
        memcpy(pes, a->list, sizeof(int32_t) * (size_t)m->n);
    *t = pes == NULL ? NULL : shmemi_team_new(pes, m->n, num_contexts);
    if (*t == NULL)
        return CLAIMED;
    if (!shmemi_team_ids_claim(t, &id, 1))
        return MEMORY;
    return shmemi_team_id_occupy(*t, id.slot, m->call) == 0 ? MEMORY | CLAIMED : CLAIMED;
}

/* Makes the team with the other PEs, in as many rounds as necessary. Returns 0, or -1 after it has
 * printed an error or a PE was lost. */
static int form_team(struct forming *m, struct reply *made_reply, int num_contexts,
                     shmem_team_t *new_team)
{
    for (;;) {
        struct proposal p = {.n = m->n, .rank = m->rank, .state = MEMORY | CLAIMED};
        struct shmemi_team *t;
        shmemi_team_ids_free(p.free);
        const struct reply *a = send_proposal(m, &p, made_reply);
        if (a == NULL)
            return -1;
        if (a->verdict != GOOD) {
            print_refusal(m, a);
            leave_refused(m, &p);
            return -1;
        }
        struct shmemi_team_id id = a->id;
        p.state = make_team(m, a, num_contexts, &t);
        a = send_proposal(m, &p, made_reply);
        if (a != NULL && a->verdict == GOOD) {
            *new_team = shmemi_team_id_name(t, m->call);
            return 0;
        }
        shmemi_team_ids_disclaim(&t, &id, 1);
        shmemi_team_drop(t);
        if (a == NULL || a->verdict != AGAIN) {
            if (a != NULL)
                print_refusal(m, a);
            return -1;
        }
    }
}

/* Makes an id for shmemi_team_init: this PE's number in the low PE_BITS bits, and above it how many
 * ids this PE has made. Returns 0. */
int shmemi_team_uniqueid(uint64_t *id, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    uint64_t number = shmemi_count(&made, 1);
    *id = number << PE_BITS | (uint64_t)shmemi_state.my_pe;
    return 0;
}

/* Checks the arguments, and makes the team; a mutex excludes other threads of this PE, which would
 * use the same words in the areas. */
int shmemi_team_init(uint64_t id, int n, int rank, int num_contexts, shmem_team_t *new_team,
                     const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    struct forming m = {.id = id, .n = n, .rank = rank, .call = call};
    *new_team = SHMEM_TEAM_INVALID;
    if (s->n_pes == 0)
        shmemi_refuse_uninitialised(call);
    m.root = (int)(id & ((1u << PE_BITS) - 1));
    uint64_t number = id >> PE_BITS;
    if (m.root >= (int)s->n_pes || number == 0 || number > UINT32_MAX) {
        print_error(call,
                    "%#llx is no id of a team (pass an id that nvshmemx_team_get_uniqueid has "
                    "given a PE of this job)",
                    (unsigned long long)id);
        return -1;
    }
    if (n < 1 || n > (int)s->n_pes || rank < 0 || rank >= n) {
        print_error(call,
                    "number %d of a team of %d PEs, in a job of %u (use 1 to %u PEs, and "
                    "numbers from 0 on)",
                    rank, n, s->n_pes, s->n_pes);
        return -1;
    }
    struct reply *made_reply = NULL;
    if (rank == 0) {
        m.list = malloc(sizeof(int32_t) * (size_t)n);
        m.words = malloc(sizeof(uint64_t) * s->n_pes);
        made_reply = calloc(1, sizeof *made_reply + sizeof(int32_t) * (size_t)n);
    }
    if (rank == 0 && (m.list == NULL || m.words == NULL || made_reply == NULL))
        shmemi_abort(call, "free some", "no memory for the list of %d PEs", n);
    pthread_mutex_lock(&mutex);
    int rc = form_team(&m, made_reply, num_contexts, new_team);
    pthread_mutex_unlock(&mutex);
    free(m.list);
    free(m.words);
    free(made_reply);
    return rc;
}
