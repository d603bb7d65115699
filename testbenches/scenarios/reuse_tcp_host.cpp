// The host of the TCP embodiment: takes segments in order, slides each window over fresh buffers, acknowledges.
#include "models/driver/embodiments/tcp_window.h"
#include "models/driver/verbs/x_verbs.h"
#include "testbenches/scenarios/reuse_ends.h"
#include "testbenches/scenarios/reuse_tcp.h"

namespace hcasim::kit {
namespace {

// One connection's receive window, and the buffers that it lies on. Those of a batch come and go together.
class receiver {
 public:
  receiver(process_context& p, ibv_qp* qp, const reuse_options& o, std::uint64_t bytes, std::uint64_t batches)
      : p_(p),
        qp_(qp),
        batch_(o.batch * o.buffer),
        bytes_(bytes),
        batches_(batches),
        memory_(p.memory.allocate(2 * batches * batch_)) {}

  bool open() {
    constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    x_result r;
    for (std::uint64_t at = 0; at < std::min(bytes_, batches_ * batch_); at += batch_) {
      const x_buffer b = batch_at(at);
      const int status = at == 0 ? x_register(p_.c, p_.pd, qp_, {&b, 1}, rights, X_EXTEND, &r)
                                 : x_reregister_add(p_.c, p_.context, r.key, {&b, 1}, &r, va_ + at);
      if (at == 0) va_ = r.added;
      if (status != 0 || r.added != va_ + at || !window_.apply(r)) return false;
      handles_.push_back(r.handle);
    }
    return true;
  }
  // A segment has come. False = it is not the next one, or more than the window.
  bool take(std::uint32_t sequence, std::uint32_t bytes) {
    if (sequence != first_sequence + static_cast<std::uint32_t>(next_) || !window_.receive(bytes)) return false;
    next_ += bytes;
    return true;
  }
  // The oldest batch is full.
  [[nodiscard]] bool full() const { return next_ == std::min(removed_ + batch_, bytes_); }
  [[nodiscard]] bool over() const { return next_ == bytes_; }
  [[nodiscard]] std::uint64_t oldest() const { return removed_; }
  [[nodiscard]] std::uint64_t host_address(std::uint64_t offset) const { return memory_ + offset % (2 * batches_ * batch_); }

  // It goes, and the next one comes in the same command: both edges of the window move.
  bool slide() {
    x_result r;
    const std::uint32_t leaving = handles_.front();
    handles_.erase(handles_.begin());
    const std::uint64_t coming = removed_ + batches_ * batch_;
    removed_ = std::min(removed_ + batch_, bytes_);
    if (coming >= bytes_) {
      return x_deregister_part(p_.c, p_.context, window_.key(), leaving, &r) == 0 && window_.apply(r);
    }
    const x_buffer b = batch_at(coming);
    if (x_exchange(p_.c, p_.context, window_.key(), leaving, {&b, 1}, &r, va_ + coming) != 0) return false;
    handles_.push_back(r.handle);
    x_result left = r;
    left.length -= b.length;
    return r.added == va_ + coming && window_.apply(left) && window_.apply(r);
  }
  [[nodiscard]] tcp_segment says(tcp_kind kind) const {
    return {.kind = kind,
            .ack = first_sequence + static_cast<std::uint32_t>(next_),
            .window = window_.right() - next_,
            .bytes = bytes_,
            .va = va_,
            .key = window_.key()};
  }

 private:
  [[nodiscard]] x_buffer batch_at(std::uint64_t offset) const {
    return {host_address(offset), std::min(batch_, bytes_ - offset)};
  }

  process_context& p_;
  ibv_qp* qp_;
  std::uint64_t batch_;  // bytes
  std::uint64_t bytes_;  // of the transfer
  std::uint64_t batches_;
  std::uint64_t memory_;
  tcp_window window_;
  std::vector<std::uint32_t> handles_;
  std::uint64_t va_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t removed_ = 0;
};

class tcp_receiver final : public host_end {
 public:
  tcp_receiver(reuse_state& s, cpu& c, node& n, std::size_t way)
      : host_end(s, c, n, way, tcp_segments(s.o), sizeof(tcp_segment)), segments_(tcp_segments(s.o)), since_(s.o.targets) {}

