// The verbs API: names, values, status and errors are those of <infiniband/verbs.h>. Differences:
//   - every call names the software thread that makes it (`cpu&`), because the call takes that thread's simulated time
//   - addresses of the simulated process are std::uint64_t, not pointers
//   - a device is opened from the driver and the process's memory instead of from a device list
// Calls that return a pointer return nullptr and set errno on failure; calls that return int return 0 or an errno value, unless
// they say otherwise.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>

#include "models/driver/verbs/verbs_types.h"
#include "models/driver/verbs/work_types.h"
#include "tlm/base/units.h"

struct hca_mrc;

namespace hcasim {
class cpu;
namespace driver::peer {
class dma_buf;
}
}  // namespace hcasim

namespace hcasim::verbs {

// The device must be open (driver::device::open). One context is one process's use of it.
ibv_context* ibv_open_device(cpu& c, driver::device& device, virtual_memory& memory);
// Opens another function of the adapter (SR-IOV: its own keys and QPs; commands go through this driver). EINVAL: no such
// function.
ibv_context* hcax_open_function(cpu& c, driver::device& device, virtual_memory& memory, std::uint16_t function);
// Destroys what the process left behind, as the kernel does at the end of a process.
int ibv_close_device(cpu& c, ibv_context* context);
int ibv_query_device(cpu& c, ibv_context* context, ibv_device_attr* attr);
int ibv_query_port(cpu& c, ibv_context* context, std::uint8_t port_num, ibv_port_attr* attr);
int ibv_query_gid(cpu& c, ibv_context* context, std::uint8_t port_num, int index, ibv_gid* gid);
int hcax_query_clock(cpu& c, ibv_context* context, std::uint64_t* ticks);  // ibv_query_rt_values_ex: without the kernel
// Before the first registration: from then on memory given to the adapter must be kept from child processes.
int ibv_fork_init(ibv_context* context);

ibv_pd* ibv_alloc_pd(cpu& c, ibv_context* context);
int ibv_dealloc_pd(cpu& c, ibv_pd* pd);  // EBUSY while anything belongs to it

ibv_mr* ibv_reg_mr(cpu& c, ibv_pd* pd, std::uint64_t addr, std::uint64_t length, int access);
ibv_mr* ibv_reg_mr_iova(cpu& c, ibv_pd* pd, std::uint64_t addr, std::uint64_t length, std::uint64_t iova, int access);
// 0 or an ibv_rereg_mr_err_code, with errno. Keys may change: read them again.
int ibv_rereg_mr(cpu& c, ibv_mr* mr, int flags, ibv_pd* pd, std::uint64_t addr, std::uint64_t length, int access);
int ibv_dereg_mr(cpu& c, ibv_mr* mr);  // EBUSY with windows bound, ENOENT for a bogus handle
// The next key byte of the same index [A6].
inline std::uint32_t ibv_inc_rkey(std::uint32_t rkey) {
  return (rkey & ~0xffU) | ((rkey + 1) & 0xffU);
}
// On-demand regions (IBV_ACCESS_ON_DEMAND): nothing is pinned. Address 0 and length 2^64 - 1: the whole address space of the
// process. Not with windows or zero-based. Pages may be put in beforehand; FLUSH: all of them have been when the call returns
// 0. ENOENT: no such lkey; EINVAL: of another PD, or not on demand; EPERM: prefetch for writing without LOCAL_WRITE; EFAULT:
// out of the region or, with FLUSH, not mapped.
enum ibv_advise_mr_advice {
  IBV_ADVISE_MR_ADVICE_PREFETCH = 0,
  IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE = 1,
  IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT = 2,
};
enum ibv_advise_mr_flag { IBV_ADVISE_MR_FLAG_FLUSH = 1 << 0 };
int ibv_advise_mr(cpu& c, ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, const ibv_sge* sg_list, int num_sge);
// Reads the adapter's entry under the MR's key.
int hcax_query_mr(cpu& c, ibv_mr* mr, hca_mrc* out);
// Reads give zeros, what is written is discarded; peers may, too, if the adapter lets them (driver.null_mr). Any address.
// EOPNOTSUPP: there are none.
ibv_mr* ibv_alloc_null_mr(cpu& c, ibv_pd* pd);

// Memory on the adapter. ENOMEM: not so much is left. Offsets and lengths of copies are multiples of 4.
struct ibv_dm {
  ibv_context* context;
  std::uint64_t offset;  // in the adapter's memory
  std::uint64_t length;
};
ibv_dm* ibv_alloc_dm(cpu& c, ibv_context* context, std::uint64_t length);
int ibv_free_dm(cpu& c, ibv_dm* dm);  // EBUSY while a region uses it
int ibv_memcpy_to_dm(cpu& c, ibv_dm* dm, std::uint64_t dm_offset, std::uint64_t host_addr, std::uint64_t length);
int ibv_memcpy_from_dm(cpu& c, std::uint64_t host_addr, ibv_dm* dm, std::uint64_t dm_offset, std::uint64_t length);
// Always zero-based: `access` must say so. EINVAL also for an offset that is not on a page.
ibv_mr* ibv_reg_dm_mr(cpu& c, ibv_pd* pd, ibv_dm* dm, std::uint64_t dm_offset, std::uint64_t length, int access);

// Bytes [offset, offset + length) of a dma-buf, at VAs from `iova` on [F.7]. EBADF: no such descriptor; EINVAL: not inside the
// buffer, `iova` lies elsewhere in its page than `offset`, other rights than local write, remote read, write and atomic and
// relaxed ordering, or the buffer was revoked. How it is imported is the driver's `dma_buf` knob.
ibv_mr* ibv_reg_dmabuf_mr(cpu& c, ibv_pd* pd, std::uint64_t offset, std::uint64_t length, std::uint64_t iova, int fd,
                          int access);
// A file descriptor of the process for a buffer that an exporter has; and its end, which the buffer's regions survive.
int hcax_install_dma_buf(ibv_context* context, std::shared_ptr<driver::peer::dma_buf> buffer);
int hcax_close_dma_buf(ibv_context* context, int fd);  // EBADF

// Memory windows [C2.1, C.3]. EINVAL: no such type.
ibv_mw* ibv_alloc_mw(cpu& c, ibv_pd* pd, ibv_mw_type type);
int ibv_dealloc_mw(cpu& c, ibv_mw* mw);  // unbinds as well
// IBA's Query Memory Window, which libibverbs lacks [C2.4]. ENOENT: no such window.
int hcax_query_mw(cpu& c, ibv_mw* mw, hcax_mw_attr* attr);
// Type 1 only. EINVAL: another type, no MR with addr or length, zero-based; EPERM: the PDs differ; ENOTSUP: not a plain MR.
// Posts a request like ibv_post_send, and sets mw->rkey at once: on a completion with error the caller must restore it.
int ibv_bind_mw(cpu& c, ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* mw_bind);

// Verbs of the kernel's consumers. Errors as ibv_reg_mr.
ibv_mr* hcax_alloc_fast_mr(cpu& c, ibv_pd* pd, unsigned max_pages);             // ib_alloc_mr
int hcax_map_mr(cpu& c, ibv_mr* mr, std::uint64_t addr, std::uint64_t length);  // ib_map_mr_sg: while it is not valid
ibv_mr* hcax_alloc_physical_mr(cpu& c, ibv_pd* pd, int access);                 // ib_get_dma_mr: address = DMA address
int hcax_reserved_lkey(ibv_context* context, std::uint32_t* lkey);              // local_dma_lkey; EOPNOTSUPP: not configured
// A region made of pieces of others (mlx5dv_wr_mr_list): sg_list[i].lkey, judged whenever it is used, at VAs from `iova` on.
ibv_mr* hcax_reg_indirect_mr(cpu& c, ibv_pd* pd, const ibv_sge* sg_list, int num_sge, std::uint64_t iova, int access);

ibv_comp_channel* ibv_create_comp_channel(cpu& c, ibv_context* context);
int ibv_destroy_comp_channel(cpu& c, ibv_comp_channel* channel);  // EBUSY while a CQ uses it
ibv_cq* ibv_create_cq(cpu& c, ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector);
int ibv_destroy_cq(cpu& c, ibv_cq* cq);  // EBUSY while a QP uses it; waits for events to be acknowledged
int ibv_modify_cq(cpu& c, ibv_cq* cq, ibv_modify_cq_attr* attr);
int ibv_resize_cq(cpu& c, ibv_cq* cq, int cqe);  // EINVAL: more is there than would fit; EBUSY: it is being resized
int ibv_poll_cq(cpu& c, ibv_cq* cq, int num_entries, ibv_wc* wc);  // how many, or < 0
int ibv_req_notify_cq(cpu& c, ibv_cq* cq, int solicited_only);
int ibv_get_cq_event(cpu& c, ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);     // blocks; 0 or -1 with errno
bool hcax_take_cq_event(cpu& c, ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);  // false = none is there
void ibv_ack_cq_events(ibv_cq* cq, unsigned nevents);
// Sleeps until the CQ has something to poll; a polling loop without the cost of simulating each turn. False = timed out.
bool wait_cq(cpu& c, ibv_cq* cq, ps timeout = never);

int ibv_get_async_event(cpu& c, ibv_context* context, ibv_async_event* event);     // blocks; 0 or -1 with errno
bool hcax_take_async_event(cpu& c, ibv_context* context, ibv_async_event* event);  // false = none is there
void ibv_ack_async_event(ibv_async_event* event);

ibv_qp* ibv_create_qp(cpu& c, ibv_pd* pd, ibv_qp_init_attr* attr);  // updates attr->cap
ibv_qp* ibv_create_qp_ex(cpu& c, ibv_context* context, ibv_qp_init_attr_ex* attr);
int ibv_modify_qp(cpu& c, ibv_qp* qp, ibv_qp_attr* attr, int attr_mask);
int ibv_query_qp(cpu& c, ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr);
int ibv_destroy_qp(cpu& c, ibv_qp* qp);  // EBUSY while it is attached to multicast groups
// 0, or an errno value with *bad_wr the first request that was not posted: ENOMEM the queue is full, EINVAL a bad request.
int ibv_post_send(cpu& c, ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int ibv_post_recv(cpu& c, ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

// UD. A receive begins with 40 bytes for a global route header; byte_len counts them. EINVAL: no such port, service level or
// GID index; a multicast GID and no multicast LID, or the other way round.
ibv_ah* ibv_create_ah(cpu& c, ibv_pd* pd, ibv_ah_attr* attr);
int ibv_destroy_ah(cpu& c, ibv_ah* ah);
// The way back to who sent what was received. EINVAL: its GRH is for another port, or for a group.
int ibv_init_ah_from_wc(cpu& c, ibv_context* context, std::uint8_t port_num, const ibv_wc* wc, const ibv_grh* grh,
                        ibv_ah_attr* attr);

// A QP of UD gets what is sent to a group. EINVAL: another QP, no multicast GID or LID, or it is not attached.
int ibv_attach_mcast(cpu& c, ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid);
int ibv_detach_mcast(cpu& c, ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid);

// Receives that several QPs take from; their keys are judged by the PD of the SRQ.
ibv_srq* ibv_create_srq(cpu& c, ibv_pd* pd, ibv_srq_init_attr* attr);  // updates attr->attr
ibv_srq* ibv_create_srq_ex(cpu& c, ibv_context* context, ibv_srq_init_attr_ex* attr);
int ibv_get_srq_num(ibv_srq* srq, std::uint32_t* srq_num);  // XRC; EINVAL: a basic one
// The limit event comes once.
int ibv_modify_srq(cpu& c, ibv_srq* srq, ibv_srq_attr* attr, int mask);
int ibv_query_srq(cpu& c, ibv_srq* srq, ibv_srq_attr* attr);
int ibv_destroy_srq(cpu& c, ibv_srq* srq);  // EBUSY while a QP uses it
int ibv_post_srq_recv(cpu& c, ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

// XRC. A QP of XRC_RECV lives until the last of those who have opened it destroys it. EBUSY: something was made with it.
ibv_xrcd* ibv_open_xrcd(cpu& c, ibv_context* context, const ibv_xrcd_init_attr* attr);
int ibv_close_xrcd(cpu& c, ibv_xrcd* xrcd);
ibv_qp* ibv_open_qp(cpu& c, ibv_context* context, const ibv_qp_open_attr* attr);  // EINVAL: no XRC_RECV of the domain

const char* ibv_wc_status_str(ibv_wc_status status);

}  // namespace hcasim::verbs
