// The common part of both ends of a connection of rkey_reuse: connect, keep receives posted, tell by SENDs, measure. A target
// sends while it may and hears what the host tells; the host waits for the last WRITE of a buffer or segment.
#pragma once

#include "testbenches/scenarios/reuse_state.h"

namespace hcasim::kit {

class target_end {
 public:
  void run();

 protected:
  // `notes` receives of `note_bytes` are kept posted.
  target_end(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number, std::uint32_t notes,
             std::uint64_t note_bytes);
  ~target_end() = default;

  // Posts the next message and counts it; false = none may go now.
  virtual bool send_next() = 0;
  // The host has told something; sets done_ when it was that all is over.
  virtual void hear(std::uint64_t slot) = 0;
  template <class T>
  T take_note(std::uint64_t slot) {
    T note;
    p_.memory.read(notes_.addr + slot * note_bytes_, std::as_writable_bytes(std::span(&note, 1)));
    ok_ = post_note(slot);
    return note;
  }

  reuse_state& s_;
  cpu& c_;
  process_context p_;
  reuse_outcome& out_;
  ibv_qp* qp_ = nullptr;
  region source_;           // holds the stream
  std::uint64_t left_ = 0;  // of the stream, that this target has still to send
  std::uint32_t outstanding_ = 0;
  bool done_ = false;
  bool ok_ = true;

 private:
  bool post_note(std::uint64_t slot);

  reuse_state::link& link_;
  ibv_cq* cq_ = nullptr;
  region notes_;
  std::uint64_t note_bytes_;
};

class host_end {
 public:
  void run();

 protected:
  host_end(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t receives, std::uint64_t note_bytes);
  ~host_end() = default;

  virtual void stream() = 0;
  virtual void quiet_swaps() = 0;
  // All is over.
  virtual void tell_done(std::uint32_t target) = 0;

  // Around the part that the figures are of: the targets are ready, and when the last of them has finished.
  node_counts begin_measuring();
  void end_measuring(const node_counts& before);
  // The next WRITE with immediate data that has come; nothing when something failed.
  std::optional<ibv_wc> next_write();
  // Time from `noticed` until the first byte is at `host_va`, which `tell` leads to.
  template <class F>
  ps until_first_byte(ps noticed, std::uint64_t host_va, F&& tell) {
    const std::uint64_t watch = c_.watch(p_.memory.translate(host_va), 1);
    tell();
    ok_ = ok_ && c_.wait_write(watch, 1000_ms);
    c_.unwatch(watch);
    return c_.time() - noticed;
  }
  template <class T>
  void tell(std::uint32_t target, const T& note) {
    tell_bytes(target, std::as_bytes(std::span(&note, 1)));
  }

  reuse_state& s_;
  cpu& c_;
  process_context p_;
  reuse_mode mode_;
  reuse_outcome& out_;
  std::vector<std::uint8_t> received_;
  std::vector<ibv_qp*> qps_;
  bool ok_ = true;

 private:
  void tell_bytes(std::uint32_t target, std::span<const std::byte> note);

  ibv_cq* cq_ = nullptr;
  region notes_;
  std::uint32_t note_slots_ = 0;
  std::uint64_t note_ = 0;
  std::vector<std::uint64_t> told_so_far_;  // messages to each target
};

}  // namespace hcasim::kit
