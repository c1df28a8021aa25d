/*
 * server.cc: a request is checked whole before its first page is written, and a client that asks
 * for nonsense or vanishes costs the server one line.
 */
#include "server.h"

#include "protocol.h"

#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace pagedfill
{

/* Memory from which pages are put, and in which they stay until the network has read them. It has
 * two halves: one is filled while the pages of the other travel. Each half has a context, so that a
 * quiet waits for one half only. */
class stage
{
  public:
    stage()
    {
        for (half &h : halves) {
            h.bytes = static_cast<unsigned char *>(aligned_alloc(4096, HALF));
            if (h.bytes == nullptr || shmem_ctx_create(0, &h.ctx) != 0) {
                say(shmem_my_pe(), "make a stage for pages: no memory or no context left");
                shmem_global_exit(1);
            }
            memset(h.bytes, 0, HALF);
        }
    }
    stage(const stage &) = delete;
    stage &operator=(const stage &) = delete;

    /* Says whether the next pages must arrive in order. Then all of them are written on one
     * context, since there is no order between contexts. */
    void keep_order(bool kept)
    {
        if (kept == in_order)
            return;
        drain();
        in_order = kept;
    }

    /* Returns memory for the next page, and in *ctx the context to write it on. May wait until
     * earlier pages have left the memory. */
    unsigned char *next(size_t page_bytes, shmem_ctx_t *ctx)
    {
        half *h = &halves[which];
        if (h->used + page_bytes > HALF) {
            which = 1 - which;
            h = &halves[which];
            quiet(h);
        }
        unsigned char *place = h->bytes + h->used;
        h->used += page_bytes;
        *ctx = context(h);
        return place;
    }

    /* Waits until all pages are written. */
    void drain()
    {
        for (half &h : halves)
            quiet(&h);
    }

  private:
    struct half {
        unsigned char *bytes = nullptr;
        size_t used = 0;
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    };
    /* Bytes of a half: several pages travel at once even if they have the greatest size. */
    static constexpr size_t HALF = 2 * MAX_PAGE_BYTES;

    shmem_ctx_t context(const half *h) const
    {
        return in_order ? halves[0].ctx : h->ctx;
    }

    void quiet(half *h)
    {
        shmem_ctx_quiet(context(h));
        h->used = 0;
    }

    half halves[2];
    int which = 0; /* the half that is being filled */
    bool in_order = false;
};

class server
{
  public:
    explicit server(const job &the_job)
        : j(the_job), gone(j.opt.clients, false),
          capacity(sizeof(request) + MAX_PAGES * sizeof(page)), message(new unsigned char[capacity])
    {
    }

    void run()
    {
        while (std::find(gone.begin(), gone.end(), false) != gone.end())
            take();
        pages.drain();
    }

  private:
    static constexpr size_t MAX_PAGES = 65536;

    /* Receives one message and handles it. */
    void take()
    {
        int tag = SHMEMX_ANY_TAG, pe = SHMEMX_ANY_SOURCE;
        size_t nbytes = 0;
        if (shmemx_recv(message.get(), capacity, &tag, &pe, &nbytes) == 0) {
            if (tag == TAG_REQUEST)
                handle(pe, nbytes);
            else if (tag == TAG_LEAVE && j.is_client(pe))
                gone[(size_t)(pe - j.opt.servers)] = true;
            else
                refuse(pe, 0, "a message of tag %d is none of this protocol (tags are %d and %d)",
                       tag, TAG_REQUEST, TAG_LEAVE);
            return;
        }
        if (shmemx_last_error() == SHMEMX_ERROR_MESSAGE)
            take_away(pe, tag, nbytes);
        note_losses();
    }

    /* Receives and refuses a message that is too long for `message`. Without this, every later
     * receive would find it again and fail. */
    void take_away(int pe, int tag, size_t nbytes)
    {
        std::unique_ptr<unsigned char[]> all(new (std::nothrow) unsigned char[nbytes]);
        if (all == nullptr) {
            say(j.me, "take a message of %zu bytes of PE %d away: no memory", nbytes, pe);
            shmem_global_exit(1);
        }
        if (shmemx_recv(all.get(), nbytes, &tag, &pe, &nbytes) == 0)
            refuse(pe, 0, "%zu bytes are more than the %zu of %zu pages (ask for fewer at once)",
                   nbytes, capacity, MAX_PAGES);
    }

    void note_losses()
    {
        for (size_t c = 0; c < gone.size(); c++) {
            int pe = j.opt.servers + (int)c;
            if (gone[c] || shmem_pe_accessible(pe))
                continue;
            gone[c] = true;
            say(j.me, "client PE %d is lost; the others are served", pe);
        }
    }

    void refuse(int pe, uint32_t context, const char *format, ...)
        __attribute__((format(printf, 4, 5)))
    {
        answer a = {1, context, 0, ""};
        va_list args;
        va_start(args, format);
        vsnprintf(a.text, sizeof a.text, format, args);
        va_end(args);
        say(j.me, "refuse a request of PE %d: %s", pe, a.text);
        reply(pe, a);
    }

    /* Sends an answer, or drops it if the client does not receive its answers: such a client must
     * not block the server. */
    void reply(int pe, const answer &a)
    {
        if (shmemx_send_test(&a, sizeof a, TAG_ANSWER, pe) == 0)
            say(j.me,
                "answer PE %d: it has too many answers that it has not received; this one "
                "is dropped",
                pe);
    }

    /* Reports whether the server can do all that the request asks for; refuses it if not. */
    bool good(int pe, size_t nbytes, const request &r, const page *list)
    {
        const size_t wanted = sizeof r + (size_t)r.npages * sizeof *list;
        const size_t most = std::min(j.buffer_bytes, (size_t)MAX_PAGE_BYTES);
        const unsigned most_flags = FLAG_UNFILLED | FLAG_LAST_WORD;
        const uint32_t first = (uint32_t)j.notify, end = first + (uint32_t)j.opt.servers;
        if (r.magic != MAGIC)
            refuse(pe, r.context, "it begins with 0x%08x (a request begins with 0x%08x)", r.magic,
                   MAGIC);
        else if (r.npages == 0 || nbytes != wanted)
            refuse(pe, r.context,
                   "it has %zu bytes, but says %u pages (send 32 bytes and 8 for each page, 1 or "
                   "more)",
                   nbytes, r.npages);
        else if (r.page_bytes == 0 || r.page_bytes % 8 != 0 || r.page_bytes > most)
            refuse(pe, r.context, "its pages have %u bytes (a multiple of 8, up to %zu)",
                   r.page_bytes, most);
        else if (r.notify < first || r.notify >= end)
            refuse(pe, r.context, "notification %u is not the job's (these are %u to %u)", r.notify,
                   first, end - 1);
        else if (r.repeats == 0 || r.repeats > MAX_REPEATS || r.flags > most_flags)
            refuse(pe, r.context, "it asks for %u repeats (1 to %u), flags %u (0 to %u)", r.repeats,
                   MAX_REPEATS, r.flags, most_flags);
        else if ((r.flags & FLAG_LAST_WORD) != 0 && !shmemx_put_ordered(pe))
            refuse(pe, r.context,
                   "the path to PE %d keeps no order, so the word of the last page may come before "
                   "other pages (ask for notifications)",
                   pe);
        else
            return good_pages(pe, r, list);
        return false;
    }

    bool good_pages(int pe, const request &r, const page *list)
    {
        const uint64_t each = j.buffer_bytes / r.page_bytes;
        for (uint32_t i = 0; i < r.npages; i++) {
            if (list[i].buffer >= j.buffers.size()) {
                refuse(pe, r.context, "page %u is in buffer %u (there are buffers 0 to %zu)", i,
                       list[i].buffer, j.buffers.size() - 1);
                return false;
            }
            if (list[i].index >= each) {
                refuse(pe, r.context,
                       "page %u has index %u (a buffer has pages 0 to %llu of %u bytes)", i,
                       list[i].index, (unsigned long long)(each - 1), r.page_bytes);
                return false;
            }
        }
        return true;
    }

    void handle(int pe, size_t nbytes)
    {
        request r;
        if (!j.is_client(pe)) {
            refuse(pe, 0, "PE %d is a server (clients ask)", pe);
            return;
        }
        if (nbytes < sizeof r) {
            refuse(pe, 0, "%zu bytes are too few (a request has %zu and its pages)", nbytes,
                   sizeof r);
            return;
        }
        memcpy(&r, message.get(), sizeof r);
        const page *list = reinterpret_cast<const page *>(message.get() + sizeof r);
        if (!good(pe, nbytes, r, list))
            return;
        pages.keep_order((r.flags & FLAG_LAST_WORD) != 0);
        for (uint32_t k = 1; k <= r.repeats; k++)
            if (!write_pages(pe, r, list, k == r.repeats))
                return;
        answer a = {0, r.context, r.npages * r.repeats, ""};
        reply(pe, a);
    }

    /* Writes each page of a request once; last: for the last time. False: the client is lost. */
    bool write_pages(int pe, const request &r, const page *list, bool last)
    {
        const size_t check = 64; /* pages from one check whether the client is lost to the next */
        for (size_t i = 0; i < r.npages; i++) {
            if (i % check == 0 && !shmem_pe_accessible(pe)) {
                pages.drain();
                note_losses();
                return false;
            }
            shmem_ctx_t ctx;
            const page p = list[i];
            unsigned char *source = pages.next(r.page_bytes, &ctx);
            unsigned char *dest = j.buffers[p.buffer] + (size_t)p.index * r.page_bytes;
            if ((r.flags & FLAG_UNFILLED) == 0)
                stream_page(reinterpret_cast<uint64_t *>(source), r.seed, p, r.page_bytes);
            if ((r.flags & FLAG_LAST_WORD) == 0)
                shmemx_ctx_putmem_notify_nbi(ctx, dest, source, r.page_bytes, (int)r.notify, pe);
            else if (!last || i + 1 < r.npages)
                shmem_ctx_putmem_nbi(ctx, dest, source, r.page_bytes, pe);
            else
                shmem_ctx_putmem_signal_nbi(ctx, dest, source, r.page_bytes, &j.words[j.me],
                                            last_word(r.context), SHMEM_SIGNAL_SET, pe);
        }
        return true;
    }

    const job &j;
    stage pages;
    std::vector<bool> gone; /* by the number of the client: has left, or is lost */
    const size_t capacity;  /* bytes of message: the longest request */
    std::unique_ptr<unsigned char[]> message;
};

void serve(const job &j)
{
    server(j).run();
}

} // namespace pagedfill
