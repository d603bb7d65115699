#include "testbenches/scenarios/on_demand.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t page = 4096;
constexpr int pinned_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int lazy_rights = pinned_rights | IBV_ACCESS_ON_DEMAND;

// An order to the peer: a list of pages of the owner's region, to be read or written, or until it is told to stop.
struct job {
  bool read = false;
  bool endless = false;
  bool over = false;
  bool flush = false;  // the WRITEs have landed when the last operation, a READ, is complete
  std::uint64_t va = 0;
  std::uint32_t key = 0;
  std::vector<std::uint32_t> pages;
};
struct report_back {
  ps elapsed{0};
  std::uint64_t operations = 0;
  bool ok = true;
};

struct paging_state {
  paging_state(const paging_options& options, std::uint64_t s, paging_outcome& to) : o(options), seed(s), out(&to) {}
  paging_options o;
  std::uint64_t seed;
  paging_outcome* out;
  out_of_band<address> to_owner, to_peer;
  out_of_band<job> jobs;
  out_of_band<report_back> reports;
  bool stop_endless = false;

  void problem(const std::string& text) {
    if (out->problem.empty()) out->problem = text;
  }
};

// Both sides fill pages so that they can be told apart.
void pattern(std::vector<std::byte>& to, std::uint32_t number) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(number * 31 + i * 7 + (i >> 8));
}

class paging_peer {
 public:
  paging_peer(paging_state& s, cpu& c, node& n) : s_(s), c_(c), p_(c, n) {}

  void run() {
    ibv_qp* qp = p_.create_qp();
    s_.to_owner.send(c_, p_.address_of(qp));
    p_.must_connect(qp, s_.to_peer.receive(c_));
    const region buffer = p_.allocate(std::uint64_t{s_.o.window} * page, pinned_rights);
    for (;;) {
      const job j = s_.jobs.receive(c_);
      if (j.over) return;
      s_.reports.send(c_, j.endless ? keep_going(qp, buffer, j) : work(qp, buffer, j));
    }
  }

 private:
  bool send(ibv_qp* qp, const region& buffer, const job& j, std::uint32_t number, std::uint64_t slot) {
    const std::uint64_t at = buffer.addr + slot * page;
    if (!j.read) {
      pattern(bytes_, number);
      p_.memory.write(at, bytes_);
    }
    return post(c_, qp,
                {.opcode = j.read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                 .id = slot << 32 | number,
                 .sges = {{at, page, buffer.mr->lkey}},
                 .remote = j.va + std::uint64_t{number} * page,
                 .rkey = j.key}) == 0;
  }
  bool arrived(const region& buffer, const job& j, const ibv_wc& wc) {
    if (wc.status != IBV_WC_SUCCESS) return false;
    if (!j.read) return true;
    std::vector<std::byte> got(page);
    c_.sync();
    p_.memory.read(buffer.addr + (wc.wr_id >> 32) * page, got);
    pattern(bytes_, static_cast<std::uint32_t>(wc.wr_id));
    return got == bytes_;
  }
  report_back work(ibv_qp* qp, const region& buffer, const job& j) {
    report_back r;
    const ps begin = c_.time();
    std::vector<std::uint64_t> free(s_.o.window);
    std::iota(free.begin(), free.end(), 0);
    for (std::size_t next = 0; r.operations < j.pages.size() && r.ok;) {
      while (next < j.pages.size() && !free.empty()) {
        r.ok = send(qp, buffer, j, j.pages[next++], free.back()) && r.ok;
        free.pop_back();
      }
      const auto wc = next_completion(c_, p_.cq);
      r.ok = r.ok && wc.has_value() && arrived(buffer, j, *wc);
      if (wc) free.push_back(wc->wr_id >> 32);
      ++r.operations;
    }
    if (r.ok && j.flush && !j.read) {
      const request look{.opcode = IBV_WR_RDMA_READ,
                         .id = 0,
                         .sges = {{buffer.addr, 1, buffer.mr->lkey}},
                         .remote = j.va + std::uint64_t{j.pages.back()} * page,
                         .rkey = j.key};
      r.ok = complete(c_, qp, look).status == IBV_WC_SUCCESS;
    }
    r.elapsed = c_.time() - begin;
    return r;
  }
  report_back keep_going(ibv_qp* qp, const region& buffer, const job& j) {
    report_back all;
    random_stream random(s_.seed, "paging_traffic");
    while (!s_.stop_endless && all.ok) {
      job some = j;
      for (int i = 0; i < 32; ++i) some.pages.push_back(static_cast<std::uint32_t>(random.below(s_.o.pages)));
      const report_back r = work(qp, buffer, some);
      all.operations += r.operations;
      all.ok = r.ok;
    }
    return all;
  }

  paging_state& s_;
  cpu& c_;
  process_context p_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(page);
};

