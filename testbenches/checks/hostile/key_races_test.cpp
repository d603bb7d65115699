// Changes of a key forced into the middle of accesses through it: the packets of a WRITE, a READ, an atomic and a SEND_WITH_INV
// arrive at every 5 ns of each change, on a good path, with packets lost and repeated, with repetitions in the air, and with
// bits that go wrong in caches and ICM and TLPs that are repeated. From the moment that the change is complete no byte is read
// or written, and no answer shows what its key did not [C6.8, D2, O7, O8c]. The same where regions go before their windows do
// [B4.1], and behind an IOMMU whose translations the adapter keeps [E10]. HCASIM_FULL: these two with all that is in the air.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <tuple>

#include "models/driver/verbs/x_verbs.h"
#include "models/system/faulty_units.h"
#include "testbenches/checks/hostile/shadow.h"
#include "testbenches/kit/forger.h"
#include "testbenches/kit/windows.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

enum class change : std::uint8_t {
  deregister,
  narrow,
  move,
  give_away,  // to another PD
  rebind,
  unbind,
  invalidate,
  free_window,
  orphan,       // the region of the window is de-registered
  fast_orphan,  // and one that was registered fast
  fast_local,   // of a region that is registered fast: LOCAL_INV
  fast_remote,  // SEND_WITH_INV, on another QP
  shrink,
  remap,
  exchange,
  leave,  // the window is unbound, and its segment goes at once
  retire,
  extend  // takes nothing away
};
constexpr const char* change_names[] = {"deregister", "narrow",      "move",     "give_away",   "rebind",     "unbind",
                                        "invalidate", "free_window", "orphan",   "fast_orphan", "fast_local", "fast_remote",
                                        "shrink",     "remap",       "exchange", "leave",       "retire",     "extend"};
enum class use : std::uint8_t { write, read, atomic, send_inv };
constexpr const char* use_names[] = {"write", "read", "atomic", "send_inv"};
enum class air : std::uint8_t { clear, lossy, doubled, faulty };
constexpr const char* air_names[] = {"clear", "lossy", "doubled", "faulty"};
enum class setting : std::uint8_t { plain, orphans, ats };

constexpr std::uint64_t page = 4096;
constexpr std::uint32_t mtu = 1024;
constexpr std::uint32_t message = 2 * mtu + 100;
constexpr std::uint16_t peer_lid = 2;
constexpr std::uint32_t peer_psn = 0xfffffe;  // they wrap
constexpr ps settle = 30_us;                  // until nothing is under way

class race {
 public:
  // `lead`: of the first packet before the change, at most.
  race(cpu& c, node& n, forger& f, change what, use how, air path, ps lead)
      : what_(what),
        how_(how),
        path_(path),
        lead_(lead),
        c_(c),
        n_(n),
        p_(c, n),
        wire_(f),
        memory_(p_, 16 * page),
        random_(7, "race") {
    wire_.on_answer = [this](const packet& a) { answered(a); };
    options_.psn = 0x100;
    options_.timeout = 0;
    qp_ = p_.create_qp(options_);
    control_ = p_.create_qp({.privileged = true});
    other_pd_ = ibv_alloc_pd(c, p_.context);
    EXPECT_EQ(p_.connect(control_, p_.address_of(control_)), 0);
    inbox_ = memory_.begin() + 12 * page + 7;
    memory_.grant(inbox_, page, shadow::write);
    receive_ = ibv_reg_mr(c, p_.pd, inbox_, page, IBV_ACCESS_LOCAL_WRITE);
    whole_ = ibv_reg_mr(c, p_.pd, memory_.begin(), 8 * page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  }
  ~race() { wire_.on_answer = nullptr; }

  // The first packet arrives `at` after the beginning; returns how long all was under way until the change was complete.
  ps run(ps at) {
    granted_ = refused_ = false;
    EXPECT_EQ(p_.reset(qp_), 0);
    EXPECT_EQ(p_.connect(qp_, {peer_lid, 0x777, peer_psn}, options_), 0);
    EXPECT_EQ(post_receive(c_, qp_, 1, {{inbox_, page, receive_->lkey}}), 0);
    old_ = memory_.begin() + 2 * page - 77;
    next_ = memory_.begin() + 5 * page + 8;
    memory_.grant(old_, message, rights());
    make();
    c_.sync();
    if (path_ == air::faulty) break_something();
    const ps begin = now();
    shoot(begin + at);
    c_.spend(lead_);
    end();
    c_.sync();
    const ps took = now() - begin;
    if (what_ != change::extend) memory_.revoke(old_, message);
    c_.spend(settle);
    c_.sync();
    if (what_ == change::extend) memory_.revoke(old_, message);
    if (how_ == use::send_inv) refused_ = p_.state(qp_) == IBV_QPS_ERR;  // the sender hears nothing of it
    undo();
    ibv_wc wc{};
    while (ibv_poll_cq(c_, p_.cq, 1, &wc) == 1) {
    }
    return took;
  }

  [[nodiscard]] bool granted() const { return granted_; }
  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] std::string violation() {
    memory_.check();
    return memory_.violations() != 0 ? memory_.violation() : violation_;
  }

