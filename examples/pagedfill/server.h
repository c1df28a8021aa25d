/*
 * server.h: takes requests, and writes the pages that they ask for.
 */
#ifndef PAGEDFILL_SERVER_H
#define PAGEDFILL_SERVER_H

#include "job.h"

namespace pagedfill
{

/* Serves until every client has left or is lost. */
void serve(const job &j);

} // namespace pagedfill

#endif
