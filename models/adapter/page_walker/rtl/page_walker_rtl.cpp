#include "models/adapter/page_walker/rtl/page_walker_rtl.h"

#include <string>

#include "tlm/base/delegate.h"

namespace hcasim {

page_walker_rtl::page_walker_rtl(const sc_core::sc_module_name& name, const page_walker_config& config,
                                 const clock_domain& clock, unsigned clients, rtl::design_factory make,
                                 const rtl::shell_options& options)
    : shell(name, clock, make, options),
      req_(into("req", tag_bits + 373)),
      rsp_(out_of("rsp", tag_bits + 130)),
      mem_req_(out_of("mem_req", tag_bits + 66)),
      mem_rsp_(into("mem_rsp", tag_bits + 513)) {
  const auto demand = [](bool ok, const char* knob, const char* value) { built_for("page_walker", ok, knob, value); };
  demand(config.leaf_sets == 256, "leaf_sets", "256");
  demand(config.leaf_ways == 4, "leaf_ways", "4");
  demand(config.line == pte_line::eight, "line", "8");
  demand(config.upper_entries == 64, "upper_entries", "64");
  demand(config.upper_ways == 4, "upper_ways", "4");
  demand(config.policy == replacement_policy::lru, "policy", "lru");
  demand(config.walkers == 4, "walkers", "4");
  demand(config.mshrs == tags, "mshrs", "32");
  demand(config.second_sets == 0, "second_sets", "0");
  demand(config.hit_under_miss, "hit_under_miss", "true");
  demand(config.hit_latency == 3, "hit_latency", "3 cycles");
  demand(config.issue_interval == 1, "issue_interval", "1 cycle");
  for (unsigned i = 0; i < tags; ++i) free_tags_.push_back(static_cast<std::uint8_t>(i));
  for (unsigned i = 0; i < tags; ++i) {
    table_read& r = reads_[i];
    r.self = this;
    r.tag = i;
    r.data = r.line.data();
    call_on_response<&table_read::self, &page_walker_rtl::on_response>(r, r);
  }
  for (unsigned i = 0; i < clients; ++i)
    in.emplace_back(("in_" + std::to_string(i)).c_str()).on<&page_walker_rtl::handle>(this);
  req_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { owe(1); };
  rsp_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { answer(p, t); };
  mem_req_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { read(p, t); };
  stall_by(mem_req_, [](const rtl::payload& p) { return rtl::of_address(p.get(0, 64)); });
  mem_rsp_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { await(-1); };
  describe();
}

tlm::tlm_sync_enum page_walker_rtl::handle(translate_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  if (free_tags_.empty()) {
    behind_.push_back({&r, t});
    waiting_.set(behind_.size(), t);
  } else {
    enter(r, t);
  }
  return tlm::TLM_ACCEPTED;
}

void page_walker_rtl::enter(translate_request& r, ps t) {
  const unsigned tag = free_tags_.front();
  free_tags_.pop_front();
  tags_probe_.set(tags - free_tags_.size(), t);
  tagged_[tag] = &r;
  arrived_[tag] = t;
  push(req_, t)
      .put(r.op == translate_op::drop, 1)
      .put(r.write, 1)
      .put(r.map.index, 32)
      .put(r.map.levels, 8)
      .put(r.map.page_shift, 8)
      .put(r.map.null, 1)
      .put(r.map.indirect, 1)
      .put(r.map.on_demand, 1)
      .put(r.map.table, 64)
      .put(r.map.table_va, 64)
      .put(r.va, 64)
      .put(r.last, 64)
      .put(r.length, 64)
      .put(tag, tag_bits);
}

void page_walker_rtl::read(const rtl::payload& p, ps t) {
  rtl::reader in_bits(p);
  const std::uint64_t address = in_bits.get(64);
  const auto at_level = in_bits.get32(2);
  const bool whole = at_level == 0;
  table_read& r = reads_[in_bits.get32(tag_bits)];
  await(1);
  ++reads_of_[at_level];
  r.operation = tagged_[r.tag] ? tagged_[r.tag]->operation : 0;
  r.op = dma_op::read;
  r.source = dma_source::table;
  r.failed = false;
  r.bytes = whole ? line_bytes : sizeof(std::uint64_t);
  r.address = address;
  if (dma.send(r, t) == tlm::TLM_COMPLETED) on_response(r, t);
}

void page_walker_rtl::on_response(table_read& r, ps t) {
  push(mem_rsp_, t, 0, rtl::of_address(r.address)).bytes(r.line.data(), line_bytes).put(r.failed, 1).put(r.tag, tag_bits);
}

void page_walker_rtl::answer(const rtl::payload& p, ps t) {
  owe(-1);
  rtl::reader in_bits(p);
  const auto status = static_cast<translate_status>(in_bits.get(2));
  const std::uint64_t physical = in_bits.get(64);
  const std::uint64_t bytes = in_bits.get(64);
  const auto tag = in_bits.get32(tag_bits);
  translate_request* const r = tagged_[tag];
  if (!r) return violation("stream rsp answers tag " + std::to_string(tag) + ", which is not in use");
  tagged_[tag] = nullptr;
  free_tags_.push_back(static_cast<std::uint8_t>(tag));
  tags_probe_.set(tags - free_tags_.size(), t);
  r->status = status;
  if (r->op == translate_op::walk) {
    r->physical = physical;
    r->bytes = bytes;
    latency_.add(t - arrived_[tag]);
    ++(status == translate_status::ok ? ok_ : status == translate_status::not_present ? not_present_ : errors_);
    status_probe_.set(static_cast<std::uint64_t>(status), t);
  } else {
    ++drops_;
  }
  if (!behind_.empty()) {
    const waiting_request w = behind_.front();
    behind_.pop_front();
    waiting_.set(behind_.size(), t);
    enter(*w.request, std::max(w.t, t));
  }
  target_socket<translate_request>::respond(*r, t);
}

void page_walker_rtl::describe() {
  stats_.add("translated", "1", "translations that ended in an address", ok_);
  stats_.add("not_present", "1", "translations that ended at an entry that is not present", not_present_);
  stats_.add("errors", "1", "translations that failed because a table could not be read", errors_);
  stats_.add("drops", "1", "ranges the command unit had forgotten", drops_);
  for (unsigned i = 0; i < levels; ++i) {
    stats_.add("reads_level_" + std::to_string(i), "1", "DMA reads of tables of this level (0: page entries)", reads_of_[i]);
  }
  stats_.add("latency", "ps", "from request to answer, hits included", latency_);
  stats_.add("waiting", "1", "requests that wait for a tag", waiting_);
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
  signals_.add("status", 2, status_probe_, {"ok", "not_present", "table_error"});
  signals_.add("in_flight", 6, tags_probe_);
}

}  // namespace hcasim
