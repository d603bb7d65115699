#include "testbenches/scenarios/key_lifecycle.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t traffic_bytes = 64;

struct live_key {
  std::uint64_t va;
  std::uint32_t key;
};

struct attempt {  // of the peer, to write into the page; no key: it is to end
  std::uint64_t va;
  std::uint32_t key;
};

struct lifecycle_state {
  lifecycle_state(const lifecycle_options& options, std::uint64_t s, lifecycle_outcome& result)
      : o(options), seed(s), out(&result) {}

  lifecycle_options o;
  std::uint64_t seed;
  lifecycle_outcome* out;
  out_of_band<std::vector<address>> to_owner;
  out_of_band<std::vector<address>> to_peer;
  out_of_band<attempt> attempts{1_us};
  out_of_band<ibv_wc_status> results{1_us};
  std::vector<live_key> live;          // what the traffic writes to
  latency_record* recorder = nullptr;  // of the traffic; it rests while there is none
  std::uint32_t records = 0;           // each begins with the same addresses
  bool over = false;
  bool traffic_gone = false;

  void record(latency_record* r) {
    recorder = r;
    if (r) ++records;
  }
  void problem(const std::string& text) {
    if (out->problem.empty()) out->problem = text;
  }
};

qp_options settings() {
  return {.send_depth = 16, .receive_depth = 1, .sge = 1, .privileged = true, .timeout = 14};
}

struct adapter_counts {
  explicit adapter_counts(node& n)
      : commands(sum_of(n.hca.command_unit, "command_time")),
        pcie(statistics_ending_in(n.pcie, "header_bytes") + statistics_ending_in(n.pcie, "payload_bytes")),
        misses(statistic_of(n.hca.mrc_cache, "misses") + statistic_of(n.hca.page_walker, "reads_level_0")) {
    for (const char* op : {"binds_time", "invalidates_time", "fast_registers_time"}) unit += sum_of(n.hca.window_unit, op);
  }
  double commands, pcie, misses;
  double unit = 0;
};

ps as_ps(double v) {
  return ps(static_cast<std::int64_t>(v));
}

// The owner of the page and of the live keys.
class owner_side {
 public:
  owner_side(lifecycle_state& s, cpu& c, node& n) : s_(s), c_(c), n_(n), p_(c, n) {}

  void run() {
    connect();
    for (const std::uint32_t keys : s_.o.live_keys) {
      if (!s_.out->problem.empty()) break;
      add_live_keys(keys);
      s_.out->undisturbed.push_back(undisturbed());
      for (std::size_t w = 0; w < rights_ways && s_.out->problem.empty(); ++w) measure(static_cast<rights_way>(w), keys);
    }
    s_.over = true;
    s_.attempts.send(c_, {0, 0});
    while (!s_.traffic_gone) rest(10_us);
    s_.out->ok = s_.out->problem.empty();
  }

 private:
  void connect() {
    const std::vector<address> peers = s_.to_owner.receive(c_);
    std::vector<address> mine;
    ibv_cq* changes = made(ibv_create_cq(c_, p_.context, 32, nullptr, nullptr, 0));
    for (const address& a : peers) {
      qps_.push_back(p_.create_qp(settings(), nullptr, qps_.empty() ? changes : nullptr));
      p_.must_connect(qps_.back(), a, settings());
      mine.push_back(p_.address_of(qps_.back(), settings()));
    }
    peer_ = peers.front();
    s_.to_peer.send(c_, std::move(mine));
  }

  void rest(ps t) {
    c_.spend(t);
    c_.sync();
  }

  void add_live_keys(std::uint32_t keys) {
    if (memory_ == 0) memory_ = p_.memory.allocate(4096);
    while (s_.live.size() < keys) {
      ibv_mr* mr = ibv_reg_mr(c_, p_.pd, memory_, 4096, all_rights);
      if (!mr) return s_.problem("a live key could not be registered");
      s_.live.push_back({memory_, mr->rkey});
    }
  }

  // The first time is for the caches: the changes are measured when they are warm, too.
  latency_record undisturbed() {
    latency_record r;
    for (int turn = 0; turn < 2; ++turn) {
      r.latencies.clear();
      s_.record(&r);
      while (r.latencies.size() < s_.o.traffic && s_.out->problem.empty()) rest(1_us);
      s_.record(nullptr);
      rest(50_us);
    }
    return r;
  }

