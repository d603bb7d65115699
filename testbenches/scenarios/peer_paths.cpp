#include <algorithm>
#include <deque>
#include <memory>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/peer.h"
#include "testbenches/scenarios/peer_direct.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t max_window = 16;

struct phase {
  bool into = true;
  bool from_gpu = false;
  bool bounced = false;
  std::uint64_t size = 0;
  std::uint64_t messages = 0;
  std::uint32_t window = 1;
  bool measured = false;  // the stream; otherwise one message at a time
};

struct hello {
  address qp;
  std::uint64_t plain = 0;  // node 0: its memory; node 1: the bounce buffer
  std::uint32_t plain_key = 0;
  std::uint64_t gpu = 0;
  std::uint32_t gpu_key = 0;
};

struct paths_state {
  paths_state(const path_options& o, paths_result& r) : options(o), result(&r) {
    for (std::uint64_t size = o.smallest; size <= o.largest; size *= 4) {
      for (const bool bounced : {false, true}) add(size, true, false, bounced);
      for (const bool bounced : {false, true}) add(size, false, false, bounced);
      if (!o.both_ends) continue;
      for (const bool bounced : {false, true}) add(size, true, true, bounced);
    }
  }
  void add(std::uint64_t size, bool into, bool from_gpu, bool bounced) {
    const std::uint64_t fit = std::max<std::uint64_t>(2, std::min<std::uint64_t>(options.window, 16_MiB / size));
    const std::uint64_t messages = std::max<std::uint64_t>(16 * fit, options.bytes / size);
    phases.push_back({into, from_gpu, bounced, size, messages, static_cast<std::uint32_t>(fit), true});
    phases.push_back({into, from_gpu, bounced, size, 8, 1, false});
    buffer = std::max(buffer, fit * size);
  }

  path_options options;
  paths_result* result;
  std::vector<phase> phases;
  std::uint64_t buffer = 0;
  out_of_band<hello> to_zero;
  out_of_band<hello> to_one;
  out_of_band<int> ready{1_us};  // node 1 has prepared the phase
  out_of_band<int> ended{1_us};  // node 0 has come to its end
  std::vector<ps> begun;         // begin of each message of the phase
  std::vector<ps> arrived;
};

// One side of the stream: posts, takes completions, keeps receives posted.
class side {
 public:
  side(paths_state& s, cpu& c, node& n) : s_(s), c_(c), p_(c, n) {
    options_.send_depth = options_.receive_depth = 2 * max_window + 4;
    options_.mtu = IBV_MTU_4096;
    qp_ = p_.create_qp(options_);
  }

 protected:
  void connect(const address& peer) {
    if (p_.connect(qp_, peer, options_) != 0) fail("cannot connect");
    for (std::uint32_t i = 0; i < 2 * max_window; ++i) post_receive(c_, qp_, 0, {});
  }
  [[nodiscard]] address mine() const { return p_.address_of(qp_, options_); }
  void fail(const char* what) {
    if (s_.result->problem.empty()) s_.result->problem = what;
  }
  // Looks at the CQ; sleeps until there is something when `block`. False = an error, or nothing came.
  bool poll(bool block) {
    ibv_wc wc[16];
    int n = ibv_poll_cq(c_, p_.cq, 16, wc);
    if (n == 0 && block && wait_cq(c_, p_.cq, 100000_ms)) n = ibv_poll_cq(c_, p_.cq, 16, wc);
    for (int i = 0; i < n; ++i) {
      if (wc[i].status != IBV_WC_SUCCESS) {
        fail(ibv_wc_status_str(wc[i].status));
        return false;
      }
      if (wc[i].opcode & IBV_WC_RECV) {
        ++received_;
        post_receive(c_, qp_, 0, {});
      } else {
        ++sent_;
      }
    }
    return n > 0 || !block;
  }
  void send(std::uint64_t from, std::uint32_t lkey, std::uint64_t size, std::uint64_t remote, std::uint32_t rkey) {
    const request r{.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                    .sges = {{from, static_cast<std::uint32_t>(size), lkey}},
                    .remote = remote,
                    .rkey = rkey};
    if (post(c_, qp_, r) != 0) fail("a message cannot be posted");
  }
  // A message without bytes: a slot of the bounce buffer is free again.
  void credit() {
    if (post(c_, qp_, {.opcode = IBV_WR_SEND}) != 0) fail("a credit cannot be posted");
  }
  [[nodiscard]] bool good() const { return s_.result->problem.empty(); }

