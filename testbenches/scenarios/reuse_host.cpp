// The host of rkey_reuse: waits for fill notices, takes the bytes, swaps the buffer, tells the targets.
#include <memory>

#include "testbenches/scenarios/reuse_ends.h"
#include "testbenches/scenarios/reuse_mapping.h"

namespace hcasim::kit {
namespace {

class host_program final : public host_end {
 public:
  host_program(reuse_state& s, cpu& c, node& n, std::size_t way)
      : host_end(s, c, n, way, receives(s.o), sizeof(grant)), told_(s.o.targets) {}

 private:
  // Returns the number of receives for the grants to one target.
  static std::uint32_t receives(const reuse_options& o) {
    return 2 * static_cast<std::uint32_t>(ceil_div(o.buffers, o.targets)) + 2;
  }

  void stream() override {
    const std::uint64_t total = s_.total();
    const auto mapping = reuse_mapping::make(mode_, p_, qps_, s_.o, total);
    std::vector<grant> grants;
    ok_ = ok_ && mapping->open(grants);
    const node_counts before = begin_measuring();
    tell_all(*mapping, grants);
    for (std::uint64_t filled = 0; ok_ && filled < total; ++filled) {
      const std::uint64_t b = next_fill();
      if (!ok_) break;
      const ps noticed = c_.time();
      const std::uint64_t at = b * s_.o.buffer;
      const std::uint64_t bytes = std::min<std::uint64_t>(s_.o.buffer, s_.stream.size() - at);
      p_.memory.read(mapping->host_address(b), std::as_writable_bytes(std::span(received_).subspan(at, bytes)));
      ok_ = mapping->swap(b, grants);
      if (!grants.empty()) {
        ++out_.swaps;
        tell_all(*mapping, grants);
        out_.told.add(c_.time() - noticed);
      }
      post_again();
    }
    end_measuring(before);
    ok_ = ok_ && mapping->close();
  }

  // One swap after the other, nothing else under way: when has the new buffer its first byte? Of a batch, one message stands
  // for all that is filled.
  void quiet_swaps() override {
    const std::uint32_t swaps = s_.o.quiet_swaps;
    const auto mapping = reuse_mapping::make(mode_, p_, qps_, s_.o, s_.o.buffers + std::uint64_t{swaps} * s_.o.batch);
    const std::uint32_t step = mapping->at_once();
    std::vector<grant> grants;
    ok_ = mapping->open(grants);
    // Each key of the beginning is entered and used once before anything is measured.
    for (grant& g : grants) g.kind = grant_kind::probe;
    const std::size_t beginnings = grants.size();
    tell_all(*mapping, grants);
    for (std::size_t i = 1; ok_ && i < beginnings; ++i) {
      next_fill();
      post_again();
    }
    ps sum{0};
    for (std::uint32_t i = 0; i < swaps; ++i) {
      next_fill();
      const ps noticed = c_.time();
      for (std::uint32_t k = 0; k < step; ++k) ok_ = ok_ && mapping->swap(std::uint64_t{i} * step + k, grants);
      ok_ = ok_ && !grants.empty();
      if (!ok_) break;
      grants.back().kind = grant_kind::probe;
      const std::uint64_t first = mapping->host_address(grants.back().from / s_.o.buffer);
      sum += until_first_byte(noticed, first, [&] { tell_all(*mapping, grants); });
      post_again();
    }
    next_fill();
    out_.first_byte = sum / swaps;
    ok_ = ok_ && mapping->close();
  }

  // The buffer that a target says is full. Its receive is posted anew when nothing waits for the host.
  std::uint64_t next_fill() {
    const auto wc = next_write();
    if (!wc) return 0;
    noticed_ = wc->qp_num;
    return wc->imm_data;
  }

  void post_again() {
    for (ibv_qp* qp : qps_) {
      if (qp->qp_num == noticed_) ok_ = ok_ && post_receive(c_, qp, 0, {}) == 0;
    }
  }

  void grant_to(std::uint32_t target, const grant& g) {
    tell(target, g);
    ++out_.table_updates;
  }
  void tell_done(std::uint32_t target) override { tell(target, grant{.kind = grant_kind::done}); }

  // Those that are to write are told first; then all others that hold the key and must not use it any more.
  void tell_all(const reuse_mapping& mapping, std::vector<grant>& grants) {
    for (const grant& g : grants) {
      const std::uint64_t first = g.from / s_.o.buffer;
      const std::uint64_t last = ceil_div(g.to, s_.o.buffer);
      const std::uint64_t most = g.kind == grant_kind::probe ? 1 : s_.o.targets;
      const auto writers = static_cast<std::uint32_t>(std::min(last - first, most));
      for (std::uint32_t i = 0; i < writers; ++i) {
        grant_to(s_.owner_of(first + i), g);
        told_[s_.owner_of(first + i)] = g.key;
      }
      if (!mapping.shares_its_key()) continue;
      for (std::uint32_t t = 0; t < s_.o.targets; ++t) {
        if (std::exchange(told_[t], g.key) != g.key) grant_to(t, {.key = g.key});
      }
    }
    grants.clear();
  }

  std::vector<std::uint32_t> told_;  // the key that each target was told last
  std::uint32_t noticed_ = 0;        // the QP of the last fill notice
};

}  // namespace

void reuse_host(reuse_state& s, cpu& c, node& n, std::size_t way) {
  host_program(s, c, n, way).run();
}

}  // namespace hcasim::kit