 private:
  [[nodiscard]] std::uint8_t rights() const {
    return how_ == use::read ? shadow::read : how_ == use::atomic ? shadow::anything : shadow::write;
  }
  [[nodiscard]] unsigned remote_rights() const {
    return how_ == use::read     ? IBV_ACCESS_REMOTE_READ
           : how_ == use::atomic ? IBV_ACCESS_REMOTE_ATOMIC
                                 : IBV_ACCESS_REMOTE_WRITE;
  }
  [[nodiscard]] int region_rights() const { return static_cast<int>(remote_rights() | IBV_ACCESS_LOCAL_WRITE); }
  [[nodiscard]] bool by_window() const {
    return (what_ >= change::rebind && what_ <= change::fast_orphan) || what_ == change::leave;
  }
  [[nodiscard]] bool of_type_2() const {
    return what_ == change::invalidate || what_ == change::free_window || what_ == change::fast_orphan;
  }
  [[nodiscard]] bool of_orphans() const { return what_ == change::orphan || what_ == change::fast_orphan; }

  [[nodiscard]] bool of_space() const { return what_ >= change::shrink; }
  [[nodiscard]] bool by_fast_region() const {
    return what_ == change::fast_local || what_ == change::fast_remote || what_ == change::fast_orphan;
  }
  // Makes faults that a code corrects or PCIe retransmits.
  void break_something() {
    static constexpr std::string_view kinds[] = {"cell_bit", "tag_bit", "icm_bit", "receiver_error", "replay_timeout"};
    for (const auto& [place, unit] : faulty_units(n_)) {
      for (std::size_t k = 0; k < unit->fault_kinds().size(); ++k) {
        if (std::find(std::begin(kinds), std::end(kinds), unit->fault_kinds()[k].name) == std::end(kinds)) continue;
        if (random_.chance(0.5)) unit->inject(k, {.count = 1 + random_.below(3), .draw = random_.next()});
      }
    }
  }

