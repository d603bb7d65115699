// Registered memory whose rights the program changes.
#include <sys/mman.h>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

constexpr std::size_t page = 4096;
constexpr int all_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

constexpr std::uint64_t of_receive = 1;  // its number

struct outcome {
  ibv_wc_status request;
  ibv_wc_status receive;  // IBV_WC_SUCCESS without a receive
};

// A QP with two pages beside its buffer.
struct guarded : looped {
  char* at;
  ibv_mr* of_pages;

  guarded(int rights, int sharing) {
    at = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0));
    REQUIRE(at != MAP_FAILED);
    std::memset(at, 3, 2 * page);
    of_pages = ibv_reg_mr(o.pd, at, 2 * page, rights);
    REQUIRE(of_pages);
    give_rights();
  }
  void give_rights() const {
    ibv_qp_attr a{};
    a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    REQUIRE(ibv_modify_qp(qp, &a, IBV_QP_ACCESS_FLAGS) == 0);
  }
  void protect(int rights) const { REQUIRE(mprotect(at, 2 * page, rights) == 0); }

  // Executes a request with 8 bytes of the buffer, all `value`, and 8 bytes of the pages. A SEND is received there.
  outcome execute(ibv_wr_opcode opcode, std::size_t offset, char value) const {
    std::memset(buffer, value, 8);
    ibv_sge here{reinterpret_cast<std::uint64_t>(buffer), 8, mr->lkey};
    ibv_sge there{reinterpret_cast<std::uint64_t>(at + offset), 8, of_pages->lkey};
    const bool received = opcode == IBV_WR_SEND;
    if (received) {
      ibv_recv_wr take{};
      ibv_recv_wr* bad = nullptr;
      take.wr_id = of_receive;
      take.sg_list = &there;
      take.num_sge = 1;
      REQUIRE(ibv_post_recv(qp, &take, &bad) == 0);
    }
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.sg_list = &here;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {there.addr, 1, 0, of_pages->rkey};
    } else {
      wr.wr.rdma = {there.addr, of_pages->rkey};
    }
    REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
    outcome out{IBV_WC_SUCCESS, IBV_WC_SUCCESS};
    for (int left = received ? 2 : 1; left > 0;) {
      ibv_wc wc{};
      if (ibv_poll_cq(cq, 1, &wc) == 0) continue;
      (wc.wr_id == of_receive ? out.receive : out.request) = wc.status;
      --left;
    }
    if (out.request != IBV_WC_SUCCESS || out.receive != IBV_WC_SUCCESS) {
      again();
      give_rights();
    }
    return out;
  }
};

}  // namespace

// Pinned pages are read and written whatever rights the program has left to itself.
void protected_pages() {
  const guarded g(all_rights, MAP_PRIVATE);
  g.protect(PROT_READ);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, 0, 42).request == IBV_WC_SUCCESS && g.at[0] == 42);
  REQUIRE(g.execute(IBV_WR_SEND, 8, 43).receive == IBV_WC_SUCCESS && g.at[8] == 43);
  REQUIRE(g.execute(IBV_WR_ATOMIC_FETCH_AND_ADD, page, 0).request == IBV_WC_SUCCESS && g.at[page] == 4);
  g.protect(PROT_NONE);
  REQUIRE(g.execute(IBV_WR_RDMA_READ, 0, 0).request == IBV_WC_SUCCESS && buffer[0] == 42);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, page, 44).request == IBV_WC_SUCCESS);
  g.protect(PROT_READ);
  REQUIRE(g.at[page] == 44);
}

// The adapter gives up the pages of an on-demand region when their rights change, and is then refused.
void protected_on_demand() {
  const guarded g(all_rights | IBV_ACCESS_ON_DEMAND, MAP_PRIVATE);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, 0, 42).request == IBV_WC_SUCCESS && g.at[0] == 42);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, page, 42).request == IBV_WC_SUCCESS);
  g.protect(PROT_READ);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, 0, 43).request != IBV_WC_SUCCESS && g.at[0] == 42);
  const outcome sent = g.execute(IBV_WR_SEND, 0, 43);
  REQUIRE(sent.receive == IBV_WC_LOC_PROT_ERR && g.at[0] == 42);
  REQUIRE(g.execute(IBV_WR_RDMA_READ, 0, 0).request == IBV_WC_SUCCESS && buffer[0] == 42);
  g.protect(PROT_NONE);
  REQUIRE(g.execute(IBV_WR_RDMA_READ, 0, 0).request != IBV_WC_SUCCESS);
  g.protect(PROT_READ | PROT_WRITE);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, 0, 44).request == IBV_WC_SUCCESS && g.at[0] == 44);
}

// Nothing can write pages that are shared and read-only: the run fails.
void protected_shared() {
  const guarded g(all_rights, MAP_SHARED);
  g.protect(PROT_READ);
  REQUIRE(g.execute(IBV_WR_RDMA_READ, 0, 0).request == IBV_WC_SUCCESS && buffer[0] == 3);
  REQUIRE(g.execute(IBV_WR_RDMA_WRITE, 0, 42).request == IBV_WC_SUCCESS && g.at[0] == 3);
}

}  // namespace misuse
