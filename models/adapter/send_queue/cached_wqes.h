// Cached WQEs of requests at the requester, oldest first: they may make room.
#pragma once

#include "tlm/work.h"

namespace hcasim {

struct cached_wqe : work_request {
  cached_wqe* older = nullptr;
  cached_wqe* newer = nullptr;
  bool listed = false;
};

class cached_wqes {
 public:
  void push(cached_wqe& w) {
    w.older = newest_;
    w.newer = nullptr;
    (newest_ ? newest_->newer : oldest_) = &w;
    newest_ = &w;
    w.listed = true;
  }
  void remove(cached_wqe& w) {
    if (!w.listed) return;
    (w.older ? w.older->newer : oldest_) = w.newer;
    (w.newer ? w.newer->older : newest_) = w.older;
    w.listed = false;
  }
  [[nodiscard]] cached_wqe* oldest() const { return oldest_; }

 private:
  cached_wqe* oldest_ = nullptr;
  cached_wqe* newest_ = nullptr;
};

}  // namespace hcasim