  // Returns the status of the peer's WRITE into the page. A refused one breaks the connection, which is mended.
  ibv_wc_status peer_writes(const key_rights& r) {
    s_.attempts.send(c_, {r.va(), r.key()});
    const ibv_wc_status status = s_.results.receive(c_);
    if (status == IBV_WC_SUCCESS) return status;
    if (p_.reset(qps_[0]) != 0 || p_.connect(qps_[0], peer_, settings()) != 0) s_.problem("the owner cannot connect again");
    s_.attempts.send(c_, {r.va(), 0});
    s_.results.receive(c_);
    return status;
  }

  void measure(rights_way way, std::uint32_t keys) {
    const auto rights = key_rights::make(way, p_, qps_[0]);
    lifecycle_row row;
    row.way = way;
    row.live_keys = keys;
    bool ok = rights->open() && rights->grant();
    ok = ok && peer_writes(*rights) == IBV_WC_SUCCESS && rights->revoke();
    ok = ok && peer_writes(*rights) == IBV_WC_REM_ACCESS_ERR;
    if (!ok) s_.problem(std::string(name_of(way)) + ": the peer could write while it had no right, or could not while it had");
    s_.o.parts.begin(c_, std::string(name_of(way)));
    if (ok) ok = quiet(*rights, row);
    if (ok) ok = loaded(*rights, row);
    s_.o.parts.end(c_);
    ok = rights->close() && ok;
    if (!ok) s_.problem(std::string(name_of(way)) + ": a change of rights failed");
    s_.out->rows.push_back(std::move(row));
  }

  bool quiet(key_rights& rights, lifecycle_row& row) {
    const double cold = adapter_counts(n_).misses;
    const auto timed = [&](bool give) {
      const adapter_counts before(n_);
      const ps begin = c_.time();
      const ps spent = c_.spent();
      const bool ok = give ? rights.grant() : rights.revoke();
      row.total += c_.time() - begin;
      row.cpu += c_.spent() - spent;
      rest(2_us);  // what was posted lands
      const adapter_counts after(n_);
      row.commands += as_ps(after.commands - before.commands);
      row.unit += as_ps(after.unit - before.unit);
      row.pcie_bytes += after.pcie - before.pcie;
      ++row.changes;
      return ok;
    };
    for (std::uint32_t i = 0; i < s_.o.changes / 2; ++i) {
      if (!timed(true) || peer_writes(rights) != IBV_WC_SUCCESS || !timed(false)) return false;
    }
    row.misses = adapter_counts(n_).misses - cold;
    return true;
  }

  bool loaded(key_rights& rights, lifecycle_row& row) {
    s_.record(&row.traffic);
    rest(5_us);
    const auto timed = [&](latency_record& r, bool done, ps begin) {
      r.latencies.push_back(c_.time() - begin);
      return done;
    };
    bool ok = true;
    for (std::uint32_t i = 0; ok && (i < s_.o.changes / 2 || row.traffic.latencies.size() < s_.o.traffic); ++i) {
      ps begin = c_.time();
      ok = timed(row.grant, rights.grant(), begin);
      begin = c_.time();
      ok = ok && timed(row.revoke, rights.revoke(), begin);
    }
    s_.record(nullptr);
    rest(50_us);
    return ok;
  }

  lifecycle_state& s_;
  cpu& c_;
  node& n_;
  process_context p_;
  std::vector<ibv_qp*> qps_;  // the first one is the page's
  address peer_;
  std::uint64_t memory_ = 0;
};

// Writes into the page when it is told to, on the first connection, and to the live keys on the others.
class peer_side {
 public:
  peer_side(lifecycle_state& s, cpu& c, node& n) : s_(s), c_(c), p_(c, n), random_(s.seed, "key_lifecycle") {}

