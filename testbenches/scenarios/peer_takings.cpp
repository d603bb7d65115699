#include <algorithm>
#include <memory>

#include "testbenches/kit/peer.h"
#include "testbenches/scenarios/peer_direct.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

struct doomed_memory {
  std::uint64_t va = 0;
  std::uint32_t key = 0;
  bool last = false;
};

struct takings_state {
  takings_state(const taking_options& options, std::uint64_t s, takings_result& r) : o(options), seed(s), result(&r) {}

  taking_options o;
  std::uint64_t seed;
  takings_result* result;
  out_of_band<std::vector<address>> to_owner{2_us};
  out_of_band<std::vector<address>> to_user{2_us};
  out_of_band<doomed_memory> memory{1_us};
  doomed_memory stays;
  out_of_band<int> broken{1_us};  // every doomed connection of the user is at its end
  out_of_band<int> mended{1_us};

  void problem(const char* text) {
    if (result->problem.empty()) result->problem = text;
  }
  [[nodiscard]] std::uint32_t lanes() const { return o.doomed + o.background; }
  [[nodiscard]] qp_options settings() const {
    qp_options q;
    q.send_depth = o.window + 2;
    q.receive_depth = 1;
    q.mtu = IBV_MTU_4096;
    q.timeout = 12;
    return q;
  }
};

// Node 0: keeps a window of requests under way on every connection; puts the doomed ones together again when they have broken.
class user {
 public:
  user(takings_state& s, cpu& c, node& n) : s_(s), c_(c), p_(c, n), lanes_(s.lanes()) {}

  void run() {
    cq_ = made(ibv_create_cq(c_, p_.context, static_cast<int>(2 * s_.lanes() * s_.o.window + 16), nullptr, nullptr, 0));
    std::vector<address> mine;
    for (lane& l : lanes_) {
      l.qp = p_.create_qp(s_.settings(), nullptr, cq_);
      mine.push_back(p_.address_of(l.qp, s_.settings()));
      by_number_.emplace_back(l.qp->qp_num, &l);
    }
    s_.to_owner.send(c_, mine);
    peers_ = s_.to_user.receive(c_);
    local_ = p_.allocate(std::uint64_t{s_.o.size} * s_.o.window);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!connect(i)) return s_.problem("cannot connect");
    }
    for (doomed_memory m = s_.memory.receive(c_); !m.last && s_.result->problem.empty(); m = s_.memory.receive(c_)) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].to = i < s_.o.doomed ? m : s_.stays;
      while (!all_broken()) {
        fill();
        poll();
      }
      for (std::size_t i = 0; i < s_.o.doomed; ++i) {
        if (!connect(i)) s_.problem("cannot connect again");
      }
      s_.broken.send(c_, 1);
      s_.mended.receive(c_);
    }
    drain();
    p_.close();
  }

 private:
  struct lane {
    ibv_qp* qp = nullptr;
    doomed_memory to;
    std::uint32_t outstanding = 0;
    std::uint64_t next = 0;
    bool failed = false;
  };

  bool connect(std::size_t i) {
    lane& l = lanes_[i];
    if (l.failed && p_.reset(l.qp) != 0) return false;
    l.failed = false;
    return p_.connect(l.qp, peers_[i], s_.settings()) == 0;
  }
  [[nodiscard]] bool all_broken() const {
    return std::all_of(lanes_.begin(), lanes_.begin() + s_.o.doomed,
                       [](const lane& l) { return l.failed && l.outstanding == 0; }) ||
           !s_.result->problem.empty();
  }
  void fill() {
    const std::uint64_t slots = s_.o.region / s_.o.size;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lane& l = lanes_[i];
      while (!l.failed && l.outstanding < s_.o.window) {
        const request r{
            .opcode = i % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
            .id = l.next,
            .sges = {{local_.addr + l.next % s_.o.window * s_.o.size, static_cast<std::uint32_t>(s_.o.size), local_.mr->lkey}},
            .remote = l.to.va + l.next % slots * s_.o.size,
            .rkey = l.to.key};
        if (post(c_, l.qp, r) != 0) return s_.problem("a request cannot be posted");
        ++l.next;
        ++l.outstanding;
      }
    }
  }
  void poll() {
    ibv_wc wc[32];
    int n = ibv_poll_cq(c_, cq_, 32, wc);
    if (n == 0 && wait_cq(c_, cq_, 100_ms)) n = ibv_poll_cq(c_, cq_, 32, wc);
    if (n == 0) return s_.problem("no completion comes");
    for (int i = 0; i < n; ++i) {
      const auto found =
          std::find_if(by_number_.begin(), by_number_.end(), [&](const auto& x) { return x.first == wc[i].qp_num; });
      lane& l = *found->second;
      --l.outstanding;
      ++s_.result->requests;
      if (wc[i].status == IBV_WC_SUCCESS) continue;
      const bool doomed = &l < lanes_.data() + s_.o.doomed;
      if (!doomed || (!l.failed && wc[i].status != IBV_WC_REM_ACCESS_ERR)) s_.problem(ibv_wc_status_str(wc[i].status));
      l.failed = true;
    }
  }
  void drain() {
    while (std::any_of(lanes_.begin(), lanes_.end(), [](const lane& l) { return l.outstanding != 0; }) &&
           s_.result->problem.empty())
      poll();
  }

  takings_state& s_;
  cpu& c_;
  process_context p_;
  std::vector<lane> lanes_;
  std::vector<std::pair<std::uint32_t, lane*>> by_number_;
  std::vector<address> peers_;
  ibv_cq* cq_ = nullptr;
  region local_;
};