class paging_owner {
 public:
  paging_owner(paging_state& s, cpu& c, node& n) : s_(s), c_(c), n_(n), p_(c, n), random_(s.seed, "paging") {}

  void run() {
    qp_ = p_.create_qp();
    const address peer = s_.to_owner.receive(c_);
    p_.must_connect(qp_, peer);
    s_.to_peer.send(c_, p_.address_of(qp_));
    if (!n_.device().on_demand() && !n_.device().on_demand_by_iommu()) s_.problem("the adapter has no on-demand paging");
    measured("first touches", [this] { first_touches(); });
    measured("shares", [this] { touch_shares(); });
    measured("pages taken", [this] { take_pages(); });
    job last;
    last.over = true;
    s_.jobs.send(c_, last);
    s_.out->ok = good();
  }

 private:
  [[nodiscard]] bool good() const { return s_.out->problem.empty(); }

  template <class F>
  void measured(const char* part, F f) {
    if (!good()) return;
    s_.o.parts.begin(c_, part);
    f();
    s_.o.parts.end(c_);
  }
  void touch_shares() {
    for (const double share : s_.o.shares) {
      for (const paging_way way : {paging_way::on_demand, paging_way::prefetched, paging_way::pinned}) {
        if (good()) touch_share(way, share);
      }
    }
  }

  region make(std::uint32_t pages, int rights) {
    region r;
    r.length = pages * page;
    r.addr = p_.memory.allocate(r.length);
    r.mr = ibv_reg_mr(c_, p_.pd, r.addr, r.length, rights);
    if (!r.mr) s_.problem("a region could not be registered");
    return r;
  }
  void release(const region& r) {
    if (ibv_dereg_mr(c_, r.mr) != 0) s_.problem("a region could not be de-registered");
    if (p_.memory.unmap(c_, r.addr) != 0) s_.problem("memory could not be given back");
  }
  report_back ask(const region& r, bool read, std::vector<std::uint32_t> pages) {
    job j;
    j.read = read;
    j.va = r.addr;
    j.key = r.mr->rkey;
    j.pages = std::move(pages);
    // A WRITE is acknowledged when it is on its way to memory; one that waits for its page of the IOMMU's is there much later.
    j.flush = n_.device().on_demand_by_iommu();
    s_.jobs.send(c_, j);
    report_back b = s_.reports.receive(c_);
    if (!b.ok) s_.problem("an operation failed, or brought the wrong bytes");
    s_.out->operations += static_cast<double>(b.operations);
    return b;
  }
  void fill(const region& r) {
    std::vector<std::byte> v(page);
    for (std::uint32_t i = 0; i < r.length / page; ++i) {
      pattern(v, i);
      p_.memory.write(r.addr + i * page, v);
    }
  }
  // A WRITE is acknowledged when it is on its way to memory, and may be so for long.
  bool holds(const region& r, const std::vector<std::uint32_t>& pages) {
    return p_.comes_true([&] { return holds_now(r, pages); });
  }
  bool holds_now(const region& r, const std::vector<std::uint32_t>& pages) {
    std::vector<std::byte> got(page);
    std::vector<std::byte> wanted(page);
    for (const std::uint32_t i : pages) {
      p_.memory.read(r.addr + i * page, got);
      pattern(wanted, i);
      if (got != wanted) return false;
    }
    return true;
  }

  void first_touches() {
    for (const bool read : {false, true}) {
      touch_row row;
      row.what = read ? "inbound READ" : "inbound WRITE";
      for (const int rights : {lazy_rights, pinned_rights}) {
        const region r = make(2, rights);
        fill(r);
        const ps first = ask(r, read, {1}).elapsed;
        const ps again = ask(r, read, {1}).elapsed;
        (rights == lazy_rights ? row.first : row.pinned) = rights == lazy_rights ? first : again;
        if (rights == lazy_rights) row.again = again;
        release(r);
      }
      s_.out->touches.push_back(row);
    }
    // The owner's own operations: its memory is what is gathered, and where READ responses land.
    const region far = p_.allocate(page, pinned_rights);
    for (const bool read : {false, true}) {
      touch_row row;
      row.what = read ? "own READ, landing" : "own WRITE, gather";
      for (const int rights : {lazy_rights, pinned_rights}) {
        const region r = make(2, rights);
        const ps first = own(r, far, read);
        const ps again = own(r, far, read);
        (rights == lazy_rights ? row.first : row.pinned) = rights == lazy_rights ? first : again;
        if (rights == lazy_rights) row.again = again;
        release(r);
      }
      s_.out->touches.push_back(row);
    }
  }
  // To itself over a pair of QPs of its own.
  ps own(const region& r, const region& far, bool read) {
    if (!loop_[0]) {
      for (ibv_qp*& qp : loop_) qp = p_.create_qp();
      if (p_.connect(loop_[0], p_.address_of(loop_[1])) != 0 || p_.connect(loop_[1], p_.address_of(loop_[0])) != 0)
        s_.problem("the owner cannot connect to itself");
    }
    const ps begin = c_.time();
    const ibv_wc wc = complete(c_, loop_[0],
                               {.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                                .id = 1,
                                .sges = {{r.addr, page, r.mr->lkey}},
                                .remote = far.addr,
                                .rkey = far.mr->rkey});
    if (wc.status != IBV_WC_SUCCESS) s_.problem("an operation of the owner failed");
    ++s_.out->operations;
    return c_.time() - begin;
  }

