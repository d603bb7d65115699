#include "testbenches/checks/system_laws/traffic.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/traffic_target.h"

namespace hcasim::metamorphic {

using namespace kit;  // NOLINT(google-build-using-namespace): programs read like libibverbs

std::size_t middle_begin(std::size_t messages) {
  return messages * 3 / 10;
}
std::size_t middle_end(std::size_t messages) {
  return messages * 3 / 4;
}

double middle_rate(const traffic_result& r) {
  std::vector<double> t;
  t.reserve(r.completions.size());
  for (const completed_message& m : r.completions) t.push_back(static_cast<double>(m.at.count()));
  std::sort(t.begin(), t.end());
  const std::size_t first = middle_begin(t.size());
  const std::size_t n = middle_end(t.size()) - first;
  if (n < 2) return 0;
  const double mean_t =
      std::accumulate(t.begin() + static_cast<std::ptrdiff_t>(first), t.begin() + static_cast<std::ptrdiff_t>(first + n), 0.0) /
      static_cast<double>(n);
  const double mean_i = static_cast<double>(n - 1) / 2;
  double both = 0;
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double dt = t[first + i] - mean_t;
    both += dt * (static_cast<double>(i) - mean_i);
    square += dt * dt;
  }
  return square > 0 ? both / square * 1e12 : 0;
}

namespace {

// One node's program: the targets of flows that end here, the sources of those that begin here.
class side {
 public:
  side(traffic_state& s, cpu& c, node& n, std::size_t index) : s_(s), o_(s.options), c_(c), p_(*new process_context(c, n)) {
    for (std::size_t f = 0; f < o_.flows.size(); ++f) {
      if (o_.flows[f].to == index) targets_.push_back(std::make_unique<target>(s, p_, f));
      if (o_.flows[f].from == index) sources_.push_back({f, {}, 0});
    }
  }

  void run() {
    make_idle();
    for (source& f : sources_) make_qps(f);
    for (auto& t : targets_) t->make();
    s_.meet(c_);
    for (source& f : sources_) connect(f);
    for (auto& t : targets_) t->connect();
    s_.meet(c_);
    const ps begin = ps(static_cast<std::int64_t>(ceil_div(static_cast<std::uint64_t>(c_.time().count()),
                                                           static_cast<std::uint64_t>(o_.grid.count()))) *
                        o_.grid.count());
    s_.result->begin = begin;
    // Not all at once: who is first among equals would be chance.
    const auto turn = static_cast<std::int64_t>(sources_.empty() ? 0 : sources_[0].flow);
    c_.spend(begin - c_.time() + ps(o_.grid.count() / 10'000'000 * turn));
    c_.sync();
    s_.begun(c_);
    if (s_.good()) stream();
    s_.meet(c_);
    for (auto& t : targets_) t->look();
    if (o_.tidy) {
      targets_.clear();
      if (!p_.close()) s_.problem("something was in use when the process ended");
      delete &p_;  // NOLINT(cppcoreguidelines-owning-memory): otherwise it is left to the end of the host's process
    }
    ++s_.result->finished;
  }

 private:
  struct lane {
    ibv_qp* qp = nullptr;
    ibv_mw* mw = nullptr;
    ibv_ah* ah = nullptr;
    std::uint32_t posted = 0;
    std::uint32_t completed = 0;
    std::uint32_t limit = 0;
    std::uint32_t freed = 0;  // completed, and nothing posted in their place
  };
  struct source {
    std::size_t flow;
    std::vector<lane> lanes;
    std::size_t first;  // of its lanes among all of this node
  };

