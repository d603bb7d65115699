// Objects that are not there, are left behind, or find no memory.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {

void wild() {
  const opened o = open();
  // The handle lies behind the public struct.
  auto* behind = reinterpret_cast<std::uint64_t*>(o.pd + 1);
  for (const std::uint64_t v : {std::uint64_t{0}, std::uint64_t{0xdead'beef}, ~std::uint64_t{0}, std::uint64_t{2} << 24}) {
    const std::uint64_t good = behind[0];
    behind[0] = v;
    REQUIRE(!ibv_reg_mr(o.pd, buffer, 4096, 0) && errno == EINVAL);
    behind[0] = good;
  }
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
  REQUIRE(!ibv_reg_mr(o.pd, reinterpret_cast<void*>(0x1000), 4096, 0) && errno == EFAULT);
  REQUIRE(!ibv_create_cq(o.context, -1, nullptr, nullptr, 0) && errno == EINVAL);
  REQUIRE(!ibv_create_cq(o.context, 16, nullptr, nullptr, 99) && errno == EINVAL);
}

void out_of_memory() {
  const opened o = open();
  rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  std::vector<void*> taken;
  for (std::size_t n = std::size_t{1} << 28; n >= 4096; n /= 2) {
    while (void* p = std::malloc(n)) taken.push_back(p);
  }
  REQUIRE(!mmap(nullptr, std::size_t{1} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) || errno == ENOMEM);
  for (void* p : taken) std::free(p);
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
}

void unmapped() {
  looped l;
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ibv_mr* mr = ibv_reg_mr(l.o.pd, at, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  REQUIRE(mr);
  REQUIRE(munmap(at, 4096) == 0);
  void* again = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  REQUIRE(again == at);
  buffer[0] = 1;
  ibv_sge s{reinterpret_cast<std::uint64_t>(buffer), 1, l.mr->lkey};
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  wr.sg_list = &s;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {reinterpret_cast<std::uint64_t>(at), mr->rkey};
  REQUIRE(ibv_post_send(l.qp, &wr, &bad) == 0);
  ibv_wc wc{};
  while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
  }
  REQUIRE(*static_cast<char*>(at) == 0);  // the grant was for the page that is gone
}

void leave() {
  const opened o = open();
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
  REQUIRE(ibv_create_cq(o.context, 16, nullptr, nullptr, 0));
  _exit(0);
}

void register_memory() {
  looped l;
  l.write_flag();
  finish(l);
}

}  // namespace misuse
