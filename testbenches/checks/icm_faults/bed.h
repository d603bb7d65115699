// Two pairs of QPs on one adapter: the entries of one, the victim, are damaged in ICM while both work; the other, the
// bystander, must not notice. Caches are so small that each pair's work drives the other's entries out of them.
#pragma once

#include <array>
#include <vector>

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::icm {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

// Tables in ICM, and the like in host memory.
enum class table : std::uint8_t {
  qpc,
  responder_qpc,
  srqc,
  cqc,
  mrc,
  space_mrc,
  extents,
  pte,
  space_pte,
  queue_pte,
  send_wqe,
  receive_wqe
};
inline constexpr std::array table_names{"qpc",     "responder_qpc", "srqc",      "cqc",       "mrc",      "space_mrc",
                                        "extents", "pte",           "space_pte", "queue_pte", "send_wqe", "receive_wqe"};
inline constexpr std::size_t tables = table_names.size();

system_config config(icm_check check = icm_check::none);

// A stretch of ICM.
struct place {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// QPs a (sends) and b (receives) with a CQ and buffers of their own.
struct pair {
  ibv_cq* cq = nullptr;
  ibv_srq* srq = nullptr;  // of b, or none
  ibv_qp* a = nullptr;
  ibv_qp* b = nullptr;
  region from;
  region to;  // the pages in the middle of a longer buffer
  std::uint64_t guard = 0;
  x_result space;  // two buffers with a gap
  std::uint64_t space_buffers = 0;
};

class bed {
 public:
  bed(cpu& c, node& n);

  // `psn`: where both ends begin.
  pair make_pair(bool shared, bool with_space, std::uint32_t psn = 0x10);
  // Returns the place of the victim's entry; nothing of a table that it has not.
  place find(const pair& v, table t);

  // Each work request in turn, waited for no longer than `patience`. How many ended well, with the right bytes.
  unsigned work(pair& v, unsigned rounds, ps patience = 40_ms);
  static constexpr unsigned operations = 5;  // of one round; with a space one more

  void flip(std::uint64_t address, std::uint64_t bit);
  [[nodiscard]] bool guards_intact(const pair& v);
  std::vector<ibv_async_event> events();
  // A statistic of the DMA engine, which checks ICM.
  [[nodiscard]] double counted(const char* name) const;

  process_context p;
  // Flipped in the next WQE that is posted, of the kind; bit numbers.
  std::vector<std::uint64_t> in_send_wqe;
  std::vector<std::uint64_t> in_receive_wqe;

 private:
  bool post_flipped(pair& v, const request& r);
  bool receive_flipped(pair& v, std::uint64_t id);
  bool ends_well(pair& v, const request& r, bool receives, ps patience);
  template <class T>
  T entry(std::uint64_t address) const {
    return p.n.host.memory_bytes().get<T>(address);
  }
  place of_buffer(const hca_buffer& b) const;

  std::uint64_t ids_ = 0;
};

}  // namespace hcasim::icm
