// Arguments and results of the verbs: values, objects and their attributes, events. Names and numbers are those of
// <infiniband/verbs.h>.
#pragma once

#include <cstdint>

namespace hcasim {
class virtual_memory;
namespace driver {
class device;
}
}  // namespace hcasim

namespace hcasim::verbs {

enum ibv_access_flags {
  IBV_ACCESS_LOCAL_WRITE = 1 << 0,
  IBV_ACCESS_REMOTE_WRITE = 1 << 1,
  IBV_ACCESS_REMOTE_READ = 1 << 2,
  IBV_ACCESS_REMOTE_ATOMIC = 1 << 3,
  IBV_ACCESS_MW_BIND = 1 << 4,
  IBV_ACCESS_ZERO_BASED = 1 << 5,
  IBV_ACCESS_ON_DEMAND = 1 << 6,
  IBV_ACCESS_HUGETLB = 1 << 7,
  IBV_ACCESS_FLUSH_GLOBAL = 1 << 8,
  IBV_ACCESS_FLUSH_PERSISTENT = 1 << 9,
  IBV_ACCESS_RELAXED_ORDERING = 1 << 20,
  IBV_ACCESS_OPTIONAL_RANGE = 0x3ff00000,
};

enum ibv_rereg_mr_flags {
  IBV_REREG_MR_CHANGE_TRANSLATION = 1 << 0,
  IBV_REREG_MR_CHANGE_PD = 1 << 1,
  IBV_REREG_MR_CHANGE_ACCESS = 1 << 2,
  IBV_REREG_MR_FLAGS_SUPPORTED = (1 << 3) - 1,
};

enum ibv_rereg_mr_err_code {
  IBV_REREG_MR_ERR_INPUT = -1,                // nothing changed
  IBV_REREG_MR_ERR_DONT_FORK_NEW = -2,        // nothing changed
  IBV_REREG_MR_ERR_DO_FORK_OLD = -3,          // the new registration is valid
  IBV_REREG_MR_ERR_CMD = -4,                  // the MR must not be used, but must be de-registered
  IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW = -5,  // likewise
};

enum ibv_qp_type { IBV_QPT_RC = 2, IBV_QPT_UC = 3, IBV_QPT_UD = 4, IBV_QPT_XRC_SEND = 9, IBV_QPT_XRC_RECV = 10 };

enum ibv_qp_state {
  IBV_QPS_RESET = 0,
  IBV_QPS_INIT = 1,
  IBV_QPS_RTR = 2,
  IBV_QPS_RTS = 3,
  IBV_QPS_SQD = 4,
  IBV_QPS_SQE = 5,
  IBV_QPS_ERR = 6,
  IBV_QPS_UNKNOWN = 7,
};

enum ibv_mtu { IBV_MTU_256 = 1, IBV_MTU_512 = 2, IBV_MTU_1024 = 3, IBV_MTU_2048 = 4, IBV_MTU_4096 = 5 };

enum ibv_qp_attr_mask {
  IBV_QP_STATE = 1 << 0,
  IBV_QP_CUR_STATE = 1 << 1,
  IBV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
  IBV_QP_ACCESS_FLAGS = 1 << 3,
  IBV_QP_PKEY_INDEX = 1 << 4,
  IBV_QP_PORT = 1 << 5,
  IBV_QP_QKEY = 1 << 6,
  IBV_QP_AV = 1 << 7,
  IBV_QP_PATH_MTU = 1 << 8,
  IBV_QP_TIMEOUT = 1 << 9,
  IBV_QP_RETRY_CNT = 1 << 10,
  IBV_QP_RNR_RETRY = 1 << 11,
  IBV_QP_RQ_PSN = 1 << 12,
  IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
  IBV_QP_ALT_PATH = 1 << 14,
  IBV_QP_MIN_RNR_TIMER = 1 << 15,
  IBV_QP_SQ_PSN = 1 << 16,
  IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
  IBV_QP_PATH_MIG_STATE = 1 << 18,
  IBV_QP_CAP = 1 << 19,
  IBV_QP_DEST_QPN = 1 << 20,
};

enum ibv_mw_type { IBV_MW_TYPE_1 = 1, IBV_MW_TYPE_2 = 2 };

enum ibv_event_type {
  IBV_EVENT_CQ_ERR = 0,
  IBV_EVENT_QP_FATAL = 1,
  IBV_EVENT_QP_REQ_ERR = 2,
  IBV_EVENT_QP_ACCESS_ERR = 3,
  IBV_EVENT_SQ_DRAINED = 5,
  IBV_EVENT_DEVICE_FATAL = 8,
  IBV_EVENT_PORT_ACTIVE = 9,
  IBV_EVENT_PORT_ERR = 10,
  IBV_EVENT_SRQ_ERR = 14,
  IBV_EVENT_SRQ_LIMIT_REACHED = 15,
  IBV_EVENT_QP_LAST_WQE_REACHED = 16,
};

enum ibv_port_state { IBV_PORT_NOP = 0, IBV_PORT_DOWN = 1, IBV_PORT_ACTIVE = 4 };

struct ibv_context {
  driver::device* device;
  virtual_memory* memory;
  int num_comp_vectors;
  // Memory of the driver's queues: `memory`, unless another one is set before the first object.
  virtual_memory* queue_memory = nullptr;
  // Peer-Direct as first proposed: the client of the memory that is registered next, and the message to that client. A name
  // counts if it is set.
  const char* peer_mem_name = nullptr;
  void* peer_mem_private_data = nullptr;
};

struct ibv_pd {
  ibv_context* context;
  std::uint32_t handle;
};

struct ibv_mr {
  ibv_context* context;
  ibv_pd* pd;
  std::uint64_t addr;
  std::uint64_t length;
  std::uint32_t handle;
  std::uint32_t lkey;
  std::uint32_t rkey;
};

struct ibv_mw {
  ibv_context* context;
  ibv_pd* pd;
  std::uint32_t rkey;  // type 1: kept up to date by ibv_bind_mw; type 2: the consumer's, who composes index and key byte
  std::uint32_t handle;
  ibv_mw_type type;
};

// The adapter's entry of a window. Not bound: nothing can be reached, and of the others only type and key count.
struct hcax_mw_attr {
  ibv_mw_type type;
  bool bound;
  std::uint32_t rkey;  // as it is now
  std::uint32_t lkey;  // of the region
  std::uint64_t addr;  // the first that a peer names: 0 of a zero-based window
  std::uint64_t length;
  unsigned access;
  std::uint32_t qp_num;  // bound type 2 windows
};

struct ibv_mw_bind_info {
  ibv_mr* mr;
  std::uint64_t addr;
  std::uint64_t length;
  unsigned mw_access_flags;
};

struct ibv_mw_bind {
  std::uint64_t wr_id;
  unsigned send_flags;
  ibv_mw_bind_info bind_info;
};

struct ibv_comp_channel {
  ibv_context* context;
  std::uint32_t handle;
  int refcnt;
};

struct ibv_cq {
  ibv_context* context;
  ibv_comp_channel* channel;
  void* cq_context;
  std::uint32_t handle;
  int cqe;
};

struct ibv_srq {
  ibv_context* context;
  void* srq_context;
  ibv_pd* pd;
  std::uint32_t handle;
};

struct ibv_srq_attr {
  std::uint32_t max_wr;
  std::uint32_t max_sge;
  std::uint32_t srq_limit;  // 0 = no event
};

enum ibv_srq_type { IBV_SRQT_BASIC = 0, IBV_SRQT_XRC = 1 };

// An opening of a domain of XRC: the domain's target QPs take receives from its SRQs, whichever process made which.
struct ibv_xrcd {
  ibv_context* context;
  std::uint32_t handle;
};

struct ibv_xrcd_init_attr {
  std::uint64_t file;  // the file that all its openings share, among the processes of a host; 0 = it cannot be opened again
  bool create;         // if it does not exist; otherwise that is EAGAIN
  bool exclusive;      // EINVAL if it exists
};

struct ibv_srq_init_attr {
  void* srq_context;
  ibv_srq_attr attr;
};

struct ibv_srq_init_attr_ex : ibv_srq_init_attr {
  ibv_srq_type srq_type;
  ibv_pd* pd;
  ibv_xrcd* xrcd;  // XRC, as the next
  ibv_cq* cq;      // of its completions
};

enum ibv_srq_attr_mask { IBV_SRQ_MAX_WR = 1 << 0, IBV_SRQ_LIMIT = 1 << 1 };

struct ibv_qp {
  ibv_context* context;
  void* qp_context;
  ibv_pd* pd;
  ibv_cq* send_cq;
  ibv_cq* recv_cq;
  ibv_srq* srq;
  std::uint32_t handle;
  std::uint32_t qp_num;
  ibv_qp_state state;
  ibv_qp_type qp_type;
};

enum ibv_atomic_cap { IBV_ATOMIC_NONE, IBV_ATOMIC_HCA, IBV_ATOMIC_GLOB };

enum ibv_device_cap_flags {
  IBV_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
  IBV_DEVICE_RC_RNR_NAK_GEN = 1 << 12,
  IBV_DEVICE_SRQ_RESIZE = 1 << 13,
  IBV_DEVICE_MEM_WINDOW = 1 << 17,
  IBV_DEVICE_XRC = 1 << 20,
  IBV_DEVICE_MEM_MGT_EXTENSIONS = 1 << 21,
  IBV_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24,
};

struct ibv_device_attr {
  char fw_ver[64];
  std::uint64_t node_guid;  // of the host's byte order, as the port's GUID is
  std::uint64_t max_mr_size;
  std::uint64_t page_size_cap;
  std::uint32_t vendor_id;
  std::uint32_t vendor_part_id;
  std::uint32_t hw_ver;
  unsigned device_cap_flags;
  ibv_atomic_cap atomic_cap;
  int max_qp;
  int max_qp_wr;
  int max_sge;
  int max_cq;
  int max_cqe;
  int max_mr;
  int max_mw;
  int max_fast_reg_page_list_len;
  int max_pd;
  int max_ah;
  int max_mcast_grp;
  int max_mcast_qp_attach;
  int max_total_mcast_qp_attach;
  int max_srq;
  int max_srq_wr;
  int max_srq_sge;
  int max_qp_rd_atom;
  int max_qp_init_rd_atom;
  int phys_port_cnt;
  std::uint32_t odp_general_caps;  // enum ibv_odp_general_caps
};

enum ibv_odp_general_caps { IBV_ODP_SUPPORT = 1 << 0, IBV_ODP_SUPPORT_IMPLICIT = 1 << 1 };

struct ibv_port_attr {
  ibv_port_state state;
  ibv_mtu max_mtu;
  ibv_mtu active_mtu;
  std::uint16_t lid;
};

struct ibv_qp_cap {
  std::uint32_t max_send_wr;
  std::uint32_t max_recv_wr;
  std::uint32_t max_send_sge;
  std::uint32_t max_recv_sge;
  std::uint32_t max_inline_data;
};

struct ibv_qp_init_attr {
  void* qp_context;
  ibv_cq* send_cq;
  ibv_cq* recv_cq;
  ibv_srq* srq;  // instead of a receive queue, or nullptr
  ibv_qp_cap cap;
  ibv_qp_type qp_type;
  int sq_sig_all;
  unsigned create_flags = 0;  // HCAX_QP_PRIVILEGED
};

// A QP of the operating system: may use the reserved L_Key and IBV_WR_REG_MR.
enum { HCAX_QP_PRIVILEGED = 1 << 0 };

struct ibv_qp_init_attr_ex : ibv_qp_init_attr {
  ibv_pd* pd;
  ibv_xrcd* xrcd;  // XRC_RECV, which has neither PD nor CQs
};

struct ibv_qp_open_attr {
  ibv_xrcd* xrcd;
  std::uint32_t qp_num;
  void* qp_context;
};

struct ibv_gid {
  std::uint8_t raw[16];  // as on the wire
};

struct ibv_global_route {
  ibv_gid dgid;
  std::uint32_t flow_label;
  std::uint8_t sgid_index;
  std::uint8_t hop_limit;
  std::uint8_t traffic_class;
};

// The header itself, big-endian.
struct ibv_grh {
  std::uint32_t version_tclass_flow;
  std::uint16_t paylen;
  std::uint8_t next_hdr;
  std::uint8_t hop_limit;
  ibv_gid sgid;
  ibv_gid dgid;
};

struct ibv_ah_attr {
  std::uint16_t dlid;
  std::uint8_t sl;
  std::uint8_t port_num;
  std::uint8_t is_global = 0;  // with a GRH
  ibv_global_route grh{};
};

// The target of a datagram.
struct ibv_ah {
  ibv_context* context;
  ibv_pd* pd;
  std::uint32_t handle;
};

struct ibv_qp_attr {
  ibv_qp_state qp_state;
  ibv_qp_state cur_qp_state;
  ibv_mtu path_mtu;
  std::uint32_t qkey;
  std::uint32_t rq_psn;
  std::uint32_t sq_psn;
  std::uint32_t dest_qp_num;
  unsigned qp_access_flags;
  ibv_qp_cap cap;
  ibv_ah_attr ah_attr;
  std::uint16_t pkey_index;
  std::uint8_t en_sqd_async_notify;
  std::uint8_t sq_draining;
  std::uint8_t max_rd_atomic;
  std::uint8_t max_dest_rd_atomic;
  std::uint8_t min_rnr_timer;
  std::uint8_t port_num;
  std::uint8_t timeout;
  std::uint8_t retry_cnt;
  std::uint8_t rnr_retry;
};

struct ibv_moderate_cq {
  std::uint16_t cq_count;
  std::uint16_t cq_period;  // us
};
enum ibv_cq_attr_mask { IBV_CQ_ATTR_MODERATE = 1 << 0 };
struct ibv_modify_cq_attr {
  std::uint32_t attr_mask;
  ibv_moderate_cq moderate;
};

struct ibv_async_event {
  union {
    ibv_cq* cq;
    ibv_qp* qp;
    ibv_srq* srq;
    int port_num;
  } element;
  ibv_event_type event_type;
};

}  // namespace hcasim::verbs