// Node 1: has the GPU; gives memory to the user, and takes it away.
class taker {
 public:
  taker(takings_state& s, cpu& c, node& n)
      : s_(s),
        c_(c),
        n_(n),
        p_(c, n),
        owner_(n.host, node::peer_bar(0), "gpu0", {.allocate_call = 0_ps}),
        monitor_(n.peer(0)),
        random_(s.seed, "taker") {}

  void run() {
    if (owner_.open(c_) != 0 || !owner_.join(n_.device().peers())) return s_.problem("no GPU");
    const std::vector<address> users = s_.to_owner.receive(c_);
    std::vector<address> mine;
    for (const address& u : users) {
      lanes_.push_back(p_.create_qp(s_.settings()));
      p_.must_connect(lanes_.back(), u, s_.settings());
      mine.push_back(p_.address_of(lanes_.back(), s_.settings()));
    }
    ibv_mr* stays = nullptr;
    s_.stays = fresh(stays);
    s_.to_user.send(c_, mine);
    for (std::uint32_t i = 0; i < s_.o.times && s_.result->problem.empty(); ++i) take_one(users);
    s_.memory.send(c_, {0, 0, true});
    s_.result->late_bytes = monitor_.late_bytes();
    s_.result->violation = monitor_.violation();
    c_.spend(2000_us);
    c_.sync();  // the user's last requests
    s_.result->ok = s_.result->problem.empty() && p_.close();
    owner_.leave(c_);
  }

 private:
  doomed_memory fresh(ibv_mr*& mr) {
    const std::uint64_t va = owner_.allocate(c_, p_.memory, s_.o.region);
    mr = va ? ibv_reg_mr(c_, p_.pd, va, s_.o.region, all_rights) : nullptr;
    if (!mr) {
      s_.problem("the GPU's memory cannot be registered");
      return {};
    }
    return {va, mr->rkey, false};
  }

  void take_one(const std::vector<address>& users) {
    ibv_mr* mr = nullptr;
    const doomed_memory m = fresh(mr);
    if (!mr) return;
    std::vector<driver::peer::page_pool::run> pieces;
    for_each_piece(owner_, m.va, s_.o.region, [&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t) {
      pieces.push_back({offset, bytes});
    });
    s_.memory.send(c_, m);
    c_.spend(15_us + ps(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(s_.o.within.count())))));
    c_.sync();
    const std::uint64_t in_flight = n_.hca.key_check.references();
    if (owner_.free(c_, m.va) != 0) return s_.problem("the memory cannot be taken away");
    c_.sync();
    for (const auto& piece : pieces) monitor_.forbid(piece.offset, piece.bytes);
    s_.result->takings.push_back({in_flight, ps(static_cast<std::int64_t>(owner_.callback_time().sum() - sum_))});
    sum_ = owner_.callback_time().sum();
    // The pages stay forbidden: no later allocation gets them.
    owner_.allocate(c_, p_.memory, s_.o.region);
    if (ibv_dereg_mr(c_, mr) != 0) s_.problem("the region cannot be de-registered");
    s_.broken.receive(c_);
    for (std::uint32_t i = 0; i < s_.o.doomed; ++i) {
      if (p_.reset(lanes_[i]) != 0 || p_.connect(lanes_[i], users[i], s_.settings()) != 0)
        s_.problem("the owner cannot connect again");
    }
    s_.mended.send(c_, 1);
  }

  takings_state& s_;
  cpu& c_;
  node& n_;
  process_context p_;
  driver::peer::memory_owner owner_;
  port_monitor monitor_;
  random_stream random_;
  std::vector<ibv_qp*> lanes_;
  double sum_ = 0;
};

}  // namespace

void start_takings(hcasim::system& s, const taking_options& o, std::uint64_t seed, takings_result& result) {
  const auto state = std::make_shared<takings_state>(o, seed, result);
  const auto failed = [&result](const std::string& why) { result.problem = why; };
  start_program(
      s, 0, "user", [state](cpu& c, node& n) { user(*state, c, n).run(); }, failed);
  start_program(
      s, 1, "taker", [state](cpu& c, node& n) { taker(*state, c, n).run(); }, failed);
}

}  // namespace hcasim::kit
