// Listens on the sockets of two adapters and holds the number that each access carries against what is known of it: each
// request has pages of its own at both ends, its place in its queue, and its PSNs.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/driver/objects/objects.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/program/recording/listen.h"
#include "tlm/dma.h"
#include "tlm/operation.h"
#include "tlm/packet.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim::kit {

class operation_watch {
 public:
  operation_watch();

  // Returns the last operation of `qp`; `here` and `there`: the pages that it uses on its own node 0 and on node 1.
  std::uint64_t posted(const ibv_qp& qp, std::uint64_t here, std::uint64_t there);
  // Its packets are those to `peer`, and their answers.
  void connected(const address& self, const address& peer);
  void begins_anew();
  // Only what happens while it watches is of requests: before and after, the driver's commands need the same units.
  void watch(bool on) { on_ = on; }

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] std::uint64_t seen(const std::string& what) const;

 private:
  template <class P>
  class tap;
  template <class P>
  void listen();

  void check(const std::string& unit, const std::string& socket, const doorbell_ring& r);
  void check(const std::string& unit, const std::string& socket, const work_request& r);
  void check(const std::string& unit, const std::string& socket, const window_request& r);
  void check(const std::string& unit, const std::string& socket, const context_request& r);
  void check(const std::string& unit, const std::string& socket, const key_request& r);
  void check(const std::string& unit, const std::string& socket, const translate_request& r);
  void check(const std::string& unit, const std::string& socket, const dma_request& r);
  void check(const std::string& unit, const std::string& socket, const packet& p);
  void check(const std::string& unit, const std::string& socket, const report& r);
  template <class P>
  void answered(const std::string&, const P&) {}
  void answered(const std::string& unit, const translate_request& r);

  void expect(bool ok, const std::string& what, const std::string& unit, std::uint64_t operation);
  // That it is one which was posted.
  void expect_known(const std::string& what, const std::string& unit, std::uint64_t operation);
  void expect_page(const std::string& what, const std::string& unit, std::uint64_t va, std::uint64_t operation);

  using page = std::pair<unsigned, std::uint64_t>;                         // node, page
  using flight = std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>;  // LID and QP that it goes to, PSN
  std::set<std::uint64_t> posted_;
  std::map<page, std::uint64_t> pages_;
  std::map<page, std::uint64_t> frames_;                                   // physical page to virtual
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> rung_;  // queue and producer index
  std::map<std::pair<std::uint16_t, std::uint32_t>, address> peers_;
  std::map<flight, std::uint64_t> flights_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint32_t> queues_;  // whose requests go there
  std::map<std::string, std::uint64_t> seen_;
  std::vector<std::string> problems_;
  std::vector<std::shared_ptr<void>> taps_;
  bool on_ = false;
};

}  // namespace hcasim::kit
