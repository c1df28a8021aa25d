/*
 * settings.c: reads the settings in FAKE_NIC.
 */
#define _GNU_SOURCE
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value of KEY= in the settings of the variable FAKE_NIC, which are separated by
 * blanks, or NULL. */
static const char *find(const char *key)
{
    const char *s = getenv("FAKE_NIC");
    size_t n = strlen(key);
    while (s != NULL && *s != 0) {
        if (strncmp(s, key, n) == 0 && s[n] == '=')
            return s + n + 1;
        s = strchr(s, ' ');
        s += s != NULL;
    }
    return NULL;
}

/* Returns the present value of KEY=, or `otherwise`. */
long setting(const char *key, long otherwise)
{
    const char *s = find(key);
    return s != NULL ? strtol(s, NULL, 10) : otherwise;
}

/* Copies the value of the setting `key`, or "", to text; a value that is too long is cut. */
void setting_text(const char *key, char *text, size_t len)
{
    const char *s = find(key);
    size_t n = s != NULL ? strcspn(s, " ") : 0;
    n = n < len ? n : len - 1;
    memcpy(text, s != NULL ? s : "", n);
    text[n] = 0;
}

/* Reports whether KEY= has this value. */
static bool setting_is(const char *key, const char *value)
{
    char text[32];
    setting_text(key, text, sizeof text);
    return strcmp(text, value) == 0;
}

/*
 * Reads all settings that stay the same while a fabric is open. version=2.1 is the libfabric whose
 * provider the stub imitates; minor=N is another way to write version=1.N. Without both
 * settings the version is 2.6 for efa, 2.3 for cxi and 1.22 for verbs.
 */
void settings_read(struct settings *s)
{
    char text[32];
    unsigned major = 2, minor = 6;
    memset(s, 0, sizeof *s);
    setting_text("provider", text, sizeof text);
    if (strcmp(text, "cxi") == 0)
        s->provider = CXI, minor = 3;
    else if (strncmp(text, "verbs", 5) == 0)
        s->provider = VERBS, major = 1, minor = 22;
    setting_text("version", text, sizeof text);
    if (sscanf(text, "%u.%u", &major, &minor) != 2 && setting("minor", 0) > 0)
        major = 1, minor = (unsigned)setting("minor", 0);
    s->release = RELEASE(major, minor);
    s->nics = (uint32_t)setting("nics", 1);
    s->seed = (uint64_t)setting("seed", 1);
    s->again = (uint64_t)setting("again", 0);
    s->unsolicited = setting("unsolicited", 1) != 0;
    s->p2p = !setting_is("p2p", "no");
    s->in_order = setting("inorder", 0) != 0;
    s->loads_cuda = setting_is("cuda", "look");
    s->old_fork = setting_is("fork", "old");
    s->one_host = setting_is("host", "one");
    s->flush = setting("flush", 0) != 0;
    setting_text("part", text, sizeof text);
    s->part = *text != 0 ? (uint32_t)strtoul(text, NULL, 16) : 0xefa1;
    s->all_fail = setting("sick", 0) != 0;
    s->dies = (uint32_t)setting("dies", 0);
    s->dies_at = (uint64_t)setting("dies_at", 0);
    setting_text("gone", text, sizeof text);
    s->lost_status = strcmp(text, "silent") == 0  ? R15k_VALUE
                     : strcmp(text, "never") == 0 ? R15m_VALUE
                                                  : R15j_VALUE;
    setting_text("without", s->without, sizeof s->without);
    s->max_cq =
        (uint64_t)setting("max_cq", without(s, KIND_EFA, R3b) ? UINT32_MAX : rule_value(R3b));
}
