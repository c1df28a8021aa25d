/*
 * liar: a client of examples/pagedfill that misbehaves.
 *
 *   liar lies|vanish|announce|deaf client OPTIONS OF PAGEDFILL
 *
 * lies: sends requests that must be refused, each by its name, and then a right one.
 * vanish: is killed when a quarter of its pages have come.
 * announce: is killed while the server receives a request.
 * deaf: receives none of the answers.
 */
#include "job.h"
#include "protocol.h"

#include <shmem.h>
#include <shmemx.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

using namespace pagedfill;

static int passed, failed;

static void check(bool good, const char *what, const std::string &is)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("%s: %s\n", what, is.c_str());
}

/* A right request for all of the pages. */
static request right(const job &j, std::vector<page> *pages)
{
    request r = {};
    r.magic = MAGIC;
    r.context = 0xc0ffee;
    r.seed = 77;
    r.page_bytes = (uint32_t)j.opt.page_bytes;
    r.notify = (uint32_t)j.notify;
    for (size_t i = 0; i < j.opt.pages; i++)
        pages->push_back({(uint32_t)(i % j.buffers.size()), (uint32_t)(i / j.buffers.size())});
    r.npages = (uint32_t)pages->size();
    r.repeats = 1;
    return r;
}

static std::vector<unsigned char> bytes(const request &r, const std::vector<page> &pages)
{
    std::vector<unsigned char> m(sizeof r + pages.size() * sizeof(page));
    memcpy(m.data(), &r, sizeof r);
    memcpy(m.data() + sizeof r, pages.data(), pages.size() * sizeof(page));
    return m;
}

static answer receive()
{
    answer a = {};
    int tag = TAG_ANSWER, pe = 0;
    if (shmemx_recv(&a, sizeof a, &tag, &pe, nullptr) != 0)
        snprintf(a.text, sizeof a.text, "no answer: %s", shmemx_last_error_text());
    return a;
}

static void refused(const std::vector<unsigned char> &m, int tag, uint32_t context,
                    const char *because)
{
    shmemx_send(m.data(), m.size(), tag, 0);
    answer a = receive();
    check(a.refused == 1 && strstr(a.text, because) != nullptr, because, a.text);
    check(a.context == context, because, "context " + std::to_string(a.context));
}

