#include "tlm/rtl/tlp/tlp_completer.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hcasim::rtl {

tlp_completer::tlp_completer(const sc_core::sc_module_name& name, shell& of, const tlp_completer_options& options)
    : sc_module(name),
      tlp_source(of, options.requests),
      options_(options),
      aside_{.bar_id = options.bar_id, .func_num = options.completer.value_or(0) & 255U},
      completions_(of, options.completions) {
  check_limits(options.max_payload, options.max_read_request, options.completion_boundary);
  if (options.tags < 1 || options.tags > 256)
    throw std::invalid_argument(who() + ": tags: " + std::to_string(options.tags) + ", there are 1 to 256");
  if (completions_.clock() != clock())
    throw std::invalid_argument(who() + ": has another clock than endpoint " + options.completions +
                                ", that completes its reads");
  reading_.assign(options.tags, nullptr);
  memory.register_nb_transport_fw(this, &tlp_completer::begin);
  completions_.on_tlp = [this](const tlp& p, ps t) { on_response(p, t); };
  on_sent = [this](std::uint64_t, ps t) { sent(t); };
}

tlm::tlm_sync_enum tlp_completer::begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const unsigned n = p.get_data_length();
  auto status = tlm::TLM_OK_RESPONSE;
  if (!p.is_read() && !p.is_write()) status = tlm::TLM_COMMAND_ERROR_RESPONSE;
  if (p.get_byte_enable_ptr()) status = tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (n == 0 || p.get_streaming_width() < n) status = tlm::TLM_BURST_ERROR_RESPONSE;
  if (status != tlm::TLM_OK_RESPONSE) {
    p.set_response_status(status);
    return tlm::TLM_COMPLETED;
  }
  newest_ = std::max(newest_, from_delay(delay));
  access& a = accesses_.get();
  a = {&p, 0, tlm::TLM_OK_RESPONSE};
  active_.push_back(&a);
  const unsigned limit = p.is_read() ? options_.max_read_request : options_.max_payload;
  for (unsigned place = 0; place < n; ++a.left) {
    request r;
    r.of = &a;
    r.first = options_.base + p.get_address() + place;
    r.place = place;
    r.bytes = std::min(n - place, limit - static_cast<unsigned>(r.first % limit));
    r.header.kind = p.is_read() ? tlp_kind::memory_read : tlp_kind::memory_write;
    r.header.requester = options_.requester;
    set_range(r.header, r.first, r.bytes);
    place += r.bytes;
    if (p.is_write()) {
      write(r, newest_);
    } else {
      request& read = requests_.get();
      read = r;
      waiting_.push_back(&read);
    }
  }
  start_reads(newest_);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void tlp_completer::write(const request& r, ps t) {
  ++writes_;
  tlp out{pack(r.header), std::vector<unsigned char>(4 * std::size_t{r.header.words})};
  std::copy_n(r.of->payload->get_data_ptr() + r.place, r.bytes, out.bytes.begin() + static_cast<std::ptrdiff_t>(r.first % 4));
  sending_.push_back(r.of);
  send(out, t, 0, aside_);
}

void tlp_completer::start_reads(ps t) {
  for (auto tag = free_tag(); tag && !waiting_.empty(); tag = free_tag()) {
    request& r = *waiting_.front();
    waiting_.pop_front();
    reading_[*tag] = &r;
    next_tag_ = *tag + 1;
    ++reads_;
    owe(1);
    r.header.tag = static_cast<std::uint16_t>(*tag);
    sending_.push_back(nullptr);
    send({pack(r.header), {}}, t, 0, aside_);
  }
}

std::optional<unsigned> tlp_completer::free_tag() const {
  for (unsigned n = 0; n < options_.tags; ++n) {
    const unsigned tag = (next_tag_ + n) % options_.tags;
    if (!reading_[tag]) return tag;
  }
  return std::nullopt;
}

void tlp_completer::sent(ps t) {
  access* const a = sending_.front();
  sending_.pop_front();
  if (a) end_request(*a, t);
}

unsigned tlp_completer::bytes_of(const tlp_header& completion, const request& r) {
  return std::min(r.bytes - r.returned, 4 * completion.words - static_cast<unsigned>((r.first + r.returned) % 4));
}

