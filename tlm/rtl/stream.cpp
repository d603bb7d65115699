#include "tlm/rtl/stream.h"

#include <utility>

namespace hcasim::rtl {

void stream::push(const payload& p, ps t, std::uint64_t cookie) {
  ++pushed_;
  auto at = items_.end();
  // What is offered already stays in front.
  const auto first = items_.begin() + (offered_ ? 1 : 0);
  while (at != first && std::prev(at)->t > t) --at;
  items_.insert(at, {p, t, cookie});
}

void stream::put_on_pins(const payload& p) const {
  if (bundle_.data.size() == 1 && bundle_.data.front()->whole) [[likely]] {
    std::memcpy(bundle_.data.front()->at, p.words.data(), bundle_.data.front()->bytes());
    return;
  }
  unsigned at = 0;
  for (const pin* d : bundle_.data) {
    if (d->whole) {
      payload part;
      for (unsigned i = 0; i < d->bits; i += 32)
        part.set(i, std::min(32U, d->bits - i), p.get(at + i, std::min(32U, d->bits - i)));
      std::memcpy(d->at, part.words.data(), d->bytes());
    } else {
      for (unsigned i = 0; i < d->bits; ++i) d->set(i, p.get(at + i, 1) != 0);
    }
    at += d->bits;
  }
}

void stream::take_from_pins(payload& p) const {
  if (bundle_.data.size() == 1 && bundle_.data.front()->whole) [[likely]] {
    std::memcpy(p.words.data(), bundle_.data.front()->at, bundle_.data.front()->bytes());
    return;
  }
  unsigned at = 0;
  for (const pin* d : bundle_.data) {
    if (d->whole) {
      payload part;
      std::memcpy(part.words.data(), d->at, d->bytes());
      for (unsigned i = 0; i < d->bits; i += 32)
        p.set(at + i, std::min(32U, d->bits - i), part.get(i, std::min(32U, d->bits - i)));
    } else {
      for (unsigned i = 0; i < d->bits; ++i) p.set(at + i, 1, d->get(i));
    }
    at += d->bits;
  }
}

// Credits go back one a cycle, each stalled by its gate.
bool stream::return_credits() {
  const bool one = owed_ > 0 && delay_ == 0;
  bundle_.credit->set(one);
  if (one) {
    --owed_;
    ++credits_;
    delay_ = gate_.delay(++returned_);
  } else if (owed_ > 0) {
    --delay_;
    ++stalled_;
    return true;
  }
  return one;
}

std::string stream::take_credit() {
  if (!bundle_.credit->get()) return {};
  if (credits_ == bundle_.credits) {
    return bundle_.credit->name + " gives back a credit, and none is out";
  }
  ++credits_;
  return {};
}

bool stream::drive(ps t) {
  if (!bundle_.into && bundle_.credit) {
    ready_ = true;
    return return_credits();
  }
  if (!bundle_.into) {
    ready_ = delay_ == 0 || !bundle_.ready;
    if (bundle_.ready) bundle_.ready->set((ready_ && !bundle_.fifo) != bundle_.busy);
    return false;
  }
  const bool due = !offered_ && !items_.empty() && items_.front().t <= t;
  if (due && delay_ == 0 && bundle_.credit && credits_ == 0) {
    set_valid(false);
    ++waiting_;
    ++stalled_;
  } else if (due && delay_ == 0) {
    if (bundle_.credit) --credits_;
    put_on_pins(items_.front().data);
    offered_ = true;
    waiting_ = 0;
    set_valid(!bundle_.fifo);
  } else {
    if (!offered_) set_valid(false);
    if (due) {
      --delay_;
      ++stalled_;
    }
  }
  return due;
}

bool stream::follow() {
  if (!bundle_.fifo || !bundle_.ready) return false;
  if (bundle_.into) {
    set_valid(offered_ && other_is_ready());
    return offered_;
  }
  const bool takes = ready_ && is_valid();
  bundle_.ready->set(takes != bundle_.busy);
  return takes;
}

std::string stream::sample() {
  fired_ = false;
  if (bundle_.into) {
    fired_ = offered_ && other_is_ready();
    if (offered_ && !fired_) {
      ++waiting_;
      ++stalled_;
    }
    return bundle_.credit ? take_credit() : std::string();
  }
  const bool valid = is_valid();
  std::string wrong;
  if (bundle_.late) {
    fired_ = std::exchange(data_due_, valid && ready_);
    if (fired_) take_from_pins(sampled_);
    if (valid && !ready_) {
      ++stalled_;
      --delay_;
    }
    return wrong;
  }
  if (valid) {
    payload now_there;
    take_from_pins(now_there);
    if (offered_ && now_there != sampled_)
      wrong = bundle_.data.front()->name + " changed while " + bundle_.valid->name + " waited for ready";
    sampled_ = now_there;
  } else if (offered_) {
    wrong = bundle_.valid->name + " fell before it was taken";
  }
  fired_ = valid && ready_;
  if (valid && bundle_.credit) {
    if (credits_ == 0) return bundle_.valid->name + " sends without a credit";
    --credits_;
    ++owed_;
  }
  if (valid && !ready_) {
    ++stalled_;
    --delay_;
  }
  offered_ = valid && !ready_;
  return wrong;
}

void stream::deliver(ps t) {
  fired_ = false;
  ++transfers_;
  if (bundle_.into || !bundle_.credit) delay_ = gate_.delay(transfers_);
  if (!bundle_.into) {
    if (on_transfer) on_transfer(sampled_, 0, t);
    return;
  }
  offered_ = false;
  const item moved = items_.front();
  items_.pop_front();
  if (on_transfer) on_transfer(moved.data, moved.cookie, t);
}

}  // namespace hcasim::rtl