static void lies(const job &j)
{
    std::vector<page> pages;
    const request r = right(j, &pages);
    const auto good = bytes(r, pages);
    const uint32_t c = r.context;
    auto with = [&](auto change) {
        request x = r;
        std::vector<page> p = pages;
        change(x, p);
        return bytes(x, p);
    };
    using list = std::vector<page>;
    const std::vector<unsigned char> none, half(good.begin(), good.begin() + 31);

    refused(none, TAG_REQUEST, 0, "0 bytes are too few (a request has 32");
    refused(half, TAG_REQUEST, 0, "31 bytes are too few");
    refused({good.begin(), good.end() - 1}, TAG_REQUEST, c, "but says");
    refused({good.begin(), good.begin() + 32}, TAG_REQUEST, c, "it has 32 bytes, but says");
    refused(std::vector<unsigned char>(32 + 8 * 65536 + 1), TAG_REQUEST, 0,
            "524321 bytes are more than the 524320 of 65536 pages");
    refused(good, 9, 0, "a message of tag 9 is none of this protocol");
    refused(with([](request &x, list &) { x.magic++; }), TAG_REQUEST, c,
            "it begins with 0x4c494651");
    refused(with([](request &x, list &) { x.npages = 0; }), TAG_REQUEST, c, "but says 0 pages");
    refused(with([](request &x, list &) { x.npages++; }), TAG_REQUEST, c, "but says");
    refused(with([](request &x, list &) { x.npages = UINT32_MAX; }), TAG_REQUEST, c,
            "but says 4294967295 pages");
    refused(with([](request &x, list &) { x.page_bytes = 0; }), TAG_REQUEST, c,
            "its pages have 0 bytes");
    refused(with([](request &x, list &) { x.page_bytes = 9; }), TAG_REQUEST, c,
            "its pages have 9 bytes");
    refused(with([](request &x, list &) { x.page_bytes = 0xfffffff8; }), TAG_REQUEST, c,
            "its pages have 4294967288 bytes");
    refused(with([](request &x, list &) { x.notify--; }), TAG_REQUEST, c, "is not the job's");
    refused(with([&](request &x, list &) { x.notify += (uint32_t)j.opt.servers; }), TAG_REQUEST, c,
            "is not the job's");
    refused(with([](request &x, list &) { x.repeats = 1001; }), TAG_REQUEST, c,
            "it asks for 1001 repeats");
    refused(with([](request &x, list &) { x.repeats = 0; }), TAG_REQUEST, c,
            "it asks for 0 repeats");
    refused(with([](request &x, list &) { x.flags = 4; }), TAG_REQUEST, c, "flags 4");
    refused(with([&](request &, list &p) { p.back().buffer = (uint32_t)j.buffers.size(); }),
            TAG_REQUEST, c, (" is in buffer " + std::to_string(j.buffers.size())).c_str());
    refused(with([](request &, list &p) { p[1].index = UINT32_MAX; }), TAG_REQUEST, c,
            "page 1 has index 4294967295");
    refused(with([&](request &, list &p) {
                p[0].index = (uint32_t)(j.buffer_bytes / j.opt.page_bytes);
            }),
            TAG_REQUEST, c, "page 0 has index");

    /* Nothing has been written or counted, and the next request is served. */
    size_t written = 0;
    std::vector<unsigned char> is(j.buffer_bytes);
    for (unsigned char *b : j.buffers) {
        shmem_getmem(is.data(), b, is.size(), j.me);
        for (unsigned char byte : is)
            written += byte != 0;
    }
    check(written == 0, "bytes written", std::to_string(written));
    check(shmemx_notify_fetch(j.notify) == 0, "counted", "not 0");
    shmemx_send(good.data(), good.size(), TAG_REQUEST, 0);
    answer a = receive();
    check(a.refused == 0 && a.context == c && a.npages == r.npages, "a right request", a.text);
    check(shmemx_notify_wait(j.notify, r.npages) == r.npages, "counted after all", "not the pages");

    /* The words are those of the definition, which the server computes several at a time. */
    size_t wrong = 0;
    std::vector<uint64_t> words(j.opt.page_bytes / 8);
    for (const page &p : pages) {
        const size_t first = p.index * words.size();
        shmem_getmem(words.data(), j.buffers[p.buffer] + first * 8, j.opt.page_bytes, j.me);
        for (size_t i = 0; i < words.size(); i++)
            wrong += words[i] != stream_word(r.seed + p.buffer, first + i);
    }
    check(wrong == 0, "wrong words", std::to_string(wrong));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const std::string what = argv[1];
    job j(parse(argc - 1, argv + 1));
    std::vector<page> pages;
    request r = right(j, &pages);
    if (what == "lies") {
        lies(j);
    } else if (what == "vanish") {
        r.repeats = 50; /* so that the server is still writing */
        auto m = bytes(r, pages);
        shmemx_send(m.data(), m.size(), TAG_REQUEST, 0);
        shmemx_notify_wait(j.notify, (r.npages + 3) / 4);
        kill(getpid(), SIGKILL);
    } else if (what == "announce") {
        std::vector<unsigned char> m(32 << 20); /* too long, and announced only */
        int sent = shmemx_send_test(m.data(), m.size(), TAG_REQUEST, 0);
        check(sent == 0, "announced", std::to_string(sent));
        usleep(100000);
        kill(getpid(), SIGKILL);
    } else if (what == "deaf") {
        for (int i = 0; i < 1000; i++)
            shmemx_send(&r, 8, TAG_REQUEST, 0);
        passed++;
    } else {
        return 2;
    }
    shmemx_send(nullptr, 0, TAG_LEAVE, 0);
    printf("%d passed, %d failed\n", passed, failed);
    j.leave();
    return failed > 0;
}
