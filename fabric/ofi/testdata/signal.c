/*
 * signal.c: whether fi_trywait undoes the effect of a completion on the descriptor of a completion
 * queue (FI_WAIT_FD), for each provider of reliable datagrams. It uses libfabric alone.
 *
 * fi_cq_signal does the same as a completion: it makes the descriptor readable. fi_trywait then has
 * to make it unreadable again, or a thread that waits for it as fi_poll(3) says, trywait and then
 * poll, does not sleep from the first completion on.
 *
 * A line for each provider: its name, and "taken back", "stays", or "none" where the queue has no
 * descriptor or no signal.
 */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Reports whether a descriptor is readable now. */
static int readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Returns the text of a provider's line. */
static const char *verdict(struct fid_fabric *fabric, struct fid_domain *domain)
{
    struct fi_cq_attr attr = {.size = 64, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    struct fi_cq_msg_entry entry;
    struct fid_cq *queue;
    const char *say = "none";
    int fd = -1;
    if (fi_cq_open(domain, &attr, &queue, NULL) != 0)
        return say;
    struct fid *fid = &queue->fid;
    if (fi_trywait(fabric, &fid, 1) == 0 && fi_control(fid, FI_GETWAIT, &fd) == 0 &&
        !readable(fd) && fi_cq_signal(queue) == 0 && readable(fd) &&
        fi_cq_read(queue, &entry, 1) == -FI_EAGAIN && fi_trywait(fabric, &fid, 1) == 0)
        say = readable(fd) ? "stays" : "taken back";
    fi_close(fid);
    return say;
}

int main(void)
{
    struct fi_info *hints = fi_allocinfo(), *list;
    if (hints == NULL)
        return 1;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    int ret = fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &list);
    if (ret != 0) {
        fprintf(stderr, "fi_getinfo: %s\n", fi_strerror(-ret));
        return 1;
    }
    const char *last = "";
    for (const struct fi_info *i = list; i != NULL; i = i->next) {
        struct fid_fabric *fabric;
        struct fid_domain *domain;
        if (strcmp(last, i->fabric_attr->prov_name) == 0)
            continue;
        last = i->fabric_attr->prov_name;
        if (fi_fabric(i->fabric_attr, &fabric, NULL) != 0)
            continue;
        if (fi_domain(fabric, (struct fi_info *)i, &domain, NULL) == 0) {
            printf("%s: %s\n", last, verdict(fabric, domain));
            fi_close(&domain->fid);
        }
        fi_close(&fabric->fid);
    }
    fi_freeinfo(list);
    fi_freeinfo(hints);
    return 0;
}
