// The pins of hca_add_rtl: each names ports of the design, and becomes a line of the design's constructor. Their form stands in
// cmake/add_rtl.cmake.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ports.h"

namespace hcasim::wrap {

class pins {
 public:
  // `top`: the module, for messages.
  pins(const module_ports& ports, std::string top) : ports_(ports), top_(std::move(top)) {}

  // Reads all pins, and refuses a design with an input that nothing drives.
  void read(const std::vector<std::string>& all);
  // Refuses a design without the bundles of a unit's interface: key_check, page_walker, device, ...
  void check_interface(const std::string& interface) const;

  [[nodiscard]] const std::string& lines() const { return lines_; }
  [[nodiscard]] const std::vector<std::string>& clocks() const { return clocks_; }
  [[nodiscard]] const std::vector<std::string>& resets() const { return resets_; }
  // Returns the valids of what goes into the design.
  [[nodiscard]] const std::vector<std::string>& offers() const { return offers_; }

 private:
  friend class endpoint;
  // A port, or a slice of one.
  struct use {
    std::string port;
    unsigned bits = 0;
  };
  struct bundle {
    bool into = false;
    unsigned bits = 0;  // of its payload; 0 = an endpoint's channel
  };
  struct interface_bundle {
    bool into;
    const char* name;
    unsigned bits;  // 0 = any
  };

  void read_pin(const std::string& pin);
  void read_clock(const std::string& name, const std::vector<std::string>& words);
  void read_reset(const std::string& name, const std::vector<std::string>& words);
  void read_bundle(bool into, const std::string& name, const std::vector<std::string>& words);
  // Notes the use of a port. Refuses a port that is not there, goes the other way, or is not `bits` wide (0 = any).
  use take(const std::string& text, bool output, unsigned bits, const std::string& where);
  [[nodiscard]] std::size_t clock_number(const std::string& port, const std::string& where) const;
  [[nodiscard]] std::string known() const;
  void check_driven() const;
  [[nodiscard]] std::vector<interface_bundle> bundles_of(const std::string& interface) const;

  const module_ports& ports_;
  const std::string top_;
  std::string lines_;
  std::vector<std::string> clocks_;
  std::vector<std::string> resets_;
  std::vector<std::string> offers_;
  std::vector<std::string> used_;
  std::map<std::string, bundle> bundles_;
  bool has_idle_ = false;
};

}  // namespace hcasim::wrap
