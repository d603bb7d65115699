#include "testbenches/scenarios/send_fallback.h"

#include <array>
#include <memory>
#include <optional>

#include "models/driver/embodiments/send_fallback.h"
#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t depth = 8;  // receives of each connection

struct space_news {
  std::uint64_t va = 0;
  std::uint32_t key = 0;
};
struct fallback_state {
  fallback_state(const fallback_options& options, fallback_result& r) : o(options), result(&r) {}
  fallback_options o;
  fallback_result* result;
  std::array<out_of_band<address>, 2> to_host, to_target;
  out_of_band<space_news> ready;
  out_of_band<int> mended;  // the host's end of a connection
  out_of_band<int> finished;
  std::vector<ps> begun;
  std::vector<ps> arrived;
  std::vector<bool> by_send;

  void fail(const char* what) const {
    if (result->problem.empty()) result->problem = what;
  }
  [[nodiscard]] bool good() const { return result->problem.empty(); }
  // So far ahead a buffer is taken away: in time, and beyond what receives let arrive before the host has looked.
  [[nodiscard]] std::uint32_t lead() const { return static_cast<std::uint32_t>(ceil_div(2 * depth, o.every)) * o.every; }
  [[nodiscard]] std::uint32_t slots() const { return 2 * lead(); }
  [[nodiscard]] std::vector<std::byte> packet(std::uint32_t number) const {
    std::vector<std::byte> v(o.size);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::byte>(number * 31 + i * 7 + (i >> 8));
    return v;
  }
};

bool takes_away(fallback_way w) {
  return w == fallback_way::spare || w == fallback_way::same;
}
qp_options options() {
  qp_options q;
  q.send_depth = q.receive_depth = depth;
  q.mtu = IBV_MTU_4096;
  return q;
}

class fallback_host {
 public:
  fallback_host(fallback_state& s, cpu& c, node& n, fallback_way way) : s_(s), c_(c), p_(c, n), way_(way) {}

  void run() {
    memory_ = p_.memory.allocate(s_.slots() * s_.o.size);
    landing_ = p_.allocate(2 * depth * s_.o.size, IBV_ACCESS_LOCAL_WRITE);
    for (std::size_t i = 0; i < 2; ++i) {
      qps_[i] = p_.create_qp(options());
      s_.to_target[i].send(c_, p_.address_of(qps_[i], options()));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      peers_[i] = s_.to_host[i].receive(c_);
      connect(i);
    }
    open();
    for (std::uint32_t i = s_.o.every - 1; takes_away(way_) && i < s_.lead(); i += s_.o.every) take(i);
    s_.arrived.assign(s_.o.messages, 0_ps);
    s_.by_send.assign(s_.o.messages, false);
    s_.o.parts.begin(c_, fallback_ways[static_cast<unsigned>(way_)]);
    const ps spent = c_.spent();
    s_.ready.send(c_, {start_, key_});
    for (std::uint32_t done = 0; done < s_.o.messages && s_.good();) done += one() ? 1 : 0;
    const ps cpu = (c_.spent() - spent) / static_cast<std::int64_t>(s_.o.messages);
    s_.finished.receive(c_);
    s_.o.parts.end(c_);
    if (x_teardown(c_, p_.context, key_) != 0) s_.fail("the space cannot be torn down");
    if (s_.good()) s_.result->outcomes.push_back(outcome(cpu));
  }

 private:
  void connect(std::size_t i) {
    if (p_.connect(qps_[i], peers_[i], options()) != 0) s_.fail("the host cannot connect");
    for (std::uint32_t k = 0; k < depth; ++k) post(i, k);
    flushed_[i] = 0;
  }
  [[nodiscard]] std::uint64_t landing(std::size_t i, std::uint64_t slot) const {
    return landing_.addr + (i * depth + slot) * s_.o.size;
  }
  void post(std::size_t i, std::uint64_t slot) {
    const ibv_sge sge{landing(i, slot), static_cast<std::uint32_t>(s_.o.size), landing_.mr->lkey};
    if (post_receive(c_, qps_[i], slot, {sge}) != 0) s_.fail("a receive cannot be posted");
  }
  [[nodiscard]] x_buffer buffer(std::uint32_t packet) const { return {memory_ + packet % s_.slots() * s_.o.size, s_.o.size}; }

