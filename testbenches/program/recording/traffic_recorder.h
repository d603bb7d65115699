// Writes what programs post to a file that `hcasim run traffic --replay FILE` posts again (docs/replay.md has the format).
// Lines of events are written as they come; lines of objects follow at the end, when their attributes are known.
#pragma once

#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/driver/verbs/verbs_observer.h"
#include "testbenches/program/recording/recorded_memory.h"
#include "tlm/base/kernel.h"

namespace hcasim {

class host;

class traffic_recorder final : public driver::verbs_observer {
 public:
  // Throws input_error: the file cannot be written.
  traffic_recorder(std::filesystem::path file, std::size_t nodes);
  ~traffic_recorder() override;

  // Writes the objects and the last line. Throws input_error.
  void finish();
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  // Returns how many requests a replay cannot post: they name a key, a peer or an operation beyond docs/replay.md.
  [[nodiscard]] std::uint64_t beyond_replay() const { return beyond_; }

  void made(verbs::ibv_qp& qp) override;
  void made(verbs::ibv_srq& srq) override;
  void modified(verbs::ibv_qp& qp, const verbs::ibv_qp_attr& to, int mask) override;
  void ending(verbs::ibv_qp& qp) override;
  void joined(verbs::ibv_qp& qp, const verbs::ibv_gid& group, std::uint16_t lid) override;
  void mapped(const cpu& c, ps begin) override;
  void sent(const cpu& c, ps begin, verbs::ibv_qp& qp, const verbs::ibv_send_wr* first, const verbs::ibv_send_wr* end) override;
  void received(const cpu& c, ps begin, verbs::ibv_qp& qp, const verbs::ibv_recv_wr* first,
                const verbs::ibv_recv_wr* end) override;
  void received(const cpu& c, ps begin, verbs::ibv_srq& srq, const verbs::ibv_recv_wr* first,
                const verbs::ibv_recv_wr* end) override;
  void polled(const cpu& c, ps begin, verbs::ibv_cq& cq, std::span<const verbs::ibv_wc> found) override;
  void waits(const cpu& c, ps begin, verbs::ibv_cq& cq, bool by_event) override;

 private:
  using port_address = std::pair<std::uint16_t, std::uint32_t>;  // LID and QPN

  struct thread {
    std::size_t number;
    std::size_t node;
    ps ended{0};    // its last verb
    ps gap{0};      // time of its own since its last event
    ps in_vain{0};  // time of waiting since then
    bool idle = false;
    bool by_event = false;
  };
  struct connection {
    std::size_t number;
    std::string made;  // the part of its line that is known when the QP is made
    port_address peer{};
    verbs::ibv_qp_attr attributes{};
    bool used = false;
  };

  thread& thread_of(const cpu& c);
  void spend_own_time(thread& t, ps begin, bool waits);
  void begin_event(const char* word, thread& t, ps begin);
  void request(const verbs::ibv_qp& qp, const verbs::ibv_send_wr& wr, bool more);
  void receives(const cpu& c, ps begin, const std::string& queue, const verbs::ibv_context* context,
                const verbs::ibv_recv_wr* first, const verbs::ibv_recv_wr* end);
  void places(const verbs::ibv_context* context, const verbs::ibv_sge* list, int count, bool has_keys);
  void target(const verbs::ibv_qp& qp, const verbs::ibv_send_wr& wr);
  void xrc_target(const verbs::ibv_qp& qp, const verbs::ibv_send_wr& wr);
  connection& connection_of(verbs::ibv_qp& qp);
  verbs::ibv_qp* peer_of(const verbs::ibv_qp& qp);
  std::size_t queue_of(verbs::ibv_cq* cq);
  std::size_t shared_of(verbs::ibv_srq* srq);
  std::size_t group_of(const verbs::ibv_gid& group, std::uint16_t lid);
  void line(std::string text);

  std::filesystem::path path_;
  std::FILE* file_;
  int error_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t beyond_ = 0;
  ps last_{0};
  std::string text_;  // of the line in work
  // Addresses of objects that are gone come again, on any node: numbers and sizes tell them apart.
  std::map<std::pair<const cpu*, const host*>, thread> threads_;
  std::deque<connection> connections_;
  std::unordered_map<const verbs::ibv_qp*, connection*> living_;
  std::map<port_address, verbs::ibv_qp*> by_address_;
  std::map<port_address, std::size_t> numbers_;  // of the latest QP at an address, also when it is gone
  using object_name = std::tuple<const void*, std::size_t, std::uint32_t, std::uint32_t>;  // node, number, size
  std::map<object_name, std::size_t> queues_;
  std::map<object_name, std::size_t> shared_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> shared_numbers_;  // by node and number on the adapter
  std::map<std::array<std::uint8_t, 16>, std::size_t> groups_;                   // by GID
  std::set<std::pair<std::size_t, std::size_t>> members_;                        // groups and QPs
  std::vector<std::string> objects_;
  recorded_memory memory_{objects_};
};

}  // namespace hcasim
