#include "tlm/rtl/tlp/tlp_master.h"

#include <algorithm>
#include <stdexcept>

#include "tlm/access.h"

namespace hcasim::rtl {
namespace {

constexpr unsigned bad_status = 2;  // on the pins `error` of open PCIe interfaces

}  // namespace

tlp_master::tlp_master(const sc_core::sc_module_name& name, shell& of, const tlp_master_options& options)
    : sc_module(name), tlp_source(of, options.completions), options_(options), choice_(seed(), who()) {
  check_limits(options.max_payload, options.max_read_request, options.completion_boundary);
  for (const std::string& stream_name : options.requests) {
    tlp_sink& s = requests_of_rtl_.emplace_back(of, stream_name);
    if (s.clock() != clock())
      throw std::invalid_argument(who() + ": has another clock than endpoint " + stream_name + ", whose reads it completes");
    s.on_tlp = [this, &s](const tlp& p, ps t) { take(p, s.stream_name(), t); };
  }
  memory.register_nb_transport_bw(this, &tlp_master::answered);
  on_sent = [this](std::uint64_t last, ps t) {
    if (last != 0) end_read();
    next_completion(t);
  };
}

std::string tlp_master::refusal_here(const tlp_header& h) const {
  if (!h.is_request()) return "is not a request";
  if (h.poisoned) return "is poisoned";
  if (options_.requester && h.requester != *options_.requester)
    return "comes from requester " + std::to_string(h.requester) + ", this one is " + std::to_string(*options_.requester);
  const bool is_read = h.kind == tlp_kind::memory_read;
  const unsigned limit = is_read ? options_.max_read_request : options_.max_payload;
  if (4 * h.words > limit) return "has " + std::to_string(4 * h.words) + " bytes, " + std::to_string(limit) + " are allowed";
  const auto same_tag = [&](const request* r) { return r->header.tag == h.tag && r->header.requester == h.requester; };
  if (is_read &&
      (std::any_of(reading_.begin(), reading_.end(), same_tag) || std::any_of(returning_.begin(), returning_.end(), same_tag)))
    return "has tag " + std::to_string(h.tag) + ", and the read of this tag has not been completed";
  return refusal(h);
}

void tlp_master::take(const tlp& p, const std::string& stream_name, ps t) {
  tlp_header h;
  std::string wrong = unpack(p.header, h);
  if (wrong.empty()) wrong = refusal_here(h);
  if (!wrong.empty()) return violation("stream " + stream_name + ": a TLP " + wrong);
  ++requests_;
  request& r = pool_.get();
  r.header = h;
  r.gone = false;
  r.left = 1;
  r.returned = 0;
  r.status = tlm::TLM_OK_RESPONSE;
  if (h.kind == tlp_kind::memory_read) {
    read(r, t);
  } else {
    r.bytes = p.bytes;
    write(r, t);
  }
  if (--r.left == 0) finish(r, t);
}

// `left` counts the request itself while its accesses go out, since they may be answered in the call.
void tlp_master::read(request& r, ps t) {
  await(1);
  reading_.push_back(&r);
  const tlp_range range = range_of(r.header);
  r.bytes.assign(std::max(range.bytes, 1U), 0);
  send(r, range.first, r.bytes.data(), r.bytes.size(), t);
}

void tlp_master::write(request& r, ps t) {
  for (unsigned n = 0; n < r.bytes.size();) {
    unsigned end = n;
    while (end < r.bytes.size() && is_enabled(r.header, end)) ++end;
    if (end > n) send(r, r.header.address + n, r.bytes.data() + n, end - n, t);
    n = end + 1;
  }
}

void tlp_master::send(request& r, std::uint64_t to, unsigned char* bytes, std::size_t n, ps t) {
  access& a = accesses_.get();
  a.of = &r;
  ++r.left;
  const bool is_write = r.header.kind == tlp_kind::memory_write;
  set_access(a, is_write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, to, bytes, n);
  a.pcie = {};
  a.pcie.requester = r.header.requester;
  a.pcie.tag = r.header.tag;
  a.pcie.relaxed_ordering = r.header.relaxed_ordering;
  a.pcie.no_snoop = r.header.no_snoop;
  a.set_extension(&a.pcie);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(t);
  const tlm::tlm_sync_enum status = memory->nb_transport_fw(a, phase, delay);
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) answered(a, phase, delay);
}

