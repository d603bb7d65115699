// Work requests and completions. Names and numbers are those of <infiniband/verbs.h>.
#pragma once

#include "models/driver/verbs/verbs_types.h"

namespace hcasim::verbs {

enum ibv_wc_status {
  IBV_WC_SUCCESS = 0,
  IBV_WC_LOC_LEN_ERR = 1,
  IBV_WC_LOC_QP_OP_ERR = 2,
  IBV_WC_LOC_EEC_OP_ERR = 3,
  IBV_WC_LOC_PROT_ERR = 4,
  IBV_WC_WR_FLUSH_ERR = 5,
  IBV_WC_MW_BIND_ERR = 6,
  IBV_WC_BAD_RESP_ERR = 7,
  IBV_WC_LOC_ACCESS_ERR = 8,
  IBV_WC_REM_INV_REQ_ERR = 9,
  IBV_WC_REM_ACCESS_ERR = 10,
  IBV_WC_REM_OP_ERR = 11,
  IBV_WC_RETRY_EXC_ERR = 12,
  IBV_WC_RNR_RETRY_EXC_ERR = 13,
  IBV_WC_LOC_RDD_VIOL_ERR = 14,
  IBV_WC_REM_INV_RD_REQ_ERR = 15,
  IBV_WC_REM_ABORT_ERR = 16,
  IBV_WC_INV_EECN_ERR = 17,
  IBV_WC_INV_EEC_STATE_ERR = 18,
  IBV_WC_FATAL_ERR = 19,
  IBV_WC_RESP_TIMEOUT_ERR = 20,
  IBV_WC_GENERAL_ERR = 21,
};

enum ibv_wc_opcode {
  IBV_WC_SEND = 0,
  IBV_WC_RDMA_WRITE = 1,
  IBV_WC_RDMA_READ = 2,
  IBV_WC_COMP_SWAP = 3,
  IBV_WC_FETCH_ADD = 4,
  IBV_WC_BIND_MW = 5,
  IBV_WC_LOCAL_INV = 6,
  IBV_WC_REG_MR = 16,  // the kernel's IB_WC_REG_MR
  IBV_WC_RECV = 1 << 7,
  IBV_WC_RECV_RDMA_WITH_IMM = (1 << 7) + 1,
};

enum ibv_wc_flags { IBV_WC_GRH = 1 << 0, IBV_WC_WITH_IMM = 1 << 1, IBV_WC_WITH_INV = 1 << 3 };

enum ibv_wr_opcode {
  IBV_WR_RDMA_WRITE = 0,
  IBV_WR_RDMA_WRITE_WITH_IMM = 1,
  IBV_WR_SEND = 2,
  IBV_WR_SEND_WITH_IMM = 3,
  IBV_WR_RDMA_READ = 4,
  IBV_WR_ATOMIC_CMP_AND_SWP = 5,
  IBV_WR_ATOMIC_FETCH_AND_ADD = 6,
  IBV_WR_LOCAL_INV = 7,
  IBV_WR_BIND_MW = 8,  // type 2 windows; type 1: ibv_bind_mw
  IBV_WR_SEND_WITH_INV = 9,
  IBV_WR_REG_MR = 32,  // the kernel's IB_WR_REG_MR; needs HCAX_QP_PRIVILEGED
};

enum ibv_send_flags {
  IBV_SEND_FENCE = 1 << 0,
  IBV_SEND_SIGNALED = 1 << 1,
  IBV_SEND_SOLICITED = 1 << 2,
  IBV_SEND_INLINE = 1 << 3
};

struct ibv_sge {
  std::uint64_t addr;
  std::uint32_t length;
  std::uint32_t lkey;
};

struct ibv_bind_mw_wr {
  ibv_mw* mw;
  std::uint32_t rkey;  // its key byte becomes the window's
  ibv_mw_bind_info bind_info;
};

struct hcax_reg_mr_wr {
  ibv_mr* mr;         // of hcax_alloc_fast_mr, mapped with hcax_map_mr
  std::uint32_t key;  // its key byte becomes the region's
  unsigned access;
};

struct ibv_send_wr {
  std::uint64_t wr_id;
  ibv_send_wr* next;
  ibv_sge* sg_list;
  int num_sge;
  ibv_wr_opcode opcode;
  unsigned send_flags;
  union {
    std::uint32_t imm_data;         // big-endian
    std::uint32_t invalidate_rkey;  // [A11]
  };
  union {
    struct {
      std::uint64_t remote_addr;
      std::uint32_t rkey;
    } rdma;
    struct {
      std::uint64_t remote_addr;
      std::uint64_t compare_add;
      std::uint64_t swap;
      std::uint32_t rkey;
    } atomic;
    struct {
      ibv_ah* ah;
      std::uint32_t remote_qpn;
      std::uint32_t remote_qkey;  // bit 31: the QP's own instead
    } ud;
  } wr;
  union {
    ibv_bind_mw_wr bind_mw;
    hcax_reg_mr_wr reg_mr;
  };
  union {
    struct {
      std::uint32_t remote_srqn;
    } xrc;
  } qp_type;
};

struct ibv_recv_wr {
  std::uint64_t wr_id;
  ibv_recv_wr* next;
  ibv_sge* sg_list;
  int num_sge;
};

struct ibv_wc {
  std::uint64_t wr_id;
  ibv_wc_status status;
  ibv_wc_opcode opcode;
  std::uint32_t vendor_err;
  std::uint32_t byte_len;
  union {
    std::uint32_t imm_data;          // big-endian
    std::uint32_t invalidated_rkey;  // [A11]
  };
  std::uint32_t qp_num;
  std::uint32_t src_qp;
  unsigned wc_flags;
  std::uint16_t slid;                  // UD
  std::uint8_t sl;                     // UD
  std::uint64_t completion_timestamp;  // as ibv_wc_read_completion_ts: ticks of the adapter's clock
};

}  // namespace hcasim::verbs
