/*
 * closes.c: opens all there is on every NIC and closes it, with and without a wait object.
 */
#include <stdio.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

int main(void)
{
    struct fi_info *list;
    int opened = 0, failed = 0;
    if (fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, NULL, &list) != 0)
        return 1;
    for (struct fi_info *i = list; i != NULL; i = i->next) {
        for (enum fi_wait_obj wait = FI_WAIT_NONE; wait <= FI_WAIT_FD;
             wait += FI_WAIT_FD - FI_WAIT_NONE) {
            struct fid_fabric *fabric;
            struct fid_domain *domain;
            struct fid_cq *cq;
            struct fid_av *av;
            struct fid_ep *ep;
            struct fi_cq_attr q = {.size = 64, .wait_obj = wait};
            struct fi_av_attr v = {.type = FI_AV_TABLE};
            failed += fi_fabric(i->fabric_attr, &fabric, NULL) != 0;
            failed += fi_domain(fabric, i, &domain, NULL) != 0;
            if (fi_cq_open(domain, &q, &cq, NULL) == 0) {
                failed += fi_av_open(domain, &v, &av, NULL) != 0;
                failed += fi_endpoint(domain, i, &ep, NULL) != 0;
                failed += fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) != 0;
                failed += fi_ep_bind(ep, &av->fid, 0) != 0;
                failed += fi_enable(ep) != 0;
                failed += fi_close(&domain->fid) == 0; /* it is in use */
                failed += fi_close(&ep->fid) != 0;
                failed += fi_close(&av->fid) != 0;
                failed += fi_close(&cq->fid) != 0;
                opened++;
            }
            failed += fi_close(&domain->fid) != 0;
            failed += fi_close(&fabric->fid) != 0;
        }
    }
    fi_freeinfo(list);
    printf("%d opened, %d failed\n", opened, failed);
    return opened == 0 || failed > 0;
}