  void run() {
    std::vector<address> mine;
    page_cq_ = made(ibv_create_cq(c_, p_.context, 16, nullptr, nullptr, 0));
    for (std::uint32_t i = 0; i <= s_.o.lanes; ++i) {
      qps_.push_back(p_.create_qp(settings(), nullptr, i == 0 ? page_cq_ : nullptr));
      mine.push_back(p_.address_of(qps_.back(), settings()));
    }
    s_.to_owner.send(c_, std::move(mine));
    owners_ = s_.to_peer.receive(c_);
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      if (owners_.size() != qps_.size() || p_.connect(qps_[i], owners_[i], settings()) != 0)
        s_.problem("the peer cannot connect");
    }
    from_ = p_.allocate(4096);
    posted_.resize(qps_.size());
    while (!s_.over) {
      if (!s_.attempts.empty()) attempt_page();
      traffic();
    }
    while (outstanding_ > 0) traffic();
    s_.traffic_gone = true;
  }

 private:
  void attempt_page() {
    const attempt a = s_.attempts.receive(c_);
    if (a.va == 0) return;
    if (a.key == 0) {  // the owner has connected anew
      const bool ok = p_.reset(qps_[0]) == 0 && p_.connect(qps_[0], owners_[0], settings()) == 0;
      s_.results.send(c_, ok ? IBV_WC_SUCCESS : IBV_WC_GENERAL_ERR);
      return;
    }
    const request r{.sges = {{from_.addr, traffic_bytes, from_.mr->lkey}}, .remote = a.va, .rkey = a.key};
    s_.results.send(c_, complete(c_, qps_[0], r).status);
  }

  void traffic() {
    if (records_ != s_.records) {
      records_ = s_.records;
      random_ = random_stream(s_.seed, "key_lifecycle");
    }
    ibv_wc wc{};
    while (ibv_poll_cq(c_, p_.cq, 1, &wc) == 1) {
      if (wc.status != IBV_WC_SUCCESS) s_.problem("the traffic failed");
      if (s_.recorder) s_.recorder->latencies.push_back(c_.time() - posted_[wc.wr_id]);
      posted_[wc.wr_id] = ps(0);
      --outstanding_;
    }
    for (std::size_t i = 1; i < qps_.size() && s_.recorder; ++i) {
      if (posted_[i] != ps(0)) continue;
      const live_key& to = s_.live[random_.below(s_.live.size())];
      posted_[i] = c_.time();
      const std::uint64_t at = to.va + traffic_bytes * random_.below(4096 / traffic_bytes);
      const request r{.id = i, .sges = {{from_.addr, traffic_bytes, from_.mr->lkey}}, .remote = at, .rkey = to.key};
      if (post(c_, qps_[i], r) != 0) return s_.problem("the traffic could not be posted");
      ++outstanding_;
    }
    if (outstanding_ == 0) {
      c_.spend(1_us);
      c_.sync();
    } else if (s_.attempts.empty()) {
      (void)wait_cq(c_, p_.cq, 1_us);
    }
  }

  lifecycle_state& s_;
  cpu& c_;
  process_context p_;
  random_stream random_;
  ibv_cq* page_cq_ = nullptr;
  std::vector<ibv_qp*> qps_;
  std::vector<address> owners_;
  std::vector<ps> posted_;
  std::uint32_t outstanding_ = 0;
  std::uint32_t records_ = 0;
  region from_;
};

}  // namespace

ps latency_record::percentile(double p) const {
  if (latencies.empty()) return ps(0);
  std::vector<ps> sorted = latencies;
  const auto at = static_cast<std::ptrdiff_t>(std::ceil(p / 100 * static_cast<double>(sorted.size())));
  const auto nth = sorted.begin() + std::clamp<std::ptrdiff_t>(at - 1, 0, std::ssize(sorted) - 1);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return *nth;
}

ps stall_of(const latency_record& undisturbed, const latency_record& disturbed) {
  const auto n = static_cast<std::ptrdiff_t>(std::min(undisturbed.latencies.size(), disturbed.latencies.size()));
  if (n == 0) return ps(0);
  std::vector<ps> still(undisturbed.latencies.begin(), undisturbed.latencies.begin() + n);
  std::vector<ps> moved(disturbed.latencies.begin(), disturbed.latencies.begin() + n);
  std::sort(still.begin(), still.end());
  std::sort(moved.begin(), moved.end());
  ps later{0};
  for (std::size_t i = 0; i < still.size(); ++i) later += std::max(moved[i] - still[i], ps(0));
  return later / n;
}

void start_lifecycle(hcasim::system& s, const lifecycle_options& o, std::uint64_t seed, lifecycle_outcome& out) {
  auto state = std::make_shared<lifecycle_state>(o, seed, out);
  start_program(s, 0, "peer", [state](cpu& c, node& n) { peer_side(*state, c, n).run(); });
  start_program(s, 1, "owner", [state](cpu& c, node& n) { owner_side(*state, c, n).run(); });
}

}  // namespace hcasim::kit
