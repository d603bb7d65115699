// An endpoint among the pins: all ports of an AXI port, of an AXI-Stream, or of a stream of TLPs, found by a pattern.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pins.h"

namespace hcasim::wrap {

// "axi4|axi_lite|axis|tlp NAME = PREFIX*SUFFIX[I/N] [CHANNEL.SIGNAL=PORT...] [clock=PORT]"
class endpoint {
 public:
  static bool is_kind(std::string_view kind);

  endpoint(pins& to, std::string kind, std::string name)
      : pins_(to), kind_(std::move(kind)), name_(std::move(name)), where_("endpoint " + name_) {}
  // Adds the bundles of all channels, and checks their widths against each other.
  void read(const std::vector<std::string>& words);

 private:
  // A port that belongs to a signal; no bits = there is none.
  struct found {
    std::string port;
    unsigned bits = 0;
  };
  static std::string key(std::string_view channel, std::string_view signal) {
    return std::string(channel) + "." + std::string(signal);
  }

  void read_word(const std::string& word);
  bool read_pattern(const std::string& word);
  [[nodiscard]] std::vector<std::string> spellings(const std::string& text) const;

  // Returns the port of a signal, named or by the pattern; empty = there is none.
  [[nodiscard]] std::string port_of(std::string_view channel, std::string_view signal) const;
  [[nodiscard]] std::string must_have(std::string_view channel, std::string_view signal) const;
  [[noreturn]] void missing(std::string_view channel, std::string_view signal) const;
  // Returns whether a valid goes into the design.
  [[nodiscard]] bool goes_in(const std::string& valid) const;

  void add_channel(std::string_view channel, bool into);
  bool add_stream();
  bool add_tlps();
  bool add_axi();
  void check_axi(bool writes, bool reads) const;
  [[nodiscard]] found at(std::string_view channel, std::string_view signal) const;
  // Refuses two signals unless the second one has `wanted` bits.
  void alike(const char* channel, const char* signal, const char* other_channel, const char* other, unsigned wanted) const;
  // Returns the bits of a channel's data, which must be a width of AXI.
  unsigned axi_data(const char* channel) const;

  pins& pins_;
  const std::string kind_;
  const std::string name_;
  const std::string where_;
  std::map<std::string, std::string> named_;  // by CHANNEL.SIGNAL
  std::string pattern_, prefix_, suffix_;
  std::vector<std::pair<std::string, std::string>> ends_;  // the spellings of prefix and suffix
  unsigned long lane_ = 0, lanes_ = 1;
  std::size_t clock_ = 0;
  std::map<std::string, found> found_;
};

}  // namespace hcasim::wrap
