#include "models/adapter/key_check/rtl/key_check_rtl.h"

#include <bit>
#include <string>
#include <utility>

#include "models/adapter/protection/judge.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

// The parameters that the design is built with.
constexpr double built_depth = 6;

}  // namespace

key_check_rtl::key_check_rtl(const sc_core::sc_module_name& name, const key_check_config& config, const clock_domain& clock,
                             rtl::design_factory make, const rtl::shell_options& options)
    : shell(name, clock, make, options),
      orphans_(config.orphan_windows),
      req_(into("req", tag_bits + 307)),
      mrc_rsp_(into("mrc_rsp", slot_bits + 514)),
      mrc_req_(out_of("mrc_req", slot_bits + 24)),
      ext_rsp_(into("ext_rsp", slot_bits + 513)),
      ext_req_(out_of("ext_req", slot_bits + 32)),
      rsp_(out_of("rsp", tag_bits + 438)),
      rel_(into("rel", 56)),
      drn_(into("drn", tag_bits + 24)),
      drn_rsp_(out_of("drn_rsp", tag_bits)) {
  const auto demand = [](bool ok, const char* knob, const char* value) { built_for("key_check", ok, knob, value); };
  demand(config.depth == built_depth, "depth", "6 cycles");
  demand(config.interval == 1, "interval", "1 cycle");
  demand(config.extent_step == 1, "extent_step", "1 cycle");
  demand(!config.blocking_miss, "blocking_miss", "false");
  strap("window_2b", config.window_type2 == window_association::qp_and_pd);
  strap("orphans", config.orphan_windows);
  for (unsigned i = 0; i < tags; ++i) free_tags_.push_back(static_cast<std::uint8_t>(i));
  for (unsigned i = 0; i < slots; ++i) {
    for (line* l : {&mrc_lines_[i], &ext_lines_[i]}) {
      l->self = this;
      l->slot = i;
      l->of_mrc = l == &mrc_lines_[i];
      call_on_response<&line::self, &key_check_rtl::on_response>(*l, *l);
    }
  }
  local.on<&key_check_rtl::handle>(this);
  remote.on<&key_check_rtl::handle>(this);
  control.on<&key_check_rtl::handle_control>(this);
  windows.on<&key_check_rtl::handle_control>(this);

  req_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { owe(1); };
  mrc_req_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    rtl::reader r(p);
    const std::uint32_t index = r.get32(24);
    fetch(mrc_lines_[r.get32(slot_bits)], mrc, index, t);
  };
  ext_req_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    rtl::reader r(p);
    const std::uint32_t index = r.get32(32);
    fetch(ext_lines_[r.get32(slot_bits)], extent, index, t);
  };
  mrc_rsp_.on_transfer = [this](const rtl::payload&, std::uint64_t slot, ps t) {
    owe(1);
    if (!mrc_lines_[slot].failed) mrc.release(mrc_lines_[slot]);
    enter_drains(t);
  };
  ext_rsp_.on_transfer = [this](const rtl::payload&, std::uint64_t slot, ps) {
    owe(1);
    if (ext_lines_[slot].failed) return;
    ++extent_lines_;
    extent.release(ext_lines_[slot]);
  };
  stall_by(mrc_req_, [](const rtl::payload& p) { return rtl::of_index(p.get(0, 24)); });
  stall_by(ext_req_, [](const rtl::payload& p) { return rtl::of_index(p.get(0, 32)); });
  rsp_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { conclude(p, t); };
  drn_rsp_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) {
    drained(static_cast<unsigned>(p.get(0, tag_bits)), t);
  };
  describe();
}

tlm::tlm_sync_enum key_check_rtl::handle(key_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) {
    release(r, t);
    return tlm::TLM_COMPLETED;
  }
  if (free_tags_.empty()) {
    behind_.push_back({&r, t});
  } else {
    enter(r, t);
  }
  return tlm::TLM_ACCEPTED;
}

void key_check_rtl::enter(key_request& r, ps t) {
  const unsigned tag = free_tags_.front();
  free_tags_.pop_front();
  give_tag(tag, r);
  arrived_[tag] = t;
  push(req_, t)
      .put(r.op == key_op::element, 1)
      .put(r.remote, 1)
      .put(r.privileged, 1)
      .put(r.key, 32)
      .put(r.rights, 32)
      .put(r.pd, 32)
      .put(r.qpn, 32)
      .put(r.generation, 32)
      .put(r.function, 16)
      .put(r.va, 64)
      .put(r.length, 64)
      .put(tag, tag_bits);
}

void key_check_rtl::give_tag(unsigned tag, key_request& r) {
  tagged_[tag] = &r;
  tags_in_use_[tag / 64] |= std::uint64_t{1} << tag % 64;
}

void key_check_rtl::take_tag_back(unsigned tag) {
  tagged_[tag] = nullptr;
  tags_in_use_[tag / 64] &= ~(std::uint64_t{1} << tag % 64);
  free_tags_.push_back(static_cast<std::uint8_t>(tag));
}

void key_check_rtl::release(key_request& r, ps t) {
  if (r.epoch == 0) return;
  give(hca_key_index(r.key), std::exchange(r.epoch, 0), t);
  if (r.parent_epoch != 0) give(r.region(), std::exchange(r.parent_epoch, 0), t);
}

void key_check_rtl::give(std::uint32_t index, std::uint64_t epoch, ps t) {
  push(rel_, t).put(index, 24).put(epoch, 32);
  outstanding_.set(--references_, t);
  references_probe_.set(references_, t);
}

tlm::tlm_sync_enum key_check_rtl::handle_control(key_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  ++drain_count_;
  r.result = verdict::granted;
  draining_.push_back({&r, t, mrc_rsp_.pushed()});
  enter_drains(t);
  return tlm::TLM_ACCEPTED;
}