  void make_idle() {
    const qp_options q = s_.qp_settings();
    for (std::uint32_t i = 0; i < o_.idle_regions; ++i) p_.allocate(4096);
    for (std::uint32_t i = 0; i < o_.idle_windows; ++i) made(ibv_alloc_mw(c_, p_.pd, i % 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
    for (std::uint32_t i = 0; i < o_.idle_qps; ++i) p_.create_qp(q);
  }

  void make_qps(source& f) {
    const qp_options q = s_.qp_settings();
    const auto most = static_cast<int>(sources_.size() * o_.qps * o_.window * 2);
    if (!cq_) cq_ = made(ibv_create_cq(c_, p_.context, most, nullptr, nullptr, 0));
    f.lanes.resize(o_.qps);
    s_.flows[f.flow].sources.resize(o_.qps);
    for (std::uint32_t i = 0; i < o_.qps; ++i) {
      const std::uint32_t at = o_.renumbered ? o_.qps - 1 - i : i;
      f.lanes[at].qp = p_.create_qp(q, nullptr, cq_);
      f.lanes[at].limit = static_cast<std::uint32_t>(o_.messages / o_.qps + (at < o_.messages % o_.qps ? 1 : 0));
      s_.flows[f.flow].sources[at] = p_.address_of(f.lanes[at].qp, q);
    }
    const std::uint64_t slot = std::max<std::uint64_t>(align_up(o_.size, 64), 64);
    from_.push_back(p_.allocate(align_up(slot * o_.qps, 4096)));
    into_.push_back(p_.allocate(align_up(slot * o_.qps, 4096)));
    for (std::uint32_t i = 0; i < o_.qps; ++i) p_.fill(from_.back().addr + i * slot, o_.size, 1);
  }

  void connect(source& f) {
    const flow_state& there = s_.flows[f.flow];
    f.first = lanes_.size();
    for (std::uint32_t i = 0; i < o_.qps; ++i) {
      lanes_.push_back(&f.lanes[i]);
      if (s_.connect(p_, f.lanes[i].qp, there.targets[i], true) != 0) s_.refuse("a QP cannot be connected");
      if (o_.how == service::groups) f.lanes[i].ah = handle_of(group_for(f.flow, i));
      if (std::find(o_.mix.begin(), o_.mix.end(), op::bind) == o_.mix.end()) continue;
      f.lanes[i].mw = made(ibv_alloc_mw(c_, p_.pd, IBV_MW_TYPE_1));
    }
  }

  ibv_ah* handle_of(const group& to) {
    ibv_ah_attr a{to.lid, 0, 1, 1, {.dgid = to.gid, .flow_label = 0, .sgid_index = 0, .hop_limit = 1, .traffic_class = 0}};
    return made(ibv_create_ah(c_, p_.pd, &a));
  }

  void stream() {
    for (std::size_t l = 0; l < lanes_.size() && s_.good(); ++l) {
      for (std::uint32_t i = 0; i < o_.window; i += o_.batch) post(l, o_.batch);
    }
    std::size_t left = 0;
    for (const lane* l : lanes_) left += l->limit;
    std::vector<ibv_wc> wc(64);
    while (left > 0 && s_.good()) {
      const int got = ibv_poll_cq(c_, cq_, static_cast<int>(wc.size()), wc.data());
      if (got == 0 && wait_cq(c_, cq_, 2000_ms)) continue;
      if (got <= 0) return s_.problem("nothing completes any more");
      for (int i = 0; i < got; ++i) {
        const ibv_wc& w = wc[static_cast<std::size_t>(i)];
        if (w.status != IBV_WC_SUCCESS) return s_.problem(std::string("a message ended with: ") + ibv_wc_status_str(w.status));
        lane& l = *lanes_[w.wr_id];
        s_.completed(c_, global(w.wr_id), l.completed++);
        if (++l.freed >= std::min(o_.batch, l.limit - l.posted)) post(w.wr_id, std::min(o_.batch, l.freed));
      }
      left -= static_cast<std::size_t>(got);
    }
  }

  [[nodiscard]] const source& source_of(std::size_t l) const { return sources_[l / o_.qps]; }
  [[nodiscard]] std::uint32_t global(std::size_t l) const {
    return static_cast<std::uint32_t>(source_of(l).flow * o_.qps + l % o_.qps);
  }

  void post(std::size_t at, std::uint32_t count) {
    lane& l = *lanes_[at];
    count = std::min(count, l.limit - l.posted);
    l.freed -= std::min(l.freed, count);
    std::vector<ibv_send_wr> chain;
    std::vector<ibv_sge> data(count);
    chain.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i, ++l.posted) {
      const std::uint32_t q = static_cast<std::uint32_t>(at % o_.qps);
      const op what = o_.mix[(l.posted + q) % o_.mix.size()];
      if (what == op::bind) {
        send(l, chain);
        bind(at, l);
        continue;
      }
      chain.push_back(request_of(at, q, l.posted, what, data[i]));
      if (o_.one_by_one) send(l, chain);
    }
    send(l, chain);
  }
  void send(const lane& l, std::vector<ibv_send_wr>& chain) {
    if (chain.empty()) return;
    for (std::size_t i = 0; i < chain.size(); ++i) chain[i].next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(c_, l.qp, chain.data(), &bad) != 0) s_.problem("a message cannot be posted");
    chain.clear();
  }
  void bind(std::size_t at, const lane& l) {
    const region& r = from_[at / o_.qps];
    ibv_mw_bind b{.wr_id = at, .send_flags = IBV_SEND_SIGNALED, .bind_info = {r.mr, r.addr, r.length, IBV_ACCESS_REMOTE_READ}};
    if (ibv_bind_mw(c_, l.qp, l.mw, &b) != 0) s_.problem("a window cannot be bound");
  }
  ibv_send_wr request_of(std::size_t at, std::uint32_t q, std::uint32_t number, op what, ibv_sge& data) {
    const std::uint64_t slot = std::max<std::uint64_t>(align_up(o_.size, 64), 64);
    const bool in = what == op::read || what == op::fetch_add;
    const region& here = (in ? into_ : from_)[at / o_.qps];
    data = {here.addr + q * slot, what == op::fetch_add ? 8U : static_cast<std::uint32_t>(o_.size), here.mr->lkey};
    ibv_send_wr wr{};
    wr.wr_id = at;
    wr.sg_list = &data;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_SIGNALED | (o_.send_inline && !in ? unsigned{IBV_SEND_INLINE} : 0U);
    if (const auto& srqns = s_.flows[source_of(at).flow].srqns; !srqns.empty()) {
      wr.qp_type.xrc.remote_srqn = srqns[(q + number) % srqns.size()];
    }
    const remote_place there = place_of(o_, s_.flows[source_of(at).flow], q, number, what == op::fetch_add ? 8 : o_.size);
    switch (what) {
      case op::write:
      case op::read:
        wr.opcode = what == op::read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
        wr.wr.rdma = {there.address, there.key};
        break;
      case op::fetch_add:
        wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        wr.wr.atomic = {there.address, 1, 0, there.key};
        break;
      default:
        wr.opcode = IBV_WR_SEND;
        if (o_.how == service::groups) wr.wr.ud = {lanes_[at]->ah, 0xffffff, s_.qp_settings().qkey};
    }
    return wr;
  }

  traffic_state& s_;
  const traffic_options& o_;
  cpu& c_;
  process_context& p_;
  std::vector<std::unique_ptr<target>> targets_;
  std::vector<source> sources_;
  std::vector<lane*> lanes_;
  std::vector<region> from_;  // of each source
  std::vector<region> into_;
  ibv_cq* cq_ = nullptr;
};

}  // namespace

void start_traffic(hcasim::system& s, const traffic_options& o, traffic_result& result, std::function<void(ps)> measuring) {
  auto state = std::make_shared<traffic_state>(o, result, s.nodes(), std::move(measuring));
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    start_program(
        s, i, "traffic",
        [state, i](cpu& c, node& n) {
          try {
            side(*state, c, n, i).run();
          } catch (const std::runtime_error& e) {
            state->refuse(e.what());
          }
        },
        [state](const std::string& why) { state->refuse(why); });
  }
}

}  // namespace hcasim::metamorphic
