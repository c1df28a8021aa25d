/* go.h: a PE that blocks another one continues when the test has read the report of the wait. */
#ifndef GO_H
#define GO_H

#include <stdlib.h>
#include <unistd.h>

__attribute__((unused)) static int may_go(void)
{
    const char *file = getenv("GO");
    return file == NULL || access(file, F_OK) == 0;
}

__attribute__((unused)) static void await_go(void)
{
    for (int i = 0; i < 6000 && !may_go(); i++)
        usleep(10 * 1000);
}

#endif
