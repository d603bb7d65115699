// A companion is a caller's part in a run of the engine. It may say messages itself, make objects beside the traffic's, and
// look at completions and at the bytes of the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/flow_memory.h"
#include "testbenches/traffic/producer.h"

namespace hcasim::traffic {

class companion {
 public:
  virtual ~companion() = default;

  // Hears that the host's program has the adapter open, and has made nothing.
  virtual void opened(std::size_t /*host*/, kit::process_context& /*p*/) {}
  // Hears that everything of the traffic is made on the host.
  virtual void made(std::size_t /*host*/, kit::process_context& /*p*/) {}
  // Returns the messages of a QP, numbered over the flow: QP q of pair p is p * qps + q. nullptr = the flow's knobs say them.
  virtual std::unique_ptr<producer> messages(std::size_t /*flow*/, std::size_t /*qp*/) { return nullptr; }
  // Hears of each completed message; `number` counts the messages of its QP.
  virtual void completed(cpu& /*c*/, std::size_t /*flow*/, std::size_t /*qp*/, std::uint64_t /*number*/) {}
  // Looks at what is there when all traffic has ended.
  virtual void ended(std::size_t /*host*/, kit::process_context& /*p*/, flow_memory& /*memory*/) {}
  // Hears that the host's program has closed the adapter; `clean` = nothing was in use.
  virtual void closed(std::size_t /*host*/, bool /*clean*/) {}
  // Hears why a host cannot make its part, and the run ends.
  virtual void failed(const std::string& /*why*/) {}
};

}  // namespace hcasim::traffic