tlm::tlm_sync_enum tlp_master::answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::END_REQ) return tlm::TLM_ACCEPTED;
  access& a = static_cast<access&>(p);
  request& r = *a.of;
  if (r.status == tlm::TLM_OK_RESPONSE) r.status = a.get_response_status();
  a.clear_extension(&a.pcie);
  accesses_.put(a);
  if (--r.left == 0) finish(r, from_delay(delay));
  return tlm::TLM_COMPLETED;
}

// A write is posted: its requester is not told of its end.
void tlp_master::finish(request& r, ps t) {
  if (r.gone || r.header.kind == tlp_kind::memory_write) return pool_.put(r);
  std::erase(reading_, &r);
  r.answered_at = newest_ = std::max(newest_, t);
  returning_.push_back(&r);
  if (under_way() == 0) next_completion(newest_);
}

unsigned tlp_master::next_bytes(const request& r) {
  const auto whole = static_cast<unsigned>(r.bytes.size());
  const std::uint64_t begin = range_of(r.header).first + r.returned;
  const unsigned left = whole - r.returned;
  const auto of_first_word = static_cast<unsigned>(begin % 4);
  if (of_first_word + left <= options_.max_payload && !options_.split_anywhere) return left;
  // Boundaries at which the completion may end, counted from the boundary at or below its begin.
  const unsigned boundary = options_.completion_boundary;
  const auto above = static_cast<unsigned>(begin % boundary);
  const unsigned most = (options_.max_payload + above - of_first_word) / boundary;
  const unsigned needed = (above + left + boundary - 1) / boundary;
  if (!options_.split_anywhere) return most * boundary - above;
  const auto chosen = static_cast<unsigned>(1 + choice_.below(std::min(most, needed)));
  return std::min(chosen * boundary - above, left);
}

// Its tag is free again.
void tlp_master::end_read() {
  await(-1);
  pool_.put(*returning_[completing_]);
  returning_.erase(returning_.begin() + static_cast<std::ptrdiff_t>(completing_));
}

// The first of the reads that go back is next, or, interleaved, any one.
void tlp_master::next_completion(ps t) {
  if (returning_.empty()) return;
  const std::size_t n = options_.interleave ? choice_.below(returning_.size()) : 0;
  request& r = *returning_[n];
  const tlp_range range = range_of(r.header);
  tlp_header h;
  h.requester = r.header.requester;
  h.tag = r.header.tag;
  h.traffic_class = r.header.traffic_class;
  h.relaxed_ordering = r.header.relaxed_ordering;
  h.no_snoop = r.header.no_snoop;
  h.completer = options_.completer;
  h.byte_count = static_cast<unsigned>(r.bytes.size()) - r.returned;
  const std::uint64_t begin = range.first + r.returned;
  h.lower_address = static_cast<std::uint8_t>(begin & 127);
  tlp completion;
  const bool good = r.status == tlm::TLM_OK_RESPONSE;
  if (good) {
    const unsigned bytes = next_bytes(r);
    const auto skipped = static_cast<std::size_t>(begin % 4);
    h.kind = tlp_kind::completion_data;
    h.words = static_cast<unsigned>(skipped + bytes + 3) / 4;
    completion.bytes.resize(4 * std::size_t{h.words});
    std::copy_n(r.bytes.begin() + r.returned, bytes, completion.bytes.begin() + static_cast<std::ptrdiff_t>(skipped));
    r.returned += bytes;
  } else {
    h.kind = tlp_kind::completion;
    h.status = r.status == tlm::TLM_ADDRESS_ERROR_RESPONSE ? tlp_status::unsupported_request : tlp_status::completer_abort;
  }
  completion.header = pack(h);
  const bool last = !good || r.returned == r.bytes.size();
  tlp_source::send(completion, std::max(r.answered_at, t), last, {.error = good ? 0 : bad_status});
  completing_ = n;
}

void tlp_master::was_reset(ps t, std::vector<lost>& losses) {
  tlp_source::was_reset(t, losses);
  owe_and_await_nothing();
  const std::uint64_t ended = reading_.size() + returning_.size();
  for (request* r : reading_) r->gone = true;  // their accesses may still be answered
  for (request* r : returning_) pool_.put(*r);
  reading_.clear();
  returning_.clear();
  if (ended > 0) losses.push_back({who() + ": reads", ended});
  run();
}

}  // namespace hcasim::rtl