std::string tlp_completer::refusal_here(const tlp_header& h) const {
  const auto both = [](const char* what, unsigned is, unsigned wanted) {
    return std::string("has ") + what + " " + std::to_string(is) + ", not " + std::to_string(wanted);
  };
  if (h.is_request()) return "is not a completion";
  if (h.requester != options_.requester) return both("requester", h.requester, options_.requester);
  if (h.tag >= reading_.size() || !reading_[h.tag]) return "has tag " + std::to_string(h.tag) + ", which no read under way has";
  if (options_.completer && h.completer != *options_.completer) return both("completer", h.completer, *options_.completer);
  const request& r = *reading_[h.tag];
  const std::string of_tag = "of tag " + std::to_string(h.tag) + " ";
  if (h.traffic_class != 0 || h.relaxed_ordering || h.no_snoop) return of_tag + "has attributes, and its read had none";
  const bool with_data = h.kind == tlp_kind::completion_data;
  if (h.status == tlp_status::unsupported_request || h.status == tlp_status::completer_abort)
    return with_data ? of_tag + "has data, and status " + std::to_string(static_cast<unsigned>(h.status)) : "";
  if (h.status != tlp_status::success) return of_tag + both("status", static_cast<unsigned>(h.status), 0) + ", 1 or 4";
  if (!with_data) return of_tag + "is successful, and has no data";
  const unsigned left = r.bytes - r.returned;
  const auto begin = static_cast<unsigned>((r.first + r.returned) % tlp_most_bytes);
  if (h.byte_count != left) return of_tag + both("byte count", h.byte_count, left);
  if (h.lower_address != begin % 128) return of_tag + both("lower address", h.lower_address, begin % 128);
  if (4 * h.words > options_.max_payload)
    return of_tag + "has " + std::to_string(4 * h.words) + " bytes, " + std::to_string(options_.max_payload) + " are allowed";
  const unsigned end = begin + bytes_of(h, r);
  const unsigned words = (end + 3) / 4 - begin / 4;
  if (h.words != words) return of_tag + "has " + std::to_string(h.words) + " words, its bytes are in " + std::to_string(words);
  if (end == begin + left || end % options_.completion_boundary == 0) return {};
  return of_tag + "ends " + std::to_string(begin + left - end) + " bytes before the last one, and at no multiple of " +
         std::to_string(options_.completion_boundary);
}

void tlp_completer::on_response(const tlp& p, ps t) {
  tlp_header h;
  std::string wrong = unpack(p.header, h);
  if (wrong.empty()) wrong = refusal_here(h);
  if (!wrong.empty()) return violation("stream " + completions_.stream_name() + ": a TLP " + wrong);
  request& r = *reading_[h.tag];
  access& a = *r.of;
  if (h.status != tlp_status::success) {
    ++errors_;
    a.status = h.status == tlp_status::unsupported_request ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE;
    return end_read(h.tag, t);
  }
  if (h.poisoned) a.status = tlm::TLM_GENERIC_ERROR_RESPONSE;
  const unsigned bytes = bytes_of(h, r);
  std::copy_n(p.bytes.begin() + static_cast<std::ptrdiff_t>((r.first + r.returned) % 4), bytes,
              a.payload->get_data_ptr() + r.place + r.returned);
  r.returned += bytes;
  if (r.returned == r.bytes) end_read(h.tag, t);
}

// Its tag is free again.
void tlp_completer::end_read(unsigned tag, ps t) {
  owe(-1);
  request& r = *std::exchange(reading_[tag], nullptr);
  access& a = *r.of;
  requests_.put(r);
  newest_ = std::max(newest_, t);
  start_reads(newest_);
  end_request(a, t);
}

void tlp_completer::end_request(access& a, ps t) {
  if (--a.left == 0) answer(a, t);
}

void tlp_completer::answer(access& a, ps t) {
  tlm::tlm_generic_payload& p = *a.payload;
  p.set_response_status(a.status);
  std::erase(active_, &a);
  accesses_.put(a);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(t);
  memory->nb_transport_bw(p, phase, delay);
}

// Everything under way is answered with an error, also requests that have not reached the RTL.
void tlp_completer::was_reset(ps t, std::vector<lost>& losses) {
  tlp_source::was_reset(t, losses);
  owe_and_await_nothing();
  for (request* r : waiting_) requests_.put(*r);
  for (request*& r : reading_) {
    if (r) requests_.put(*r);
    r = nullptr;
  }
  waiting_.clear();
  sending_.clear();
  const std::vector<access*> ended = active_;
  if (!ended.empty()) losses.push_back({who() + ": accesses", ended.size()});
  for (access* a : ended) {
    a->status = tlm::TLM_GENERIC_ERROR_RESPONSE;
    answer(*a, t);
  }
}

}  // namespace hcasim::rtl