  paths_state& s_;
  cpu& c_;
  process_context p_;
  qp_options options_;
  ibv_qp* qp_ = nullptr;
  std::uint64_t sent_ = 0;      // completions since the beginning of the phase
  std::uint64_t received_ = 0;  // likewise
};

class host_side final : side {
 public:
  host_side(paths_state& s, cpu& c, node& n) : side(s, c, n), n_(n) {}

  void run() {
    const region memory = p_.allocate(s_.buffer, all_rights, page_policy::huge_2m);
    if (s_.options.both_ends && !open_gpu()) return fail("no GPU at node 0");
    s_.to_one.send(c_, {mine(), memory.addr, memory.mr->rkey});
    peer_ = s_.to_zero.receive(c_);
    connect(peer_.qp);
    for (std::size_t i = 0; i < s_.phases.size() && good(); ++i) {
      s_.ready.receive(c_);
      sent_ = received_ = 0;
      const phase& f = s_.phases[i];
      const auto seed = static_cast<std::uint8_t>(3 * i + 1);
      if (f.from_gpu) {
        fill_peer(n_.peer(0), *owner_, gpu_.addr, f.size, seed);
        give(f, gpu_);
      } else if (f.into) {
        p_.fill(memory.addr, f.size, seed);
        give(f, memory);
      } else {
        take(f);
        intact(f, memory, seed);
      }
      s_.ended.send(c_, 1);
    }
    if (!owner_) return;
    p_.close();
    owner_->leave(c_);
  }

 private:
  bool open_gpu() {
    owner_.emplace(n_.host, node::peer_bar(0), "gpu0");
    if (owner_->open(c_) != 0 || !owner_->join(n_.device().peers())) return false;
    gpu_.length = s_.buffer;
    gpu_.addr = owner_->allocate(c_, p_.memory, s_.buffer);
    gpu_.mr = ibv_reg_mr(c_, p_.pd, gpu_.addr, gpu_.length, all_rights);
    bounce_ = p_.allocate(s_.buffer, all_rights, page_policy::contiguous);
    physical_ = p_.memory.translate(bounce_.addr);
    return gpu_.mr != nullptr;
  }
  // Out of the GPU bounced, a message is copied into a slot of host memory first, and goes from there.
  void give(const phase& f, const region& from) {
    const bool copies = f.from_gpu && f.bounced;
    const std::uint64_t to = f.bounced ? peer_.plain : peer_.gpu;
    const std::uint32_t key = f.bounced ? peer_.plain_key : peer_.gpu_key;
    std::deque<std::uint32_t> copying;
    std::uint64_t begun = 0;
    for (std::uint64_t i = 0; i < f.messages && good();) {
      const std::uint64_t free_again = std::min(f.bounced || f.window == 1 ? received_ : sent_, sent_);
      for (; copies && begun < f.messages && begun - free_again < f.window; ++begun) {
        s_.begun[begun] = c_.time();
        copying.push_back(owner_->start_copy(c_, true, from.addr, physical_ + begun % f.window * f.size, f.size));
      }
      if (copies ? copying.empty() : i - free_again >= f.window) {
        poll(true);
        continue;
      }
      const std::uint64_t slot = i % f.window * f.size;
      if (copies) {
        if (!owner_->wait_copy(c_, copying.front())) fail("a copy out of the GPU of node 0 failed");
        copying.pop_front();
        send(bounce_.addr + slot, bounce_.mr->lkey, f.size, to + slot, key);
        poll(false);
      } else {
        s_.begun[i] = c_.time();
        send(from.addr, from.mr->lkey, f.size, to + slot, key);
      }
      ++i;
    }
    while (good() && (sent_ < f.messages || ((f.bounced || f.window == 1) && received_ < f.messages))) poll(true);
  }
  void take(const phase& f) {
    while (received_ < f.messages && good()) {
      const std::uint64_t before = received_;
      poll(true);
      for (std::uint64_t i = before; i < received_; ++i) s_.arrived[i] = c_.time();
      if (f.window == 1 && received_ > before) credit();
    }
    while (f.window == 1 && sent_ < f.messages && good()) poll(true);
  }
  void intact(const phase& f, const region& memory, std::uint8_t seed) {
    c_.sync();
    std::vector<std::byte> got(f.size);
    p_.memory.read(memory.addr + (f.messages - 1) % f.window * f.size, got);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != static_cast<std::byte>(seed + i * 7 + (i >> 8)))
        return fail("bytes read from the GPU differ from its memory");
    }
  }

  node& n_;
  std::optional<driver::peer::memory_owner> owner_;
  region gpu_;
  region bounce_;
  std::uint64_t physical_ = 0;
  hello peer_;
};

