/*
 * offers.h: rules about the offers of fi_getinfo, and the attributes of the domain.
 */
#ifndef OFFERS_H
#define OFFERS_H

#include "side.h"

static void order(uint64_t asked)
{
    struct fi_info *h = hints();
    h->tx_attr->msg_order = h->rx_attr->msg_order = asked;
    int ret = ask(h);
    if (ret == 0 && info->tx_attr->msg_order == (asked & FI_ORDER_SAS))
        say("what was asked");
    say(ret == 0 ? "more" : named(ret));
}

static void orders(void)
{
    order(FI_ORDER_SAS | FI_ORDER_WAW);
}

static void granted(void)
{
    order(FI_ORDER_SAS);
}

static void none_granted(void)
{
    order(0);
}

/* The offer to a program that asks for nothing, which is granted nothing else. */
static void order_offered(void)
{
    static const struct {
        uint64_t flag;
        const char *name;
    } names[] = {{FI_ORDER_SAS, "SAS"},
                 {FI_ORDER_SAW, "SAW"},
                 {FI_ORDER_WAS, "WAS"},
                 {FI_ORDER_WAW, "WAW"},
                 {FI_ORDER_RAW, "RAW"},
                 {FI_ORDER_RMA_WAW, "RMA_WAW"},
                 {FI_ORDER_RMA_RAR, "RMA_RAR"},
                 {FI_ORDER_ATOMIC_RAR, "ATOMIC_RAR"},
                 {FI_ORDER_ATOMIC_RAW, "ATOMIC_RAW"},
                 {FI_ORDER_ATOMIC_WAR, "ATOMIC_WAR"},
                 {FI_ORDER_ATOMIC_WAW, "ATOMIC_WAW"}};
    char text[256] = "order:";
    must(fi_getinfo(api, NULL, NULL, 0, NULL, &info), "fi_getinfo");
    while (fabric != NULL && strcmp(info->fabric_attr->name, fabric) != 0)
        info = info->next;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (info->tx_attr->msg_order & names[i].flag) {
            strcat(text, " ");
            strcat(text, names[i].name);
        }
    say(text);
}

static void first(void)
{
    must(ask(hints()), "fi_getinfo");
    say(info->fabric_attr->name);
}

/* The fabrics of all infos in their order. */
static void fabrics(void)
{
    char text[256] = "";
    must(ask(hints()), "fi_getinfo");
    for (const struct fi_info *i = info; i != NULL; i = i->next) {
        if (i != info)
            strcat(text, " ");
        strcat(text, i->fabric_attr->name);
    }
    say(text);
}

static void domain_name(void)
{
    must(ask(hints()), "fi_getinfo");
    say(info->domain_attr->name);
}

static void key_size(void)
{
    must(ask(hints()), "fi_getinfo");
    say_number((long)info->domain_attr->mr_key_size);
}

static void inject_size(void)
{
    must(ask(hints()), "fi_getinfo");
    say_number((long)info->tx_attr->inject_size);
}

static void rma_offered(void)
{
    say(named(ask(hints())));
}

static void hmem(bool registers)
{
    struct fi_info *h = hints();
    h->caps |= FI_HMEM;
    if (registers)
        h->domain_attr->mr_mode |= FI_MR_HMEM;
    say(named(ask(h)));
}

static void hmem_bare(void)
{
    hmem(false);
}

static void hmem_whole(void)
{
    hmem(true);
}

static void hmem_old(void)
{
    api = FI_VERSION(1, 17);
    hmem(true);
}

static void open_it(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    say("opened");
}

static void forks(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    say("forked");
}

static const struct what offers[] = {
    {"orders", orders},
    {"granted", granted},
    {"none-granted", none_granted},
    {"order-offered", order_offered},
    {"first", first},
    {"fabrics", fabrics},
    {"domain-name", domain_name},
    {"key-size", key_size},
    {"inject-size", inject_size},
    {"rma-offered", rma_offered},
    {"hmem-mode", hmem_bare},
    {"hmem", hmem_whole},
    {"hmem-old", hmem_old},
    {"open", open_it},
    {"fork", forks},
    {NULL, NULL},
};

#endif
