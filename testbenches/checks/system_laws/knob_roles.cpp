#include "testbenches/checks/system_laws/knob_roles.h"

#include <algorithm>

#include "testbenches/program/description/names.h"

namespace hcasim::metamorphic {

const std::vector<listed_knob>& listed_knobs() {
  constexpr const char* simulator = "of the simulator, not of what is simulated";
  constexpr const char* seed = "chooses among equals";
  constexpr const char* shape = "how many entries a set has of a number that stays: another shape, not more";
  constexpr const char* policy = "a choice between two costs";
  static const std::vector<listed_knob> list = {
      {"nodes", role::none, false, "another system"},
      {"host.stack", role::none, false, simulator},
      {"host.run_ahead", role::none, false, simulator},
      {"pcie.completion_payload", role::size, true},
      {"pcie.request_header", role::cost},
      {"pcie.completion_header", role::cost},
      {"pcie.dllp_overhead", role::cost},
      {"pcie.posted_headers", role::pool},
      {"pcie.posted_data", role::pool},
      {"pcie.nonposted_headers", role::pool},
      {"pcie.device_posted_headers", role::pool},
      {"pcie.device_posted_data", role::pool},
      {"pcie.device_nonposted_headers", role::pool},
      {"pcie.completion_bytes", role::pool, true},
      {"pcie.memory_top", role::none, false, "where addresses lie"},
      {"iommu.ways", role::none, false, shape},
      {"iommu.walkers", role::pool},
      {"iommu.invalidation_timeout", role::none, false, "when a device is given up"},
      {"host.combining_buffers", role::none, false, "with more lines ahead of them, a device's reads wait longer"},
      {"doorbell.fifo_depth", role::pool},
      {"doorbell.blueflame_max", role::none, false, policy},
      {"doorbell.blueflame_buffer", role::pool},
      {"send_queue.units", role::pool},
      {"send_queue.wqe_cache", role::pool},
      {"send_queue.max_outstanding", role::pool},
      {"send_queue.refetches", role::pool},
      {"processing_units.units", role::pool, true},
      {"requester.buffers", role::pool},
      {"requester.window", role::pool},
      {"requester.ack_every", role::none, false, policy},
      {"responder.buffers", role::pool},
      {"responder.ack_coalesce", role::none, false, policy},
      {"page_walker.upper_ways", role::none, false, shape},
      {"page_walker.walkers", role::pool},
      {"page_walker.mshrs", role::pool},
      {"dma_engine.read_tags", role::pool},
      {"dma_engine.write_buffer", role::pool},
      {"dma_engine.datapath_width", role::size, true},
      {"dma_engine.read_line", role::cost},
      {"dma_engine.write_line", role::cost},
      {"dma_engine.atomic_waiters", role::pool, true},
      {"port.count", role::none, false, "another system"},
      {"port.egress_packets", role::pool},
      {"icm.map_sets", role::pool, true},
      {"icm.map_ways", role::pool},
      {"host.llc_size", role::none, false, "a whole number of sets, and 0 for no cache"},
      {"host.llc_ways", role::none, false, shape},
      {"host.llc_ddio_ways", role::none, false, policy},
      {"*_cache.ways", role::pool},
      {"*_cache.fetches", role::pool},
      {"*_cache.write_buffers", role::pool},
      {"atc.ways", role::none, false, shape},
      {"atc.requests", role::pool},
      {"atc.page_requests", role::pool},
      {"atc.page_retries", role::none, false, "when a page is given up"},
      {"rtl.*", role::none, false, "how RTL is run"},
      {"*.seed", role::none, false, seed},
      {"*.key_seed", role::none, false, seed},
      {"driver.command_timeout", role::none, false, "when a device is given up"},
      {"driver.first_vector", role::none, false, "a name"},
      {"driver.vendor_id", role::none, false, "a name"},
      {"driver.vendor_part_id", role::none, false, "a name"},
      {"driver.cq_record_interval", role::none, false, policy},
      {"driver.fault_pages", role::none, false, policy},
      {"peer*.page", role::none, false, policy},
      {"peer*.read_slots", role::pool},
      {"peer*.copy_outstanding", role::pool},
      {"device*.*", role::none, false, "of RTL that the workloads have not"},
      {"link.buffer", role::pool, true},
      {"link.loss", role::none, false, "a fault on demand"},
      {"link.corruption", role::none, false, "a fault on demand"},
      {"link.duplication", role::none, false, "a fault on demand"},
      {"link.delay", role::none, false, "a fault on demand"},
      {"link.max_delay", role::none, false, "a fault on demand"},
      {"switch.queue", role::pool, true},
      {"system.stall_limit", role::none, false, "when a run is given up"},
      {"system.stall_events", role::none, false, "when a run is given up"},
  };
  return list;
}

namespace {

std::string last_two(const std::string& path) {
  const auto dot = path.rfind('.');
  if (dot == std::string::npos) return path;
  const auto before = path.rfind('.', dot - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}

role of_time(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("interval")) return role::interval;
  return has("latency") || has("propagation") || has("depth") ? role::latency : role::cost;
}

}  // namespace

const listed_knob* listed(const knob_tree::leaf& l) {
  const std::string name = last_two(l.path);
  const auto& list = listed_knobs();
  const auto it = std::find_if(list.begin(), list.end(), [&](const listed_knob& k) { return glob_match(k.name, name); });
  return it == list.end() ? nullptr : &*it;
}

std::optional<role> role_of(const knob_tree::leaf& l) {
  if (const listed_knob* k = listed(l)) return k->what;
  switch (l.kind) {
    case knob_kind::rate:
    case knob_kind::clock:
      return role::throughput;
    case knob_kind::time:
    case knob_kind::cycles:
      return of_time(last_two(l.path));
    case knob_kind::count:
    case knob_kind::bytes:
      return role::size;
    case knob_kind::flag:
    case knob_kind::choice:
    case knob_kind::text:
    case knob_kind::path:
      return role::none;
    default:
      return std::nullopt;
  }
}

std::string general_path(const std::string& path) {
  if (!path.starts_with("node") || path == "nodes") return path;
  return path.starts_with("node0.") ? "node*." + path.substr(6) : "";
}

double number_of(const knob_tree::leaf& l) {
  struct reader {
    double operator()(const std::uint32_t* v) const { return *v; }
    double operator()(const std::uint64_t* v) const { return static_cast<double>(*v); }
    double operator()(const double* v) const { return *v; }
    double operator()(const ps* v) const { return static_cast<double>(v->count()); }
    double operator()(const bit_rate* v) const { return v->bits_per_second; }
    double operator()(const frequency* v) const { return v->hertz; }
    double operator()(const bool* v) const { return *v ? 1 : 0; }
    double operator()(const std::string*) const { return 0; }
    double operator()(const knob::selection& s) const { return static_cast<double>(s.get()); }
  };
  return std::visit(reader{}, l.value);
}

}  // namespace hcasim::metamorphic
