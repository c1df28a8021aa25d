/* Part of harness.c: what each operation does, as both its source and its target know it. */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* What operation i of a source does on a target in a context. */
enum kind { PUT, WEAK, STRONG, ALONE, GET };
struct plan {
    enum kind kind;
    size_t bytes;
};

static struct plan plan_of(int source, int target, int context, uint64_t i)
{
    static const size_t sizes[] = {8, 8, 8, 100, 4096, 4096, 9000, SLOT};
    uint64_t r = mix(
        seed ^ mix((uint64_t)source << 48 | (uint64_t)target << 40 | (uint64_t)context << 32 | i));
    struct plan p = {(enum kind)(r % 5), sizes[(r >> 8) % 8]};
    if (i % SLOTS == SLOTS - 1)
        p.kind = STRONG; /* what the slots before it need to be used again */
    if (p.kind == ALONE || (p.kind != STRONG && (r >> 16) % 8 == 0))
        p.bytes = 0;
    return p;
}

/* The byte that an operation puts everywhere in its slot. */
static char mark_of(int source, int context, uint64_t i)
{
    return (char)mix((uint64_t)source << 40 | (uint64_t)context << 32 | i);
}