  void open() {
    constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    x_result r;
    for (std::uint32_t i = 0; i < s_.slots(); ++i) {
      const x_buffer b = buffer(i);
      const int status = i == 0 ? x_register(c_, p_.pd, nullptr, {&b, 1}, rights, X_EXTEND, &r)
                                : x_reregister_add(c_, p_.context, key_, {&b, 1}, &r, start_ + i * s_.o.size);
      if (status != 0) cannot_make({"a space of buffers", "driver.log_mrs, driver.extent_lines and hca.command_unit"}, status);
      if (i == 0) start_ = r.start;
      key_ = r.key;
      handles_.push_back(r.handle);
    }
  }
  // The storage of a packet goes, and comes back.
  void take(std::uint32_t packet) {
    x_result r;
    if (packet >= s_.o.messages) return;
    std::uint32_t& handle = handles_[packet % s_.slots()];
    if (x_deregister_part(c_, p_.context, key_, handle, &r) != 0) s_.fail("a buffer cannot be removed");
    handle = 0;
  }
  void give(std::uint32_t packet) {
    x_result r;
    const x_buffer b = buffer(packet);
    const std::uint32_t slot = packet % s_.slots();
    if (handles_[slot] != 0) return;
    if (x_reregister_add(c_, p_.context, key_, {&b, 1}, &r, start_ + slot * s_.o.size) != 0)
      s_.fail("a buffer cannot come back");
    handles_[slot] = r.handle;
  }

  // A completion; true = a packet has arrived.
  bool one() {
    const auto wc = next_completion(c_, p_.cq);
    if (!wc) {
      s_.fail("a packet did not come");
      return false;
    }
    const std::size_t i = wc->qp_num == qps_[0]->qp_num ? 0 : 1;
    // That of the packet with the immediate data, when it is the one refused; then all others.
    if (wc->status == IBV_WC_LOC_ACCESS_ERR || wc->status == IBV_WC_WR_FLUSH_ERR) {
      // The abort has put the connection into the error state; when all of its receives have come back it is set up again. With
      // a second one the packet that was aborted goes first.
      if (++flushed_[i] != depth) return false;
      broken_ = i;
      if (way_ == fallback_way::same || rescued_) mend();
      return false;
    }
    if (wc->status != IBV_WC_SUCCESS) {
      s_.fail(ibv_wc_status_str(wc->status));
      return false;
    }
    const std::uint32_t packet = wc->imm_data;
    const bool written = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    std::vector<std::byte> got(s_.o.size);
    if (written) {
      p_.memory.read(buffer(packet).addr, got);
    } else {
      p_.memory.read(landing(i, wc->wr_id), got);
      c_.copy(got.size());
    }
    s_.arrived[packet] = c_.time();
    s_.by_send[packet] = !written;
    if (got != s_.packet(packet)) s_.fail("a packet has other bytes");
    post(i, wc->wr_id);
    if (takes_away(way_) && packet % s_.o.every == s_.o.every - 1) {
      give(packet);
      take(packet + s_.lead());
    }
    rescued_ = rescued_ || !written;
    if (broken_ && rescued_) mend();
    return true;
  }
  void mend() {
    const std::size_t i = *broken_;
    broken_.reset();
    rescued_ = false;
    if (p_.reset(qps_[i]) != 0) s_.fail("the host cannot reset a connection");
    connect(i);
    s_.mended.send(c_, static_cast<int>(i));
  }

  [[nodiscard]] fallback_outcome outcome(ps cpu) const {
    fallback_outcome r;
    r.host_cpu = cpu;
    for (std::uint32_t i = 0; i < s_.o.messages; ++i) {
      ++(s_.by_send[i] ? r.sent : r.written);
      (s_.by_send[i] ? r.send_time : r.write_time) += s_.arrived[i] - s_.begun[i];
    }
    r.send_time /= std::max<std::int64_t>(1, static_cast<std::int64_t>(r.sent));
    r.write_time /= std::max<std::int64_t>(1, static_cast<std::int64_t>(r.written));
    r.took = s_.arrived.back() - s_.begun.front();
    return r;
  }

