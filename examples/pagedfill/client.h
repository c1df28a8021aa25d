/*
 * client.h: asks the servers for pages, waits for them, and compares every byte.
 */
#ifndef PAGEDFILL_CLIENT_H
#define PAGEDFILL_CLIENT_H

#include "job.h"

namespace pagedfill
{

/* All rounds of a client; the exit status. */
int ask(const job &j);

} // namespace pagedfill

#endif
