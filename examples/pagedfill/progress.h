/*
 * progress.h: a bar on stderr, where that is a terminal or the user asks for one. Below shmemrun
 * stderr is a pipe, which shmemrun passes on.
 */
#ifndef PAGEDFILL_PROGRESS_H
#define PAGEDFILL_PROGRESS_H

#include <cstdint>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace pagedfill
{

class progress
{
  public:
    /* A bar for `all` pages of bytes_of_page bytes. draws: this PE is the one that draws it. asked:
     * also if stderr is not a terminal. */
    progress(bool draws, bool asked, uint64_t all, uint64_t bytes_of_page)
        : shown(draws && (asked || isatty(STDERR_FILENO))), total(all), page_bytes(bytes_of_page)
    {
    }
    ~progress()
    {
        if (drawn)
            fputc('\n', stderr);
    }
    progress(const progress &) = delete;
    progress &operator=(const progress &) = delete;

    /* How many pages to wait for before the next call of draw: a fiftieth of them, so that the bar,
     * which has 40 places, does not jump; all of them without a bar. */
    uint64_t step() const
    {
        return shown ? total / 50 + 1 : total;
    }

    /* Draws the bar by one write: a launcher that passes on the output of several PEs could put
     * another PE's between two. */
    void draw(uint64_t done)
    {
        const uint64_t width = 40;
        if (!shown)
            return;
        drawn = true;
        std::string bar((size_t)(done * width / total), '#');
        bar.resize(width, '.');
        fprintf(stderr, "\r%s %3d%% of %.1f MB", bar.c_str(), (int)(done * 100 / total),
                (double)(total * page_bytes) / 1e6);
    }

  private:
    const bool shown;
    const uint64_t total, page_bytes;
    bool drawn = false;
};

} // namespace pagedfill

#endif
