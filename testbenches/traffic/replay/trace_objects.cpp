#include "testbenches/traffic/replay/trace_reader.h"

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
  if (type == "xrc") fail("a QP of XRC cannot be replayed", "record the program with another transport");
  if (type != "rc" && type != "uc" && type != "ud") fail(fmt::format("'{}' is no type of a QP", type));
  q.type = type == "rc" ? IBV_QPT_RC : type == "uc" ? IBV_QPT_UC : IBV_QPT_UD;
  q.cap.max_send_wr = named("sends");
  q.cap.max_send_sge = small();
  q.cap.max_recv_wr = named("receives");
  q.cap.max_recv_sge = small();
  q.cap.max_inline_data = named("inline");
  q.send_queue = named("queues");
  q.receive_queue = small();
  const auto maybe = [this](std::string_view what) {
    key(what);
    const std::string_view word = words_.take();
    return word == "-" ? nothing : static_cast<std::uint32_t>(number_in(word, most_objects));
  };
  q.shared = maybe("shared");
  q.peer = maybe("peer");
  const std::uint32_t mtu = named("mtu", 4096);
  q.mtu = mtu == 0 ? IBV_MTU_1024 : static_cast<ibv_mtu>(std::bit_width(mtu) - 8);
  if (mtu != 0 && (!std::has_single_bit(mtu) || mtu < 256)) fail(fmt::format("{} is no MTU", mtu));
  q.reads = static_cast<std::uint8_t>(named("reads", 255));
  q.timeout = static_cast<std::uint8_t>(named("timeout", 31));
  q.retry = static_cast<std::uint8_t>(named("retry", 7));
  q.rnr_retry = static_cast<std::uint8_t>(small(7));
  q.rnr_timer = static_cast<std::uint8_t>(small(31));
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

bool trace_reader::object_line(std::string_view word) {
  if (word == "region") {
    region_line();
  } else if (word == "key") {
    key_line();
  } else if (word == "queue") {
    trace_queue& q = object(out_.queues, has_queue_);
    q.node = node();
    q.entries = named("entries", 1 << 22);
  } else if (word == "shared") {
    trace_shared& s = object(out_.shared, has_shared_);
    s.node = node();
    s.receives = named("receives");
    s.segments = small();
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
