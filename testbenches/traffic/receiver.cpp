#include "testbenches/traffic/receiver.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr ps look_up = 20_us;  // from one look at `over` to the next

// Notes that the flow has failed, with the place and the time.
void fail(const cpu& c, const receiver_settings& s, const std::string& why) {
  s.record->fail(fmt::format("{}; on node{} at {:.3f} us", why, s.host, to_us(c.time())));
}

bool post_one(cpu& c, const receiver_settings& s, std::size_t i) {
  std::vector<ibv_sge> room{{s.buffer.addr, static_cast<std::uint32_t>(s.buffer.length), s.buffer.mr->lkey}};
  const int error = s.shared.empty() ? post_receive(c, s.qps[i], i, room) : post_receive(c, s.shared[i], i, room);
  if (error != 0) fail(c, s, "a receive was refused");
  return error == 0;
}

}  // namespace

bool fill_receives(cpu& c, const receiver_settings& s) {
  const std::size_t queues = s.shared.empty() ? s.qps.size() : s.shared.size();
  for (std::size_t i = 0; i < queues; ++i) {
    for (std::uint32_t k = 0; k < s.depth; ++k) {
      if (!post_one(c, s, i)) return false;
    }
  }
  return true;
}

namespace {

bool take_receive(cpu& c, const receiver_settings& s, const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) {
    fail(c, s, fmt::format("a receive or a key failed: {}, QP {}", ibv_wc_status_str(wc.status), wc.qp_num));
    return false;
  }
  if (!(wc.opcode & IBV_WC_RECV)) return true;  // a key has reached the peer
  s.record->received(c.time(), s.host, wc.byte_len - s.header);
  if (!post_one(c, s, wc.wr_id)) return false;
  if (s.granters.empty() || s.granters[wc.wr_id]->renew(c)) return true;
  fail(c, s, "a key could not be granted");
  return false;
}

}  // namespace

void receive(cpu& c, receiver_settings& s, const std::function<bool()>& over) {
  for (const auto& g : s.granters) {
    if (!g->grant_all(c)) return fail(c, s, "a first key could not be granted");
  }
  std::array<ibv_wc, 16> wc{};
  for (;;) {
    const int got = s.queues.poll(c, wc);
    if (got < 0) return fail(c, s, "the completion queue of receives cannot be polled");
    const auto end = wc.begin() + got;
    if (!std::all_of(wc.begin(), end, [&](const ibv_wc& one) { return take_receive(c, s, one); })) return;
    if (got == 0 && !s.queues.wait(c, look_up) && over()) return;
  }
}

}  // namespace hcasim::traffic
