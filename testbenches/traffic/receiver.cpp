#include "testbenches/traffic/receiver.h"

#include <array>

#include <fmt/format.h>

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr ps look_up = 20_us;  // from one look at `over` to the next

bool post_one(cpu& c, const receiver_settings& s, std::size_t i) {
  std::vector<ibv_sge> room{{s.buffer.addr, static_cast<std::uint32_t>(s.buffer.length), s.buffer.mr->lkey}};
  const int error = s.shared ? post_receive(c, s.shared, i, room) : post_receive(c, s.qps[i], i, room);
  if (error != 0) s.record->fail("a receive was refused");
  return error == 0;
}

}  // namespace

bool fill_receives(cpu& c, const receiver_settings& s) {
  const std::size_t queues = s.shared ? 1 : s.qps.size();
  for (std::size_t i = 0; i < queues; ++i) {
    for (std::uint32_t k = 0; k < s.depth; ++k) {
      if (!post_one(c, s, i)) return false;
    }
  }
  return true;
}

void receive(cpu& c, const receiver_settings& s, const std::function<bool()>& over) {
  std::array<ibv_wc, 16> wc{};
  for (;;) {
    const int got = ibv_poll_cq(c, s.cq, static_cast<int>(wc.size()), wc.data());
    if (got < 0) return s.record->fail("the completion queue of receives cannot be polled");
    for (int i = 0; i < got; ++i) {
      const ibv_wc& one = wc[static_cast<std::size_t>(i)];
      if (one.status != IBV_WC_SUCCESS)
        return s.record->fail(fmt::format("a receive failed: {}", ibv_wc_status_str(one.status)));
      s.record->received(c.time());
      if (!post_one(c, s, one.wr_id)) return;
    }
    if (got == 0 && !wait_cq(c, s.cq, look_up) && over()) return;
  }
}

}  // namespace hcasim::traffic
