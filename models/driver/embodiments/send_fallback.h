// Claim 5 of US 7,290,038 [SUN5]: when an RDMA WRITE is aborted because the host has taken the storage away, the data goes by
// SEND and the host copies it. On RC the abort has put both QPs into the error state; the sender goes on over a second QP, or
// brings the first one back, before it sends.
#pragma once

#include <cstdint>

#include "models/driver/verbs/verbs.h"

namespace hcasim::verbs {

enum class fallback_step : std::uint8_t {
  done,     // delivered
  recover,  // bring the connection back (or take the spare), then SEND
  fail,     // not an aborted WRITE, or the SEND failed too
};

class send_fallback {
 public:
  // Returns the next step after this completion of a message's WRITE or SEND.
  fallback_step next(const ibv_wc& wc) {
    if (wc.status == IBV_WC_SUCCESS) {
      ++(sending_ ? sent_ : written_);
      sending_ = false;
      return fallback_step::done;
    }
    if (sending_ || wc.status != IBV_WC_REM_ACCESS_ERR) return fallback_step::fail;
    sending_ = true;
    return fallback_step::recover;
  }
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  bool sending_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace hcasim::verbs
