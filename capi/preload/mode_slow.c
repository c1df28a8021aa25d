/*
 * mode_slow.c: calls take longer, on all PEs or on one: slow:CALL=TIME[,CALL=TIME...][,pe=PE].
 *
 * The mode sleeps before the call. So a PE is late for a barrier, or a message arrives late, on
 * which a correct program does not depend. The mode reports nothing: a bug shows in the program's
 * result, and late PEs show in the library's reports.
 */
#define _GNU_SOURCE
#include "delayed.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define RULES 16

/* CALL=TIME of the setting. */
static struct {
    const char *pattern; /* of names of calls, as fnmatch takes it */
    long nanoseconds;
} rules[RULES];
static int n_rules, only_pe = -1;      /* the PE of pe=; -1: all PEs */
static uint8_t rule_of[PRELOAD_CALLS]; /* 0: no rule; or the number of the rule, from 1 */

/* Parses the options of the mode: CALL=TIME makes a rule that delays the calls whose names match
 * the pattern CALL, and pe=PE restricts the mode to one PE. The first rule that matches a call
 * counts. Returns what is wrong, or NULL. */
static const char *parse(char *text)
{
    if (*text == ':')
        *text = ',';
    char *key, *value;
    while ((key = preload_option(&text, &value)) != NULL) {
        char *end;
        if (!value || !*value)
            return "each CALL needs a TIME";
        if (strcmp(key, "pe") == 0) {
            only_pe = (int)strtol(value, &end, 10);
            if (*end || only_pe < 0)
                return "pe is not the number of a PE";
            continue;
        }
        if (n_rules == RULES)
            return "it has room for 16 calls (use * in a name)";
        long time = delayed_time(value);
        if (time < 0)
            return "a TIME is a number with ns, us, ms or s, an hour at most";
        rules[n_rules].pattern = key;
        rules[n_rules++].nanoseconds = time;
    }
    if (n_rules == 0)
        return "it needs at least one CALL=TIME";
    for (int r = 0; r < n_rules; r++) {
        bool any = false;
        for (unsigned i = 0; i < PRELOAD_CALLS; i++)
            if (fnmatch(rules[r].pattern, preload_name(i), 0) == 0) {
                any = true;
                if (!rule_of[i])
                    rule_of[i] = (uint8_t)(r + 1);
            }
        if (!any)
            return "no call has such a name";
    }
    return NULL;
}

/* Called before each call: sleeps if there is a rule for the call. Returns true: the call is made.
 */
static bool before(struct preload_frame *f)
{
    int rule = rule_of[f->number];
    if (rule && (only_pe < 0 || only_pe == delayed_pe()))
        delayed_pause(rules[rule - 1].nanoseconds);
    return true;
}

/* Called after each call: at init and finalize, records whether the process is in a job, so that
 * pe= can be compared with this PE's number. */
static void after(struct preload_frame *f)
{
    int kind = preload_calls[f->number].kind;
    if (kind == PRELOAD_KIND_INIT || kind == PRELOAD_KIND_FINALIZE)
        delayed_set_running(f, kind == PRELOAD_KIND_INIT);
}

const struct preload_mode preload_slow = {
    .word = "slow",
    .form = "slow:CALL=TIME[,CALL=TIME][,pe=PE]",
    .set = parse,
    .before = before,
    .after = after,
};
