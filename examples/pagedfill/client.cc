/*
 * client.cc: in each round a client sends one request to each server, receives its answer with the
 * context word, and waits for a notification of each page.
 */
#include "client.h"

#include "progress.h"
#include "protocol.h"

#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pagedfill
{

/* The pages that a round requests from one server. */
struct share {
    request r = {};
    std::vector<page> pages;
    uint32_t writes = 0; /* that one request causes: pages times repeats */
    uint64_t all = 0;    /* writes of all requests of the round */
};

class client
{
  public:
    explicit client(const job &the_job) : j(the_job), want(j.opt.page_bytes / 8), have(want)
    {
    }

    int run()
    {
        const uint64_t bytes = (uint64_t)j.opt.pages * j.opt.page_bytes;
        double took = 0;
        for (int i = 0; i < j.opt.rounds; i++) {
            double t = round(1, false, 1, true);
            if (t < 0)
                return 1;
            took += t;
        }
        printf(
            "client PE %d: %d rounds of %zu pages of %zu bytes: every byte verified, %.3f GB/s\n",
            j.me, j.opt.rounds, j.opt.pages, j.opt.page_bytes,
            (double)bytes * j.opt.rounds / took / 1e9);
        return j.opt.measure > 0 ? compare(bytes) : 0;
    }

    void bye()
    {
        for (int s = 0; s < j.opt.servers; s++)
            shmemx_send(nullptr, 0, TAG_LEAVE, s); /* to a lost server it does nothing */
    }

  private:
    /* Measures the writes of all rounds in three variants: with a request for each round (0), with
     * one request for all of them (1), and that without filling pages (2). The variants alternate,
     * so that all find the machine in the same state. The clients begin together, and compare no
     * bytes meanwhile. bytes is the size of a round. Returns 1 after a failure. */
    int compare(uint64_t bytes)
    {
        const uint32_t rounds = (uint32_t)j.opt.rounds;
        std::vector<double> figures[3]; /* seconds */
        for (int i = 0; i < j.opt.measure; i++) {
            for (int variant = 0; variant < 3; variant++) {
                shmem_team_sync(j.clients);
                double t = variant == 0 ? round(1, false, rounds, false)
                                        : round(rounds, variant == 2, 1, false);
                if (t < 0)
                    return 1;
                figures[variant].push_back(t);
            }
        }
        double all = (double)bytes * rounds / 1e9, rate[3], ratio[3];
        for (int variant = 0; variant < 3; variant++) {
            rate[variant] = all / median(figures[variant]);
            std::vector<double> r;
            for (size_t i = 0; i < figures[variant].size(); i++)
                r.push_back(figures[variant][i] / figures[0][i]);
            ratio[variant] = median(r);
        }
        printf("client PE %d: paged fill %.3f GB/s; without requests %.3f GB/s, ratio %.3f; "
               "the writes alone %.3f GB/s, ratio %.3f (medians of %d)\n",
               j.me, rate[0], rate[1], ratio[1], rate[2], ratio[2], j.opt.measure);
        return round(1, false, rounds, true) < 0; /* once more, and compare every byte */
    }

    static double median(std::vector<double> v)
    {
        std::sort(v.begin(), v.end());
        return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
    }

    /* Sends each server `requests` equal requests at once, which ask for its pages `repeats` times
     * each, and waits for all pages. unfilled: the servers write what their memory has. verified:
     * compares every byte. Returns the seconds until the last page was there, or less than 0 after
     * a message. */
    double round(uint32_t repeats, bool unfilled, uint32_t requests, bool verified)
    {
        std::vector<share> shares = deal(repeats, unfilled, requests);
        progress bar(verified && j.me == j.opt.servers, j.opt.progress,
                     (uint64_t)j.opt.pages * requests * repeats, j.opt.page_bytes);
        for (size_t s = 0; s < shares.size() && j.opt.last_word; s++)
            __atomic_store_n(&j.words[s], 0, __ATOMIC_RELAXED);
        double begun = seconds();
        for (uint32_t k = 0; k < requests; k++)
            for (size_t s = 0; s < shares.size(); s++)
                if (!send(shares[s], k, (int)s))
                    return -1;
        for (uint32_t k = 0; k < requests; k++)
            for (size_t s = 0; s < shares.size(); s++)
                if (!answered(shares[s], k, (int)s))
                    return -1;
        uint64_t before = 0;
        for (size_t s = 0; s < shares.size(); s++) {
            if (j.opt.last_word ? !announced(shares[s], requests - 1, (int)s, before, &bar)
                                : !arrived(shares[s], (int)s, before, &bar))
                return -1;
            before += shares[s].all;
        }
        double took = seconds() - begun;
        for (size_t s = 0; s < shares.size(); s++)
            if (!exact(shares[s], (int)s) || (verified && !same(shares[s])))
                return -1;
        return took;
    }

    /* Divides the pages among the servers and the buffers, and makes the request for each server.
     * No two rounds have the same seed, so bytes of an earlier round are wrong in this one. */
    std::vector<share> deal(uint32_t repeats, bool unfilled, uint32_t requests)
    {
        std::vector<share> shares((size_t)j.opt.servers);
        number++;
        for (size_t i = 0; i < j.opt.pages; i++)
            shares[i % shares.size()].pages.push_back(
                {(uint32_t)(i % j.buffers.size()), (uint32_t)(i / j.buffers.size())});
        for (size_t s = 0; s < shares.size(); s++) {
            share &x = shares[s];
            x.r.magic = MAGIC;
            x.r.context = (uint32_t)stream_word(j.opt.seed + number, (uint64_t)j.me * 1000 + s);
            x.r.seed = j.opt.seed + ((uint64_t)j.me << 40) + (number * shares.size() + s) * 1024;
            x.r.page_bytes = (uint32_t)j.opt.page_bytes;
            x.r.notify = (uint32_t)j.notify + (uint32_t)s;
            x.r.npages = (uint32_t)x.pages.size();
            x.r.repeats = (uint16_t)repeats;
            x.r.flags =
                (uint16_t)((unfilled ? FLAG_UNFILLED : 0) | (j.opt.last_word ? FLAG_LAST_WORD : 0));
            x.writes = x.r.npages * repeats;
            x.all = (uint64_t)x.writes * requests;
        }
        while (shares.back().pages.empty())
            shares.pop_back(); /* fewer pages than servers */
        return shares;
    }

    /* Reports whether a server is lost, with a message. */
    bool lost(int server)
    {
        if (shmem_pe_accessible(server))
            return false;
        say(j.me, "wait for pages of server PE %d: it is lost (start the job again)", server);
        return true;
    }

    /* Sends request k of a round, whose context no other request has. False: the server is lost. */
    bool send(const share &x, uint32_t k, int server)
    {
        std::vector<unsigned char> m(sizeof x.r + x.pages.size() * sizeof(page));
        request r = x.r;
        r.context += k;
        memcpy(m.data(), &r, sizeof r);
        memcpy(m.data() + sizeof x.r, x.pages.data(), x.pages.size() * sizeof(page));
        return shmemx_send(m.data(), m.size(), TAG_REQUEST, server) == 0 || !lost(server);
    }

    /* Receives the answer to request k, and reports whether the server will write all its pages.
     * If not, there has been a message. */
    bool answered(const share &x, uint32_t k, int server)
    {
        answer a;
        size_t nbytes = 0;
        int tag = TAG_ANSWER, pe = server;
        while (shmemx_recv(&a, sizeof a, &tag, &pe, &nbytes) != 0) {
            if (shmemx_last_error() == SHMEMX_ERROR_MESSAGE || nbytes > sizeof a) {
                say(j.me,
                    "receive the answer of PE %d: it has %zu bytes (a server of the same "
                    "program sends %zu)",
                    server, nbytes, sizeof a);
                return false;
            }
            if (lost(server))
                return false;
        }
        if (nbytes != sizeof a || a.refused) {
            a.text[sizeof a.text - 1] = '\0';
            say(j.me, "server PE %d refused the request: %s", server, a.text);
            return false;
        }
        if (a.context != x.r.context + k || a.npages != x.writes) {
            say(j.me,
                "compare the answer of PE %d: context 0x%08x and %u pages instead of 0x%08x "
                "and %llu",
                server, a.context, a.npages, x.r.context + k, (unsigned long long)x.writes);
            return false;
        }
        return true;
    }

    /* Waits for the writes of a server by their notifications; `before` pages of other servers are
     * there already, for the bar. The loss of any PE ends a wait once, so a wait that ends early
     * fails only if this server is lost. */
    bool arrived(const share &x, int server, uint64_t before, progress *bar)
    {
        for (uint64_t got = 0; got < x.all;) {
            got = shmemx_notify_wait((int)x.r.notify, std::min(x.all, got + bar->step()));
            if (got < x.all && lost(server))
                return false;
            bar->draw(before + std::min(got, x.all));
        }
        return true;
    }

    /* Waits for the word of the last page of request k, the last one of this round. The server
     * writes its pages in order, so this word says that all pages of all requests are there. */
    bool announced(const share &x, uint32_t k, int server, uint64_t before, progress *bar)
    {
        const uint64_t want = last_word(x.r.context + k);
        while (shmem_signal_fetch(&j.words[server]) != want) {
            shmem_signal_wait_until(&j.words[server], SHMEM_CMP_EQ, want);
            if (shmem_signal_fetch(&j.words[server]) != want && lost(server))
                return false;
        }
        bar->draw(before + x.all);
        return true;
    }

    /* Reports whether the counter has exactly one notification for each write: one too many is a
     * write that counted twice, or one of an earlier round. Then clears the counter. */
    bool exact(const share &x, int server)
    {
        const uint64_t want = j.opt.last_word ? 0 : x.all;
        uint64_t got = shmemx_notify_fetch((int)x.r.notify);
        if (got != want) {
            say(j.me, "count the pages of PE %d: %llu notifications instead of %llu", server,
                (unsigned long long)got, (unsigned long long)want);
            return false;
        }
        shmemx_notify_reset((int)x.r.notify, 0);
        return true;
    }

    /* Compares every byte. The buffers may be in GPU memory, which shmem_getmem reads, too. */
    bool same(const share &x)
    {
        for (const page &p : x.pages) {
            stream_page(want.data(), x.r.seed, p, j.opt.page_bytes);
            shmem_getmem(have.data(), j.buffers[p.buffer] + p.index * j.opt.page_bytes,
                         j.opt.page_bytes, j.me);
            for (size_t i = 0; i < want.size(); i++) {
                if (have[i] == want[i])
                    continue;
                say(j.me, "verify page %u of buffer %u: word %zu is 0x%016llx instead of 0x%016llx",
                    p.index, p.buffer, i, (unsigned long long)have[i], (unsigned long long)want[i]);
                return false;
            }
        }
        return true;
    }

    const job &j;
    std::vector<uint64_t> want, have; /* the words of a page as they must be, and as they are */
    uint64_t number = 0;              /* of the round, from 1 */
};

int ask(const job &j)
{
    client c(j);
    int status = c.run();
    c.bye();
    return status;
}

} // namespace pagedfill