class gpu_side final : side {
 public:
  gpu_side(paths_state& s, cpu& c, node& n) : side(s, c, n), n_(n), owner_(n.host, node::peer_bar(0), "gpu0") {}

  void run() {
    if (owner_.open(c_) != 0 || !owner_.join(n_.device().peers())) return fail("no GPU");
    gpu_.length = s_.buffer;
    gpu_.addr = owner_.allocate(c_, p_.memory, s_.buffer);
    gpu_.mr = ibv_reg_mr(c_, p_.pd, gpu_.addr, gpu_.length, all_rights);
    if (!gpu_.mr) return fail("the GPU's memory cannot be registered");
    bounce_ = p_.allocate(s_.buffer, all_rights, page_policy::contiguous);
    physical_ = p_.memory.translate(bounce_.addr);
    peer_ = s_.to_one.receive(c_);
    s_.to_zero.send(c_, {mine(), bounce_.addr, bounce_.mr->rkey, gpu_.addr, gpu_.mr->rkey});
    connect(peer_.qp);
    for (std::size_t i = 0; i < s_.phases.size() && good(); ++i) one(s_.phases[i], static_cast<std::uint8_t>(3 * i + 1));
    s_.result->ok = good();
    p_.close();
    owner_.leave(c_);
  }

 private:
  void one(const phase& f, std::uint8_t seed) {
    s_.begun.assign(f.messages, 0_ps);
    s_.arrived.assign(f.messages, 0_ps);
    sent_ = received_ = 0;
    if (f.into) {
      for (std::uint32_t i = 0; i < f.window; ++i) {
        const std::vector<std::byte> nothing(f.size);
        write_gpu(i * f.size, nothing);
      }
    } else {
      for (std::uint32_t i = 0; i < f.window; ++i) fill_peer(n_.peer(0), owner_, gpu_.addr + i * f.size, f.size, seed);
    }
    c_.sync();
    const link_bytes before = links();
    const ps cpu_before = c_.spent();
    s_.ready.send(c_, 1);
    if (f.into) {
      take(f);
    } else {
      give(f);
    }
    const ps cpu = c_.spent() - cpu_before;
    s_.ended.receive(c_);
    if (!good()) return;
    path_outcome& o = outcome(f);
    ps latency{0};
    for (std::uint64_t i = 0; i < f.messages; ++i) latency += s_.arrived[i] - s_.begun[i];
    if (!f.measured) {
      o.latency = latency / static_cast<std::int64_t>(f.messages);
      return;
    }
    o.messages = f.messages;
    const std::uint64_t first = 2 * f.window;
    o.steady = f.messages - first;
    o.took = s_.arrived.back() - s_.arrived[first - 1];
    o.cpu = cpu / static_cast<std::int64_t>(f.messages);
    const link_bytes after = links();
    o.pcie = {after.adapter_up - before.adapter_up, after.adapter_down - before.adapter_down, after.gpu_up - before.gpu_up,
              after.gpu_down - before.gpu_down};
    o.intact = true;
    if (f.into) o.intact = intact(f, seed);
    if (!o.intact) fail("bytes in the GPU differ from the bytes sent");
  }