  // Pages side by side are one range: a list entry each would be a command each.
  static std::vector<ibv_sge> ranges_of(const region& r, std::vector<std::uint32_t> pages) {
    std::sort(pages.begin(), pages.end());
    std::vector<ibv_sge> list;
    for (const std::uint32_t i : pages) {
      const std::uint64_t at = r.addr + i * page;
      if (!list.empty() && list.back().addr + list.back().length == at) {
        list.back().length += static_cast<std::uint32_t>(page);
      } else {
        list.push_back({at, static_cast<std::uint32_t>(page), r.mr->lkey});
      }
    }
    return list;
  }

  // Returns the faults of the adapter's tables, or of the IOMMU's.
  double faults_so_far() const {
    const double asked = n_.hca.atc ? statistic_of(*n_.hca.atc, "page_requests") : 0;
    return statistic_of(n_.hca.responder, "page_fault_events") + asked;
  }

  void touch_share(paging_way way, double share) {
    share_row row;
    row.way = way;
    row.share = share;
    std::vector<std::uint32_t> order(s_.o.pages);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    order.resize(std::max<std::size_t>(1, static_cast<std::size_t>(share * s_.o.pages + 0.5)));
    row.touched = static_cast<std::uint32_t>(order.size());
    const double faults = faults_so_far();
    const ps spent = c_.spent();
    ps begin = c_.time();
    const region r = make(s_.o.pages, way == paging_way::pinned ? pinned_rights : lazy_rights);
    if (way == paging_way::prefetched) {
      std::vector<ibv_sge> list = ranges_of(r, order);
      if (ibv_advise_mr(c_, p_.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, list.data(),
                        static_cast<int>(list.size())) != 0)
        s_.problem("a prefetch failed");
    }
    row.prepare = c_.time() - begin;
    row.transfer = ask(r, false, order).elapsed;
    if (!holds(r, order)) s_.problem("the wrong bytes arrived");
    begin = c_.time();
    if (ibv_dereg_mr(c_, r.mr) != 0) s_.problem("a region could not be de-registered");
    row.release = c_.time() - begin;
    row.owner_cpu = to_us(c_.spent() - spent);
    row.faults = faults_so_far() - faults;
    if (p_.memory.unmap(c_, r.addr) != 0) s_.problem("memory could not be given back");
    s_.out->shares.push_back(row);
  }

  void take_pages() {
    const region r = make(s_.o.pages, lazy_rights);
    fill(r);
    std::vector<std::uint32_t> all(s_.o.pages);
    std::iota(all.begin(), all.end(), 0);
    ask(r, true, all);
    const auto take = [&](histogram& h) {
      for (std::uint32_t i = 0; i < s_.o.takes && good(); ++i) {
        const ps begin = c_.time();
        if (p_.memory.migrate(c_, r.addr + random_.below(s_.o.pages) * page, page) != 0)
          s_.problem("a page could not be moved");
        h.add(c_.time() - begin);
        c_.spend(ps(static_cast<std::int64_t>(random_.below(20'000'000))));
        c_.sync();
      }
    };
    take(s_.out->take_idle);
    ask(r, true, all);
    job j;
    j.read = j.endless = true;
    j.va = r.addr;
    j.key = r.mr->rkey;
    s_.jobs.send(c_, j);
    take(s_.out->take_loaded);
    s_.stop_endless = true;
    const report_back b = s_.reports.receive(c_);
    if (!b.ok) s_.problem("an operation failed, or brought the wrong bytes, while pages moved");
    s_.out->operations += static_cast<double>(b.operations);
    if (!holds(r, all)) s_.problem("a page lost its bytes");
    release(r);
  }

  paging_state& s_;
  cpu& c_;
  node& n_;
  process_context p_;
  random_stream random_;
  ibv_qp* qp_ = nullptr;
  ibv_qp* loop_[2] = {nullptr, nullptr};
};

}  // namespace

void start_paging(hcasim::system& s, const paging_options& o, std::uint64_t seed, paging_outcome& out) {
  auto state = std::make_shared<paging_state>(o, seed, out);
  start_program(s, 0, "peer", [state](cpu& c, node& n) { paging_peer(*state, c, n).run(); });
  start_program(s, 1, "owner", [state](cpu& c, node& n) { paging_owner(*state, c, n).run(); });
}

}  // namespace hcasim::kit
