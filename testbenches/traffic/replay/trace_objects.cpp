#include "testbenches/traffic/replay/trace_reader.h"

#include <algorithm>
#include <array>
#include <bit>

namespace hcasim::replay {

using namespace verbs;  // NOLINT(google-build-using-namespace): verbs

void trace_reader::region_line() {
  trace_region& r = object(out_.regions, has_region_);
  r.node = node();
  key("bytes");
  r.bytes = number(std::numeric_limits<std::uint64_t>::max());
  r.offset = named("offset", 4095);
  key("memory");
  const std::string_view m = words_.take();
  constexpr std::array<std::string_view, 4> kinds{"host", "on_demand", "gpu", "device"};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (m != kinds[i]) continue;
    if (r.bytes > std::uint64_t{1} << 40)
      fail("the region is the whole address space of a process", "record the program without implicit on-demand regions");
    r.memory = static_cast<traffic::memory_kind>(i);
    return;
  }
  fail(fmt::format("a region of memory '{}' cannot be replayed", m),
       "record a run whose regions are registered by ibv_reg_mr, ibv_reg_dm_mr or ibv_reg_dmabuf_mr");
}

void trace_reader::qp_line() {
  trace_qp& q = object(out_.qps, has_qp_);
  q.node = node();
  key("type");
  const std::string_view type = words_.take();
  constexpr std::array<std::pair<std::string_view, ibv_qp_type>, 5> types{{{"rc", IBV_QPT_RC},
                                                                           {"uc", IBV_QPT_UC},
                                                                           {"ud", IBV_QPT_UD},
                                                                           {"xrc_send", IBV_QPT_XRC_SEND},
                                                                           {"xrc_receive", IBV_QPT_XRC_RECV}}};
  const auto* const known = std::find_if(types.begin(), types.end(), [&](const auto& t) { return t.first == type; });
  if (known == types.end()) fail(fmt::format("'{}' is no type of a QP", type));
  q.type = known->second;
  q.cap.max_send_wr = named("sends");
  q.cap.max_send_sge = small();
  q.cap.max_recv_wr = named("receives");
  q.cap.max_recv_sge = small();
  q.cap.max_inline_data = named("inline");
  key("queues");
  q.send_queue = maybe_number();
  q.receive_queue = maybe_number();
  key("shared");
  q.shared = maybe_number();
  key("peer");
  q.peer = maybe_number();
  const std::uint32_t mtu = named("mtu", 4096);
  q.mtu = mtu == 0 ? IBV_MTU_1024 : static_cast<ibv_mtu>(std::bit_width(mtu) - 8);
  if (mtu != 0 && (!std::has_single_bit(mtu) || mtu < 256)) fail(fmt::format("{} is no MTU", mtu));
  q.reads = static_cast<std::uint8_t>(named("reads", 255));
  q.timeout = static_cast<std::uint8_t>(named("timeout", 31));
  q.retry = static_cast<std::uint8_t>(named("retry", 7));
  q.rnr_retry = static_cast<std::uint8_t>(small(7));
  q.rnr_timer = static_cast<std::uint8_t>(small(31));
  for (std::string_view word = words_.take(); !word.empty(); word = words_.take()) {
    if (word == "port") {
      q.port = static_cast<std::uint8_t>(small(2));
    } else if (!reads_way(word, q.way)) {
      ends_before(word);
    }
  }
  if (q.port == 0) fail("ports are counted from 1");
}

void trace_reader::key_line() {
  trace_key& k = object(out_.keys, has_key_);
  k.node = node();
  key("kind");
  const std::string_view kind = words_.take();
  constexpr std::array<std::string_view, 3> kinds{"window1", "window2", "fast"};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kind != kinds[i]) continue;
    k.kind = static_cast<key_kind>(i);
    k.pages = named("pages", 1 << 20);
    return;
  }
  fail(fmt::format("'{}' is no kind of a key", kind));
}

void trace_reader::group_line() {
  trace_group& g = object(out_.groups, has_group_);
  g.lid = static_cast<std::uint16_t>(named("lid", 0xffff));
  key("gid");
  const std::string_view text = words_.take();
  if (text.size() != 2 * sizeof g.gid.raw) fail(fmt::format("'{}' is no GID of 32 hexadecimal digits", text));
  for (std::size_t i = 0; i < sizeof g.gid.raw; ++i) {
    const char* const begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, g.gid.raw[i], 16).ptr != begin + 2)
      fail(fmt::format("'{}' is no GID of 32 hexadecimal digits", text));
  }
}

void trace_reader::member_line() {
  const std::uint32_t group = small();
  if (!has(has_group_, group)) fail(fmt::format("there is no group {}", group));
  out_.groups[group].qps.push_back(named("qp"));
}

bool trace_reader::object_line(std::string_view word) {
  if (word == "region") {
    region_line();
  } else if (word == "key") {
    key_line();
  } else if (word == "group") {
    group_line();
  } else if (word == "member") {
    member_line();
  } else if (word == "queue") {
    trace_queue& q = object(out_.queues, has_queue_);
    q.node = node();
    q.entries = named("entries", 1 << 22);
  } else if (word == "shared") {
    trace_shared& s = object(out_.shared, has_shared_);
    s.node = node();
    s.receives = named("receives");
    s.segments = small();
    if (words_.rest.find("queue") != std::string_view::npos) {
      key("queue");
      s.queue = maybe_number();
    }
  } else if (word == "thread") {
    trace_thread& t = object(out_.threads, has_thread_);
    t.node = node();
  } else if (word == "qp") {
    qp_line();
  } else {
    return false;
  }
  line_ends();
  return true;
}

}  // namespace hcasim::replay
