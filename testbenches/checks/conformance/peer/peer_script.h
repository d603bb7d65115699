// For the peer-memory cases: nodes with other settings, a scripted client with a process that registers its memory, and a
// stream of requests.
#pragma once

#include "testbenches/checks/conformance/peer/peer_case.h"

namespace hcasim::kit {

using log_type = std::vector<std::string>;

inline system_config configured(const std::function<void(driver::driver_config&)>& change) {
  system_config s = peer_node();
  change(s.nodes[0].driver);
  return s;
}
inline system_config legacy_node() {
  return configured([](driver::driver_config& d) { d.peer_semantics = driver::peer_semantics::legacy; });
}

// A scripted client over the GPU's memory, with a process to register it.
struct scripted_case {
  scripted_case(cpu& thread, node& n, const char* name = "scripted", bool needs_invalidation = true)
      : c(thread), core(n.device().peers()), p(thread, n), client(name, node::peer_bar(0)) {
    handle = core.ib_register_peer_memory_client(&client, needs_invalidation ? &client.invalidate : nullptr);
    EXPECT_NE(handle, nullptr);
  }
  ~scripted_case() {
    p.close();
    core.ib_unregister_peer_memory_client(c, handle);
    EXPECT_TRUE(client.balanced());
    EXPECT_EQ(core.live(), 0U);
    EXPECT_EQ(core.tickets(), 0U);
  }
  ibv_mr* reg(std::uint64_t bytes = 64_KiB, std::uint64_t from = 0) {
    errno = 0;
    return ibv_reg_mr(c, p.pd, client.va + from, bytes, all_rights);
  }
  [[nodiscard]] std::uint64_t count(const std::string& file) const { return core.count(client.name, file); }
  void expect_refused(int error) {
    EXPECT_EQ(reg(), nullptr);
    EXPECT_EQ(errno, error);
    EXPECT_TRUE(client.balanced());
    EXPECT_EQ(count("num_alloc_mrs"), count("num_dealloc_mrs"));
    EXPECT_EQ(count("num_reg_pages"), count("num_dereg_pages"));
    EXPECT_EQ(count("num_reg_bytes"), count("num_dereg_bytes"));
    EXPECT_EQ(core.live(), 0U);
    EXPECT_EQ(core.tickets(), 0U);
  }

  cpu& c;
  peer::peer_core& core;
  process_context p;
  scripted_client client;
  void* handle = nullptr;
};

// A stream of requests on QP a between `here` and peer memory, a window of them outstanding.
struct write_stream {
  write_stream(peer_case& t, std::uint32_t rkey, std::uint32_t bytes, std::uint64_t remote, std::uint64_t span,
               ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE)
      : t_(t), rkey_(rkey), bytes_(bytes), remote_(remote), span_(span), opcode_(opcode) {}
  // Posts as far as the window goes, and takes completions; false when the connection has failed.
  bool step(unsigned window = 16) {
    while (outstanding_ < window && !failed_) {
      const std::uint64_t at = span_ > bytes_ ? next_ * bytes_ % (span_ - bytes_) : 0;
      if (post(t_.c, t_.a,
               {.opcode = opcode_,
                .id = 100 + next_++,
                .sges = {{t_.here.addr, bytes_, t_.here.mr->lkey}},
                .remote = remote_ + at,
                .rkey = rkey_}) != 0)
        break;
      ++outstanding_;
    }
    const auto wc = next_completion(t_.c, t_.p.cq);
    if (!wc) return false;
    --outstanding_;
    if (wc->status == IBV_WC_SUCCESS) {
      ++done_;
    } else {
      if (!failed_) first_ = wc->status;
      failed_ = true;
    }
    return !(failed_ && outstanding_ == 0);
  }
  [[nodiscard]] ibv_wc_status first_failure() const { return first_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  peer_case& t_;
  std::uint32_t rkey_;
  std::uint32_t bytes_;
  std::uint64_t remote_;
  std::uint64_t span_;
  ibv_wr_opcode opcode_;
  std::uint64_t next_ = 0;
  unsigned outstanding_ = 0;
  std::uint64_t done_ = 0;
  bool failed_ = false;
  ibv_wc_status first_ = IBV_WC_SUCCESS;
};

}  // namespace hcasim::kit
