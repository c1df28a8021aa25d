/*
 * rules.c: which rules hold for a provider, version and fabric. The rows are those of rules.tsv.
 */
#define _GNU_SOURCE
#include "settings.h"

#include <rdma/fabric.h>
#include <string.h>

static const struct {
    const char *id, *provider, *fabric;
    uint32_t from, to;
    uint64_t value;
    const char *what;
} rows[RULES] = {RULE_ROWS};

/* Returns the value in a rule's row of rules.tsv (column answer): an error, flags, or a size. */
int64_t rule_value(enum rule_id id)
{
    return (int64_t)rows[id].value;
}

/* Reports whether the list of the setting without, such as R5,R6a, has a row: by its name, or R5
 * for all rows R5a, R5b and so on. */
static bool off(const char *without, const char *id)
{
    size_t digits = 1 + strspn(id + 1, "0123456789");
    for (const char *s = without; *s != 0;) {
        size_t n = strcspn(s, ",");
        if (strncmp(s, id, n) == 0 && (n == strlen(id) || n == digits))
            return true;
        s += n + (s[n] == ',');
    }
    return false;
}

/* Reports whether a row of rules.tsv is about this provider, version and fabric. */
static bool applies(const struct settings *s, enum kind kind, enum rule_id id)
{
    static const char *const providers[] = {"efa", "cxi", "verbs"};
    static const char *const fabrics[] = {"efa", "efa-direct", "cxi", "verbs"};
    if (strncmp(rows[id].provider, providers[s->provider], strlen(providers[s->provider])) != 0)
        return false;
    if (strcmp(rows[id].fabric, "*") != 0 && strcmp(rows[id].fabric, fabrics[kind]) != 0)
        return false;
    return s->release >= rows[id].from && s->release <= rows[id].to;
}

/* Reports whether the stub keeps a rule of its provider: a test may switch each off. */
bool rule(const struct settings *s, enum kind kind, enum rule_id id)
{
    return applies(s, kind, id) && !off(s->without, rows[id].id);
}

/* Reports whether a rule that is about this provider, version and fabric is switched off. */
bool without(const struct settings *s, enum kind kind, enum rule_id id)
{
    return applies(s, kind, id) && off(s->without, rows[id].id);
}
