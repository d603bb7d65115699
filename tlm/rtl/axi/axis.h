// AXI-Streams of RTL, frame by frame.
//
// PINS of hca_add_rtl: "axis NAME = PATTERN" takes tvalid and those of tready, tdata, tkeep, tstrb, tlast, tid, tdest and tuser
// that the RTL has. Without tlast each beat is a frame.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tlm/rtl/endpoint.h"

namespace hcasim::rtl {

struct axis_frame {
  std::vector<unsigned char> bytes;
  std::uint64_t id = 0;
  std::uint64_t dest = 0;
  std::vector<std::uint64_t> user{};  // of each beat, its lowest 64 bits; to send: what is missing is as the last one, or 0

  bool operator==(const axis_frame&) const = default;
};

// Places of the signals.
struct axis_fields {
  field data, keep, strb, last, id, dest, user;
  unsigned bytes = 0;  // of a beat

  explicit axis_fields(const stream& s);
};

// Into RTL. A frame goes out in full beats, the last one with the bytes that remain.
class axis_source : public endpoint {
 public:
  // Called when the last beat of a frame was taken.
  std::function<void(std::uint64_t cookie, ps t)> on_sent;

  axis_source(shell& of, const std::string& name);

  // Throws std::invalid_argument: the stream cannot carry it, because it has neither tkeep nor a whole number of beats.
  void send(const axis_frame& f, ps t, std::uint64_t cookie = 0);
  // Frames whose last beat has not been taken.
  [[nodiscard]] std::uint64_t frames_under_way() const { return under_way_; }
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  stream& s_;
  const axis_fields f_;
  std::uint64_t under_way_ = 0;
};

struct axis_sink_options {
  bool packed = true;  // only the last beat of a frame may have bytes left out, and those above the others
};

// Out of RTL. Frames with different ids or destinations may come interleaved.
class axis_sink : public endpoint {
 public:
  std::function<void(const axis_frame&, ps t)> on_frame;

  axis_sink(shell& of, const std::string& name, const axis_sink_options& options = {});

  [[nodiscard]] std::uint64_t frames_begun() const { return begun_.size(); }
  void was_reset(ps t, std::vector<lost>& losses) override;

 private:
  void beat(const payload& p, ps t);

  stream& s_;
  const axis_fields f_;
  const axis_sink_options options_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, axis_frame> begun_;  // by id and destination
};

}  // namespace hcasim::rtl