  // Messages come; bounced, each is copied on, and its slot given back when the copy has ended.
  void take(const phase& f) {
    std::deque<std::uint32_t> copies;
    std::uint64_t started = 0;
    std::uint64_t done = 0;
    while (done < f.messages && good()) {
      poll(copies.empty());
      for (; started < received_; ++started) {
        if (!f.bounced) {
          s_.arrived[done++] = c_.time();
          if (f.window == 1) credit();
          continue;
        }
        const std::uint64_t slot = started % f.window * f.size;
        copies.push_back(owner_.start_copy(c_, false, gpu_.addr + slot, physical_ + slot, f.size));
      }
      if (copies.empty()) continue;
      if (!owner_.wait_copy(c_, copies.front())) fail("a copy into the GPU failed");
      copies.pop_front();
      s_.arrived[done++] = c_.time();
      credit();
    }
    const std::uint64_t credits = f.bounced || f.window == 1 ? f.messages : 0;
    while (sent_ < credits && good()) poll(true);
  }

  // Messages go; bounced, each is copied out first, and its slot is free when it has been sent.
  void give(const phase& f) {
    std::deque<std::uint32_t> copies;
    std::uint64_t started = 0;
    std::uint64_t posted = 0;
    while (sent_ < f.messages && good()) {
      const std::uint64_t free_again = f.window == 1 ? std::min(sent_, received_) : sent_;
      while (started < f.messages && started - free_again < f.window) {
        s_.begun[started] = c_.time();
        const std::uint64_t slot = started % f.window * f.size;
        if (f.bounced) copies.push_back(owner_.start_copy(c_, true, gpu_.addr + slot, physical_ + slot, f.size));
        ++started;
      }
      if (f.bounced && !copies.empty()) {
        if (!owner_.wait_copy(c_, copies.front())) fail("a copy out of the GPU failed");
        copies.pop_front();
        post_one(f, posted++);
      } else if (!f.bounced && posted < started) {
        post_one(f, posted++);
        continue;
      }
      poll(copies.empty() && posted == started);
    }
    while (f.window == 1 && received_ < f.messages && good()) poll(true);
  }
  void post_one(const phase& f, std::uint64_t i) {
    const std::uint64_t slot = i % f.window * f.size;
    const region& from = f.bounced ? bounce_ : gpu_;
    send(from.addr + slot, from.mr->lkey, f.size, peer_.plain + slot, peer_.plain_key);
  }

  void write_gpu(std::uint64_t at, std::span<const std::byte> bytes) {
    for_each_piece(owner_, gpu_.addr + at, bytes.size(), [&](std::uint64_t offset, std::uint64_t k, std::uint64_t done) {
      n_.peer(0).memory().write(offset, bytes.subspan(done, k));
    });
  }
  bool intact(const phase& f, std::uint8_t seed) {
    const auto got = peer_bytes(n_.peer(0), owner_, gpu_.addr + (f.messages - 1) % f.window * f.size, f.size);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != static_cast<std::uint8_t>(seed + i * 7 + (i >> 8))) return false;
    }
    return true;
  }
  link_bytes links() {
    const auto of = [this](const std::string& link) {
      return static_cast<std::uint64_t>(statistic_of(n_.pcie, link + "_payload_bytes") +
                                        statistic_of(n_.pcie, link + "_header_bytes"));
    };
    return {of("device0_up"), of("device0_down"), of("device1_up"), of("device1_down")};
  }
  path_outcome& outcome(const phase& f) {
    for (path_outcome& o : s_.result->outcomes) {
      if (o.into == f.into && o.from_gpu == f.from_gpu && o.bounced == f.bounced && o.size == f.size) return o;
    }
    path_outcome& o = s_.result->outcomes.emplace_back();
    o.into = f.into;
    o.from_gpu = f.from_gpu;
    o.bounced = f.bounced;
    o.size = f.size;
    return o;
  }

  node& n_;
  driver::peer::memory_owner owner_;
  region gpu_;
  region bounce_;
  std::uint64_t physical_ = 0;
  hello peer_;
};

}  // namespace

void start_paths(hcasim::system& s, const path_options& o, paths_result& result) {
  const auto state = std::make_shared<paths_state>(o, result);
  const auto failed = [&result](const std::string& why) { result.problem = why; };
  start_program(
      s, 0, "host_side", [state](cpu& c, node& n) { host_side(*state, c, n).run(); }, failed);
  start_program(
      s, 1, "gpu_side", [state](cpu& c, node& n) { gpu_side(*state, c, n).run(); }, failed);
}

}  // namespace hcasim::kit