void key_check_rtl::enter_drains(ps t) {
  while (!draining_.empty() && draining_.front().after <= mrc_rsp_.transfers() && !free_tags_.empty()) {
    const waiting_drain d = draining_.front();
    draining_.pop_front();
    const unsigned tag = free_tags_.front();
    free_tags_.pop_front();
    give_tag(tag, *d.request);
    arrived_[tag] = d.t;
    push(drn_, std::max(d.t, t)).put(hca_key_index(d.request->key), 24).put(tag, tag_bits);
  }
}

void key_check_rtl::fetch(line& l, initiator_socket<context_request>& from, std::uint32_t index, ps t) {
  owe(-1);
  if (std::exchange(l.parent, no_parent) != index) l.operation = l.of_mrc ? operation_of(index) : 0;
  l.op = context_op::fetch;
  l.failed = l.dirty = false;
  l.index = index;
  if (from.send(l, t) == tlm::TLM_COMPLETED) on_response(l, t);
}

// Returns the number of the last request, by tag, that asks for this key.
std::uint64_t key_check_rtl::operation_of(std::uint32_t index) const {
  for (unsigned n = tags / 64; n-- > 0;) {
    for (std::uint64_t left = tags_in_use_[n]; left != 0;) {
      const auto highest = static_cast<unsigned>(std::bit_width(left) - 1);
      left ^= std::uint64_t{1} << highest;
      const key_request& r = *tagged_[n * 64 + highest];
      if (r.op != key_op::drain && hca_key_index(r.key) == index) return r.operation;
    }
  }
  return 0;
}

void key_check_rtl::on_response(line& l, ps t) {
  static constexpr std::array<std::byte, 64> nothing{};
  if (orphans_ && l.of_mrc && !l.failed && rules::is_window(l.as<const hca_mrc>())) {
    l.parent = hca_key_index(l.as<const hca_mrc>().parent);
  }
  rtl::writer w = push(l.of_mrc ? mrc_rsp_ : ext_rsp_, t, l.slot, rtl::of_index(l.index));
  w.bytes(l.failed ? nothing.data() : l.entry, 64).put(l.failed, 1);
  if (l.of_mrc) w.put(l.failed && l.index >= l.area_entries, 1);
  w.put(l.slot, slot_bits);
}

void key_check_rtl::conclude(const rtl::payload& p, ps t) {
  owe(-1);
  rtl::reader in(p);
  const auto v = static_cast<verdict>(in.get(3));
  const std::uint32_t epoch = in.get32();
  const std::uint32_t parent_epoch = in.get32();
  translation map;
  map.index = in.get32();
  map.levels = static_cast<std::uint8_t>(in.get(8));
  map.page_shift = static_cast<std::uint8_t>(in.get(8));
  map.null = in.get(1);
  map.indirect = in.get(1);
  map.on_demand = in.get(1);
  map.table = in.get(64);
  map.table_va = in.get(64);
  const std::uint64_t va_offset = in.get(64);
  hca_element piece{};
  piece.va = in.get(64);
  piece.key = in.get32();
  piece.length = in.get32();
  const auto tag = static_cast<unsigned>(in.get(tag_bits));
  key_request* const r = tagged_[tag];
  if (!r) return violation("stream rsp answers tag " + std::to_string(tag) + ", which is not in use");
  take_tag_back(tag);
  r->result = v;
  if (r->op == key_op::element) {
    if (v == verdict::granted) r->piece = piece;
  } else {
    r->epoch = epoch;
    r->parent_epoch = v == verdict::granted ? parent_epoch : 0;
    r->map = map;
    r->va_offset = va_offset;
    references_ += (r->epoch != 0) + (r->parent_epoch != 0);
    outstanding_.set(references_, t);
  }
  ++verdicts_[r->remote][static_cast<std::size_t>(v)];
  latency_[r->remote].add(t - arrived_[tag]);
  verdict_probe_.set(static_cast<std::uint64_t>(v), t);
  references_probe_.set(references_, t);
  if (!behind_.empty()) {
    const waiting_request w = behind_.front();
    behind_.pop_front();
    enter(*w.request, std::max(w.t, t));
  }
  enter_drains(t);
  target_socket<key_request>::respond(*r, t);
}

void key_check_rtl::drained(unsigned tag, ps t) {
  key_request* const r = tagged_[tag];
  if (!r) return violation("stream drn_rsp answers tag " + std::to_string(tag) + ", which is not in use");
  take_tag_back(tag);
  drain_wait_.add(t - arrived_[tag]);
  enter_drains(t);
  target_socket<key_request>::respond(*r, t);
}

void key_check_rtl::describe() {
  static constexpr const char* sides[2] = {"local", "remote"};
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t v = 0; v < verdicts; ++v) {
      stats_.add(std::string(sides[s]) + "_" + verdict_names[v], "1",
                 std::string("checks of ") + (s ? "R_Keys" : "L_Keys") + " that ended in " + verdict_names[v], verdicts_[s][v]);
    }
    stats_.add(std::string(sides[s]) + "_latency", "ps", std::string("from request to verdict, ") + (s ? "R_Keys" : "L_Keys"),
               latency_[s]);
  }
  stats_.add("extent_lines", "1", "lines of extents looked at", extent_lines_);
  stats_.add("drains", "1", "epochs begun by the command unit", drain_count_);
  stats_.add("drain_wait", "ps", "from a drain to the end of the last older access", drain_wait_);
  stats_.add("references", "1", "held by accesses granted and not finished, one to each key that granted it", outstanding_);
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
  signals_.add("verdict", 3, verdict_probe_, {verdict_names, verdict_names + verdicts});
  signals_.add("references", 16, references_probe_);
}

}  // namespace hcasim