  void make() {
    va_ = old_;
    if (!by_window() || of_orphans() || of_space()) make_region();
    if (by_window()) bind_window();
  }
  void make_region() {
    const int rights = by_window() ? region_rights() | IBV_ACCESS_MW_BIND : region_rights();
    if (of_space()) {
      const x_buffer mine{old_, message};
      const x_buffer more{memory_.begin() + 9 * page, page};
      x_result r;
      ASSERT_EQ(x_register(c_, p_.pd, by_window() ? nullptr : qp_, {&mine, 1}, rights, X_EXTEND, &r), 0);
      space_ = key_ = r.key;
      handle_ = r.handle;
      va_ = r.added;
      if (what_ == change::shrink || what_ == change::exchange || what_ == change::leave) {
        ASSERT_EQ(x_reregister_add(c_, p_.context, key_, {&more, 1}, &r), 0);
      }
    } else if (by_fast_region()) {
      mr_ = hcax_alloc_fast_mr(c_, p_.pd, 2);
      ASSERT_NE(mr_, nullptr);
      ASSERT_EQ(hcax_map_mr(c_, mr_, old_, message), 0);
      ASSERT_EQ(reg_mr(c_, control_, mr_, mr_->rkey, static_cast<unsigned>(rights)).status, IBV_WC_SUCCESS);
      key_ = mr_->rkey;
    } else {
      mr_ = ibv_reg_mr(c_, p_.pd, old_, message, rights);
      ASSERT_NE(mr_, nullptr);
      key_ = mr_->rkey;
    }
  }
  void bind_window() {
    mw_ = ibv_alloc_mw(c_, p_.pd, of_type_2() ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
    ibv_mr* const region = of_orphans() ? mr_ : of_space() ? x_mr(p_.context, space_) : whole_;
    const ibv_mw_bind_info info{region, va_, message, remote_rights()};
    const ibv_wc done = of_type_2() ? bind(c_, qp_, mw_, mw_->rkey + 1, info) : bind_type_1(c_, control_, mw_, info);
    ASSERT_EQ(done.status, IBV_WC_SUCCESS);
    key_ = mw_->rkey;
  }
  void end() {
    switch (what_) {
      case change::deregister:
      case change::orphan:
      case change::fast_orphan:
        EXPECT_EQ(ibv_dereg_mr(c_, std::exchange(mr_, nullptr)), 0);
        break;
      case change::narrow:
        EXPECT_EQ(ibv_rereg_mr(c_, mr_, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE), 0);
        break;
      case change::move:
        memory_.grant(next_, message, rights());
        EXPECT_EQ(ibv_rereg_mr(c_, mr_, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, next_, message, 0), 0);
        break;
      case change::give_away:
        EXPECT_EQ(ibv_rereg_mr(c_, mr_, IBV_REREG_MR_CHANGE_PD, other_pd_, 0, 0, 0), 0);
        break;
      case change::rebind:
        memory_.grant(next_, message, rights());
        EXPECT_EQ(bind_type_1(c_, control_, mw_, {whole_, next_, message, remote_rights()}).status, IBV_WC_SUCCESS);
        break;
      case change::unbind:
        EXPECT_EQ(bind_type_1(c_, control_, mw_, {whole_, 0, 0, 0}).status, IBV_WC_SUCCESS);
        break;
      case change::invalidate: {
        // A request that was refused has put the QP into error, and the change is flushed: it may have been made or not.
        const ibv_wc_status status = local_inv(c_, qp_, key_).status;
        EXPECT_TRUE(status == IBV_WC_SUCCESS || status == IBV_WC_WR_FLUSH_ERR || status == IBV_WC_GENERAL_ERR) << status;
        if (status != IBV_WC_SUCCESS) {
          EXPECT_EQ(ibv_dealloc_mw(c_, std::exchange(mw_, nullptr)), 0);
        }
        break;
      }
      case change::free_window:
        EXPECT_EQ(ibv_dealloc_mw(c_, std::exchange(mw_, nullptr)), 0);
        break;
      case change::fast_local:
        EXPECT_EQ(local_inv(c_, control_, key_).status, IBV_WC_SUCCESS);
        break;
      case change::fast_remote: {
        ASSERT_EQ(post_receive(c_, control_, 2, {{inbox_, page, receive_->lkey}}), 0);
        request r{.opcode = IBV_WR_SEND_WITH_INV, .sges = {}};
        r.immediate = key_;
        EXPECT_EQ(complete(c_, control_, r).status, IBV_WC_SUCCESS);
        break;
      }
      case change::exchange: {
        const x_buffer more{memory_.begin() + 10 * page, page};
        x_result r;
        EXPECT_EQ(x_exchange(c_, p_.context, key_, handle_, {&more, 1}, &r), 0);
        break;
      }
      case change::leave: {  // until its change takes effect the window holds the segment
        ibv_mw_bind nothing{.wr_id = 9, .send_flags = IBV_SEND_SIGNALED, .bind_info = {}};
        ASSERT_EQ(ibv_bind_mw(c_, control_, mw_, &nothing), 0);
        x_result r;
        int error = EBUSY;
        while (error == EBUSY) error = x_deregister_part(c_, p_.context, space_, handle_, &r);
        EXPECT_EQ(error, 0);
        break;
      }
      case change::retire:
        EXPECT_EQ(x_teardown(c_, p_.context, space_), 0);
        break;
      case change::extend: {
        const x_buffer more{memory_.begin() + 9 * page, page};
        x_result r;
        EXPECT_EQ(x_reregister_add(c_, p_.context, key_, {&more, 1}, &r), 0);
        break;
      }
      case change::shrink: {
        x_result r;
        EXPECT_EQ(x_deregister_part(c_, p_.context, key_, handle_, &r), 0);
        break;
      }
      case change::remap: {  // all of it is reached at other VAs then
        const x_buffer more{memory_.begin() + 9 * page, page};
        x_result r;
        EXPECT_EQ(x_reregister_add(c_, p_.context, key_, {&more, 1}, &r, x_any_va, X_REMAP), 0);
        EXPECT_NE(r.start, va_);
        break;
      }
    }
  }
  void undo() {
    if (mw_) {
      EXPECT_EQ(ibv_dealloc_mw(c_, std::exchange(mw_, nullptr)), 0);
    }
    if (mr_) {
      EXPECT_EQ(ibv_dereg_mr(c_, std::exchange(mr_, nullptr)), 0);
    }
    if (of_space() && what_ != change::retire) {
      EXPECT_EQ(x_teardown(c_, p_.context, space_), 0);
    }
    c_.sync();
    if (what_ == change::move || what_ == change::rebind) memory_.revoke(next_, message);
  }

  void shoot(ps at) {
    struct piece {
      std::uint8_t opcode;
      std::uint32_t payload;
    };
    std::vector<piece> pieces;
    if (how_ == use::write) {
      pieces = {{wire::write_first, mtu}, {wire::write_middle, mtu}, {wire::write_last, message - 2 * mtu}};
    } else if (how_ == use::read) {
      pieces = {{wire::read_request, 0}};
    } else if (how_ == use::atomic) {
      pieces = {{wire::fetch_add, 0}};
    } else {
      pieces = {{wire::send_first, mtu}, {wire::send_last_inv, 100}};
    }
    last_ = static_cast<std::int32_t>(pieces.size()) - 1;
    for (int round = 0; round < (path_ == air::clear ? 1 : 3); ++round) {
      ps t = at + round * 700_ns;
      for (std::uint32_t i = 0; i < pieces.size(); ++i, t += 90_ns) {
        if (path_ == air::lossy && round != 2 && random_.chance(0.4)) continue;
        packet_header h = wire_.header(pieces[i].opcode, qp_->qp_num, peer_psn + i, peer_lid);
        h.rkey = h.invalidate_key = key_;
        h.va = how_ == use::atomic ? (va_ + 7) & ~7ULL : va_;
        h.dma_length = message;
        h.swap_add = 1;
        shots_.push_back({this, h, pieces[i].payload});
        event_queue::instance().at(t, {[](void* x) {
                                         auto& s = *static_cast<shot*>(x);
                                         s.self->wire_.put(s.header, s.payload);
                                       },
                                       &shots_.back()});
      }
    }
  }

  void answered(const packet& a) {
    const packet_header& h = a.header;
    if (h.opcode != wire::acknowledge) {
      granted_ = true;
    } else if (h.syndrome == wire::ack_no_credits) {
      granted_ = granted_ || psn_distance(peer_psn, h.psn) == last_;
    } else if (h.syndrome == wire::nak_remote_access || h.syndrome == wire::nak_remote_operation) {
      refused_ = true;
    }
    if (a.payload == 0) return;
    const auto offset = static_cast<std::uint64_t>(psn_distance(peer_psn, h.psn)) * mtu;
    const std::span<const std::byte> shown(a.data(), a.payload);
    const bool ok =
        memory_.may_show(old_ + offset, shown) || (what_ == change::move && memory_.may_show(next_ + offset, shown));
    if (!ok && violation_.empty()) violation_ = "a response shows bytes that no grant showed";
  }

  struct shot {
    race* self;
    packet_header header;
    std::uint32_t payload;
  };

  const change what_;
  const use how_;
  const air path_;
  const ps lead_;
  cpu& c_;
  node& n_;
  process_context p_;
  forger& wire_;
  shadow memory_;
  random_stream random_;
  qp_options options_;
  ibv_qp* qp_ = nullptr;
  ibv_qp* control_ = nullptr;
  ibv_pd* other_pd_ = nullptr;
  ibv_mr* receive_ = nullptr;
  ibv_mr* whole_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_mw* mw_ = nullptr;
  std::uint64_t inbox_ = 0;
  std::uint64_t old_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t va_ = 0;   // of the old memory, to the peer
  std::uint32_t key_ = 0;  // of the accesses
  std::uint32_t space_ = 0;
  std::uint32_t handle_ = 0;
  std::deque<shot> shots_;
  std::int32_t last_ = 0;  // PSN of the last packet, from the first on
  bool granted_ = false;
  bool refused_ = false;
  std::string violation_;
};

system_config config_of(setting where, air path) {
  system_config config = world::two_nodes();
  for (node_config& n : config.nodes) {
    if (path == air::faulty) n.hca.icm.check = icm_check::secded;
    n.hca.key_check.orphan_windows = where == setting::orphans;
    n.iommu.enabled = n.hca.atc.enabled = where == setting::ats;
  }
  return config;
}

void no_byte_after_the_change(change what, use how, air path, setting where) {
  const bool ats = where == setting::ats;  // accesses take longer
  const ps step = ats && !std::getenv("HCASIM_FULL") ? 10_ns : 5_ns;
  const ps lead = ats ? 2_us : 1_us;
  int granted = 0;
  int refused = 0;
  EXPECT_EQ(run_forged(config_of(where, path),
                       [&](cpu& c, node& n, forger& f) {
                         race r(c, n, f, what, how, path, lead);
                         // With losses twice: each time others are lost.
                         for (int sweep = path == air::lossy ? 2 : 1; sweep != 0; --sweep) {
                           ps until = r.run(0_ns);
                           for (ps at = step; at < until && !::testing::Test::HasFailure(); at += step) {
                             until = std::max(until, r.run(at));
                             granted += r.granted() ? 1 : 0;
                             refused += r.refused() ? 1 : 0;
                           }
                         }
                         EXPECT_EQ(r.violation(), "");
                       }),
            "");
  // Only windows of type 2 and regions for fast registration may be invalidated from afar; one that is free already is
  // invalid, too.
  const bool of_fast_region = what == change::fast_local || what == change::fast_remote;
  const bool of_type_2 = what == change::invalidate || what == change::free_window || what == change::fast_orphan;
  const bool invalidates = how == use::send_inv;
  EXPECT_TRUE(invalidates && !of_type_2 && !of_fast_region ? granted == 0 : granted > 20) << granted;
  const bool always = (what == change::extend && !invalidates) ||
                      (invalidates && (what == change::invalidate || what == change::fast_orphan || of_fast_region));
  EXPECT_TRUE(always ? refused == 0 : refused > 20) << refused;
}

class key_races : public ::testing::TestWithParam<std::tuple<change, use, air>> {};

TEST_P(key_races, no_byte_after_the_change) {
  const auto [what, how, path] = GetParam();
  no_byte_after_the_change(what, how, path, setting::plain);
}

class key_races_of : public ::testing::TestWithParam<std::tuple<setting, change, use, air>> {};

TEST_P(key_races_of, no_byte_after_the_change) {
  const auto [where, what, how, path] = GetParam();
  no_byte_after_the_change(what, how, path, where);
}

const auto every_change =
    ::testing::Values(change::deregister, change::narrow, change::move, change::give_away, change::rebind, change::unbind,
                      change::invalidate, change::free_window, change::fast_local, change::fast_remote, change::shrink,
                      change::remap, change::exchange, change::leave, change::retire, change::extend);
const auto every_use = ::testing::Values(use::write, use::read, use::atomic, use::send_inv);
const auto every_air = ::testing::Values(air::clear, air::lossy, air::doubled, air::faulty);
std::vector<air> airs_of_settings() {
  if (!std::getenv("HCASIM_FULL")) return {air::clear};
  return {air::clear, air::lossy, air::doubled, air::faulty};
}
std::string name_of(change what, use how, air path) {
  return std::string(change_names[static_cast<std::size_t>(what)]) + "_" + use_names[static_cast<std::size_t>(how)] + "_" +
         air_names[static_cast<std::size_t>(path)];
}
const auto name_in_setting = [](const auto& i) {
  return name_of(std::get<1>(i.param), std::get<2>(i.param), std::get<3>(i.param));
};

INSTANTIATE_TEST_SUITE_P(all, key_races, ::testing::Combine(every_change, every_use, every_air), [](const auto& i) {
  return name_of(std::get<0>(i.param), std::get<1>(i.param), std::get<2>(i.param));
});
INSTANTIATE_TEST_SUITE_P(orphans, key_races_of,
                         ::testing::Combine(::testing::Values(setting::orphans),
                                            ::testing::Values(change::deregister, change::rebind, change::unbind,
                                                              change::invalidate, change::free_window, change::orphan,
                                                              change::fast_orphan, change::leave),
                                            every_use, ::testing::ValuesIn(airs_of_settings())),
                         name_in_setting);
INSTANTIATE_TEST_SUITE_P(ats, key_races_of,
                         ::testing::Combine(::testing::Values(setting::ats), every_change, every_use,
                                            ::testing::ValuesIn(airs_of_settings())),
                         name_in_setting);

}  // namespace
}  // namespace hcasim::kit