  fallback_state& s_;
  cpu& c_;
  process_context p_;
  fallback_way way_;
  std::uint64_t memory_ = 0;
  region landing_;
  std::array<ibv_qp*, 2> qps_{};
  std::array<address, 2> peers_{};
  std::array<std::uint32_t, 2> flushed_{};
  std::optional<std::size_t> broken_;  // the connection to set up again
  bool rescued_ = false;               // the packet of the abort is there
  std::uint64_t start_ = 0;
  std::uint32_t key_ = 0;
  std::vector<std::uint32_t> handles_;
};

class fallback_target {
 public:
  fallback_target(fallback_state& s, cpu& c, node& n, fallback_way way) : s_(s), c_(c), p_(c, n), way_(way) {}

  void run() {
    source_ = p_.allocate(s_.o.size, IBV_ACCESS_LOCAL_WRITE);
    for (std::size_t i = 0; i < 2; ++i) {
      qps_[i] = p_.create_qp(options());
      s_.to_host[i].send(c_, p_.address_of(qps_[i], options()));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      peers_[i] = s_.to_target[i].receive(c_);
      if (p_.connect(qps_[i], peers_[i], options()) != 0) s_.fail("the target cannot connect");
    }
    space_ = s_.ready.receive(c_);
    s_.begun.assign(s_.o.messages, 0_ps);
    for (std::uint32_t i = 0; i < s_.o.messages && s_.good(); ++i) one(i);
    s_.finished.send(c_, 1);
  }

 private:
  void one(std::uint32_t packet) {
    p_.memory.write(source_.addr, s_.packet(packet));
    s_.begun[packet] = c_.time();
    if (way_ == fallback_way::send) {
      if (put(packet, true).status != IBV_WC_SUCCESS) s_.fail("a SEND failed");
      return;
    }
    fallback_step next = fallback_.next(put(packet, false));
    if (next == fallback_step::recover) {
      const std::size_t broken = active_;
      if (way_ == fallback_way::spare) {
        if (mending_) s_.mended.receive(c_);  // of the abort before
        active_ = 1 - active_;
      } else {
        set_up(broken);
        s_.mended.receive(c_);
      }
      next = fallback_.next(put(packet, true));
      if (way_ == fallback_way::spare) {
        set_up(broken);
        mending_ = true;
      }
    }
    if (next != fallback_step::done) s_.fail("a packet could not be delivered");
  }
  ibv_wc put(std::uint32_t packet, bool by_send) {
    return complete(c_, qps_[active_],
                    {.opcode = by_send ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM,
                     .id = packet,
                     .sges = {{source_.addr, static_cast<std::uint32_t>(s_.o.size), source_.mr->lkey}},
                     .remote = space_.va + packet % s_.slots() * s_.o.size,
                     .rkey = space_.key,
                     .immediate = packet});
  }
  void set_up(std::size_t i) {
    if (p_.reset(qps_[i]) != 0 || p_.connect(qps_[i], peers_[i], options()) != 0)
      s_.fail("the target cannot set up a connection");
  }

  fallback_state& s_;
  cpu& c_;
  process_context p_;
  fallback_way way_;
  send_fallback fallback_;
  region source_;
  std::array<ibv_qp*, 2> qps_{};
  std::array<address, 2> peers_{};
  std::size_t active_ = 0;
  bool mending_ = false;  // the host has yet to say that the other connection is there again
  space_news space_;
};

constexpr std::array every_way = {fallback_way::write, fallback_way::spare, fallback_way::same, fallback_way::send};

}  // namespace

void start_fallback(hcasim::system& s, const fallback_options& o, fallback_result& result) {
  std::vector<std::shared_ptr<fallback_state>> states;
  for (std::size_t i = 0; i < every_way.size(); ++i) states.push_back(std::make_shared<fallback_state>(o, result));
  const auto failed = [&result](const std::string& why) { result.problem = why; };
  start_program(
      s, 0, "host",
      [states, &result](cpu& c, node& n) {
        for (std::size_t i = 0; i < every_way.size(); ++i) fallback_host(*states[i], c, n, every_way[i]).run();
        result.ok = result.problem.empty();
      },
      failed);
  start_program(
      s, 1, "target",
      [states](cpu& c, node& n) {
        for (std::size_t i = 0; i < every_way.size(); ++i) fallback_target(*states[i], c, n, every_way[i]).run();
      },
      failed);
}

}  // namespace hcasim::kit
