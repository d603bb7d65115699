// The common part of the units' recorders. A recorder writes items in the order in which they reached the unit, each with the
// time since the last. Content that the unit read from memory is written, too, if changed, before the first item waiting then.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/coverification/lockstep/lockstep.h"
#include "testbenches/program/recording/listen.h"
#include "testbenches/program/recording/stream_recorder.h"
#include "tlm/base/clock_domain.h"
#include "tlm/dma.h"

namespace hcasim::lockstep {

class unit_recorder : public stream_recorder, public sc_core::sc_module {
 public:
  // Records `unit` into `file`, as a stream of `bench`.
  unit_recorder(const std::string& unit, const std::string& file, const char* bench, frequency clock, std::uint64_t seed);

  std::uint64_t finish() override;

 protected:
  // Returns the adapter's name and a point.
  [[nodiscard]] std::string adapter() const { return unit_.substr(0, unit_.rfind('.') + 1); }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  void found() { found_ = true; }
  options& how() { return options_; }
  // Notes a request that has reached the unit, and fills in its item's gap.
  void open(const void* request, item i, ps t);
  // Notes an answer. `lent`: the answer lends an entry that is given back later. A request from before the recording is left
  // out.
  void answer(const void* request, ps t, bool lent = false);
  // Notes a release. Returns the request's item with the hold time filled in; nullptr = no entry was lent.
  item* give_back(const void* request, ps t);
  // Notes items right before the item of a request that has not been given back.
  void precede(const void* request, const item_stream& with);
  // Notes the present content of a place. Reads without a request under way are left out.
  void read(std::uint64_t place, const item_stream& now_there);
  // Notes the unit's own write to a place.
  void wrote(std::uint64_t place, const item_stream& now_there) { known_[place] = now_there; }
  // Returns the beginning of the stream.
  virtual item_stream preface() { return {}; }

 private:
  struct entry {
    item what{};
    item_stream before;
    ps answered{0};
  };
  [[nodiscard]] std::uint64_t cycles(ps t) const;

  const std::string unit_, file_, bench_;
  const clock_domain clock_;
  options options_;
  bool found_ = false;
  ps last_{0};
  std::vector<entry> entries_;
  std::unordered_map<const void*, std::size_t> open_;  // index of the entry; never iterated
  std::set<std::size_t> asked_;                        // not answered yet
  std::map<std::uint64_t, item_stream> known_;
};

// Calls the recorder for each request: begins, answered, gives_back.
template <class P, class Recorder>
class request_tap final : public chained_observer<P> {
 public:
  request_tap(initiator_socket<P>& s, Recorder& to) : chained_observer<P>(s), to_(to) {}
  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (phase == tlm::BEGIN_REQ) to_.begins(p, t);
    if (phase == tlm::END_RESP) to_.gives_back(p, t);
    chained_observer<P>::forward(p, phase, t);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) to_.answered(p, t);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    to_.answered(p, t);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  Recorder& to_;
};

// Calls the recorder for each answer to the unit's own requests: came.
template <class P, class Recorder>
class answer_tap final : public chained_observer<P> {
 public:
  answer_tap(initiator_socket<P>& s, Recorder& to, unsigned which = 0) : chained_observer<P>(s), to_(to), which_(which) {}
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) to_.came(p, which_);
    chained_observer<P>::forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    to_.came(p, which_);
    chained_observer<P>::backward(p, phase, t);
  }

 private:
  Recorder& to_;
  const unsigned which_;
};

// Returns the content of a transfer's address now, as an item of a bench whose memory is made of lines of 64 bytes.
item memory_item(std::uint8_t kind, const dma_request& p);

// Puts taps on the sockets of a payload that `wanted` picks.
template <class P, class Tap, class Wanted, class... Args>
void tap_sockets(std::vector<std::unique_ptr<Tap>>& taps, const Wanted& wanted, Args&&... args) {
  for (initiator_socket<P>* s : sockets_of<P>()) {
    if (wanted(*s)) taps.push_back(std::make_unique<Tap>(*s, args...));
  }
}

std::unique_ptr<stream_recorder> record_key_check(const std::string& unit, const std::string& file, const hca_config& c,
                                                  std::uint64_t seed);
std::unique_ptr<stream_recorder> record_page_walker(const std::string& unit, const std::string& file, const hca_config& c,
                                                    std::uint64_t seed);
std::unique_ptr<stream_recorder> record_context_cache(const std::string& unit, const std::string& file, const hca_config& c,
                                                      std::uint64_t seed);
std::unique_ptr<stream_recorder> record_doorbell(const std::string& unit, const std::string& file, const hca_config& c,
                                                 std::uint64_t seed);

}  // namespace hcasim::lockstep
