// Streams of whole TLPs out of and into RTL, in the form that open NICs have behind the vendor's PCIe core: a header of 128
// bits, its first word highest, beside the first beat of the payload, whose first byte is lowest.
//
// PINS of hca_add_rtl: "tlp NAME = PATTERN" takes hdr, sop, eop, valid and ready, and those of data, strb (a bit for each
// word), error, bar_id and func_num that the RTL has. A stream without data is one of read requests. One TLP begins in a beat
// at most, and at its lowest word.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tlm/rtl/endpoint.h"
#include "tlm/rtl/tlp/tlp_header.h"

namespace hcasim::rtl {

struct tlp {
  tlp_words header{};
  std::vector<unsigned char> bytes{};  // of its payload, whole words

  bool operator==(const tlp&) const = default;
};

// The signals of the RTL's side of a PCIe core beside the header, on pins of these names.
struct tlp_aside {
  unsigned error = 0;
  unsigned bar_id = 0;
  unsigned func_num = 0;
};

// Places of the signals.
struct tlp_fields {
  field data, strb, hdr, error, bar_id, func_num, sop, eop;
  unsigned words = 0;  // of a beat; 0 = there is no data

  explicit tlp_fields(const stream& s);
};

// Into RTL.
class tlp_source : public endpoint {
 public:
  // Called when the last beat of a TLP was taken.
  std::function<void(std::uint64_t cookie, ps t)> on_sent;

  // Throws std::invalid_argument: there is no such stream, or it has no data.
  tlp_source(shell& of, const std::string& name);

  void send(const tlp& p, ps t, std::uint64_t cookie = 0, const tlp_aside& aside = {});
  [[nodiscard]] std::uint64_t under_way() const { return under_way_; }
  void was_reset(ps t, std::vector<lost>& losses) override;

 protected:
  // Throws std::invalid_argument: PCIe has no such limits.
  void check_limits(unsigned max_payload, unsigned max_read_request, unsigned completion_boundary) const;

 private:
  stream& s_;
  const tlp_fields f_;
  std::uint64_t under_way_ = 0;
};

// Out of RTL. Violations: sop or eop on the wrong beat, words left out, a payload that is not as long as its header says.
class tlp_sink : public endpoint {
 public:
  std::function<void(const tlp&, ps t)> on_tlp;

  tlp_sink(shell& of, const std::string& name);

  [[nodiscard]] const std::string& stream_name() const { return s_.name(); }
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  void beat(const payload& p, ps t);
  [[nodiscard]] std::string take(const payload& p);

  stream& s_;
  const tlp_fields f_;
  tlp begun_;
  unsigned beats_ = 0;  // of it that have come
};

}  // namespace hcasim::rtl
