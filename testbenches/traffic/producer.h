// A producer says what comes next on one QP: operation, size, place and time. It knows neither verbs nor the kernel; an issuer
// posts what the producer says.
//
// Contract: the issuer calls next() when the message before has been posted, and posts the new one at its time or later.
#pragma once

#include <cstdint>
#include <memory>

#include "testbenches/traffic/plan.h"
#include "tlm/base/random.h"

namespace hcasim::traffic {

struct message {
  traffic::operation operation = traffic::operation::write;
  std::uint32_t size = 0;
  std::uint32_t region = 0;
  std::uint64_t offset = 0;  // in the region
  ps at{0};                  // intended arrival, after the begin of the flow; 0 = as soon as there is room
};

class producer {
 public:
  virtual ~producer() = default;
  // Sets the next message; false = there is no further one.
  virtual bool next(message& m) = 0;
};

// The messages of one QP of a flow. Operations, sizes, places and gaps come from a stream each, so one knob leaves the other
// streams alone.
class flow_producer final : public producer {
 public:
  // `lane`: the QP's name. `stretch`: factor of its gaps. `ranks`: null = places follow no Zipf law.
  flow_producer(const planned_flow& f, std::uint64_t seed, const std::string& lane, double stretch,
                std::shared_ptr<const zipf_ranks> ranks);

  bool next(message& m) override;

 private:
  [[nodiscard]] traffic::operation draw_operation();
  void draw_place(message& m);
  [[nodiscard]] ps draw_arrival();

  const planned_flow& flow_;
  std::shared_ptr<const zipf_ranks> ranks_;
  random_stream operations_;
  random_stream sizes_;
  random_stream places_;
  random_stream gaps_;
  double weights_ = 0;
  double stretch_;
  std::uint64_t turn_ = 0;
  std::uint32_t of_burst_ = 0;  // messages of the burst still to come
  double arrived_;              // time of the last arrival in ps, without the pauses
};

}  // namespace hcasim::traffic