 private:
  void stream() override {
    const std::uint64_t batches = std::max<std::uint64_t>(1, s_.o.buffers / s_.o.batch / s_.o.targets);
    std::vector<receiver> windows;
    std::vector<tcp_share> shares;
    for (std::uint32_t t = 0; t < s_.o.targets; ++t) {
      shares.emplace_back(s_.o, s_.stream.size(), t);
      windows.emplace_back(p_, qps_[t], s_.o, shares[t].bytes, batches);
      ok_ = ok_ && windows[t].open();
    }
    const node_counts before = begin_measuring();
    std::uint32_t open = 0;
    for (std::uint32_t t = 0; t < s_.o.targets; ++t) {
      if (shares[t].bytes != 0) ++open;
      if (shares[t].bytes != 0) send(t, windows[t].says(tcp_kind::syn));
    }
    while (ok_ && open != 0) {
      const std::uint32_t t = next_segment(windows);
      if (!ok_ || !windows[t].full()) continue;
      const ps noticed = c_.time();
      keep(windows[t], shares[t]);
      if (windows[t].over()) --open;
      const bool more = !windows[t].over();
      ok_ = windows[t].slide();
      if (!more) continue;
      ++out_.swaps;
      send(t, windows[t].says(tcp_kind::ack));
      out_.told.add(c_.time() - noticed);
    }
    end_measuring(before);
  }

  // A window of one batch: when it is full nothing else is under way. When has the next one its first byte?
  void quiet_swaps() override {
    const std::uint64_t batch = s_.o.batch * s_.o.buffer;
    std::vector<receiver> windows;
    windows.emplace_back(p_, qps_[0], s_.o, (s_.o.quiet_swaps + 1) * batch, 1);
    ok_ = windows[0].open();
    send(0, windows[0].says(tcp_kind::syn));
    ps sum{0};
    while (ok_) {
      next_segment(windows);
      if (!ok_ || !windows[0].full()) continue;
      const ps noticed = c_.time();
      const bool last = windows[0].over();
      ok_ = windows[0].slide();
      if (last) break;
      sum += until_first_byte(noticed, windows[0].host_address(windows[0].oldest()),
                              [&] { send(0, windows[0].says(tcp_kind::ack)); });
    }
    out_.first_byte = sum / s_.o.quiet_swaps;
  }

  // Takes one segment; its connection.
  std::uint32_t next_segment(std::vector<receiver>& windows) {
    const auto wc = next_write();
    if (!wc) return 0;
    std::uint32_t t = 0;
    while (qps_[t]->qp_num != wc->qp_num) ++t;
    ok_ = windows[t].take(wc->imm_data, wc->byte_len) && post_receive(c_, qps_[t], 0, {}) == 0;
    // The sender must never wait for an acknowledgement that the host does not owe yet.
    if (++since_[t] >= segments_ / 2 && !windows[t].full()) send(t, windows[t].says(tcp_kind::ack));
    return t;
  }
  void keep(const receiver& window, const tcp_share& share) {
    const std::uint64_t end = std::min(window.oldest() + s_.o.batch * s_.o.buffer, share.bytes);
    for (std::uint64_t at = window.oldest(); at < end; at += s_.o.buffer) {
      const std::uint64_t bytes = std::min(s_.o.buffer, end - at);
      p_.memory.read(window.host_address(at), std::as_writable_bytes(std::span(received_).subspan(share.place(at), bytes)));
    }
  }
  void send(std::uint32_t target, const tcp_segment& a) {
    since_[target] = 0;
    tell(target, a);
    ++out_.table_updates;
  }
  void tell_done(std::uint32_t target) override { tell(target, tcp_segment{.kind = tcp_kind::done}); }

  const std::uint32_t segments_;
  std::vector<std::uint32_t> since_;  // segments of each connection since its last acknowledgement
};

}  // namespace

void tcp_host(reuse_state& s, cpu& c, node& n, std::size_t way) {
  tcp_receiver(s, c, n, way).run();
}

}  // namespace hcasim::kit
