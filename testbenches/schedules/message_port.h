// Messages between ranks by verbs, as an MPI library carries them. Small ones go eagerly, by SEND through bounce buffers. Large
// ones go by rendezvous, with one RDMA READ or WRITE between the buffers of the two programs. One RC QP joins each pair of
// ranks; a rank has one SRQ and one CQ.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/kit/endpoint.h"
#include "testbenches/schedules/message_buffers.h"

namespace hcasim::schedules {

// read: the receiver fetches the bytes. write: the receiver offers its buffer, and the sender puts the bytes there.
enum class rendezvous : std::uint8_t { read, write };

struct port_options {
  std::uint64_t eager = 8192;  // largest message that is sent eagerly, bytes
  rendezvous way = rendezvous::read;
  buffer_options buffers{};
  std::uint32_t receives = 512;   // of the SRQ
  std::uint32_t send_depth = 64;  // requests outstanding on a QP
  kit::ibv_mtu mtu = kit::IBV_MTU_1024;
};

struct port_counts {
  std::uint64_t eager = 0;  // messages sent
  std::uint64_t rendezvous = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unexpected = 0;  // messages that came before their receive
};

class message_port {
 public:
  // Hears that an operation of the rank is done, at the thread's time.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void done(cpu& c, std::uint32_t operation) = 0;
  };

  message_port(kit::process_context& p, std::uint32_t rank, const port_options& o, listener& l);

  // Makes a QP to `peer` and returns its address for it.
  kit::address add_peer(std::uint32_t peer);
  void connect(std::uint32_t peer, const kit::address& to);

  // Begins an operation; `done` is called from here or from progress. Throws std::runtime_error when a verb fails.
  void send(cpu& c, std::uint32_t operation, std::uint32_t peer, std::uint32_t tag, std::uint64_t bytes);
  void receive(cpu& c, std::uint32_t operation, std::uint32_t peer, std::uint32_t tag, std::uint64_t bytes);
  // Handles what has completed; false = nothing had. Throws std::runtime_error on a completion with error or wrong bytes.
  bool progress(cpu& c);
  // Sleeps until something completes; false = `timeout` passed first.
  bool wait(cpu& c, ps timeout = never) { return wait_cq(c, cq_, timeout); }

  // Returns whether requests wait for room in a send queue: eager sends are done before.
  [[nodiscard]] bool owes() const;

  [[nodiscard]] const port_counts& counts() const { return counts_; }
  [[nodiscard]] const buffer_counts& buffers() const { return buffers_.counts(); }

 private:
  enum class message : std::uint32_t { eager, request, ready, finished };
  struct header {
    message kind;
    std::uint32_t tag;
    std::uint64_t bytes;
    std::uint64_t address;
    std::uint32_t rkey;
    std::uint32_t id;       // of the transfer at the sender of this header
    std::uint32_t peer_id;  // and at its receiver
    std::uint32_t padding = 0;
  };
  // The work request that a completion is for, in the upper half of wr_id.
  enum class work : std::uint32_t { receive, bounce, bind, fetch, put, invalidate };
  struct request {
    kit::ibv_send_wr wr{};
    kit::ibv_sge sge{};
  };
  struct peer {
    kit::ibv_qp* qp = nullptr;
    std::uint32_t free = 0;  // slots of its send queue
    std::deque<request> backlog;
  };
  // A send until there is a bounce buffer for it.
  struct waiting_send {
    std::uint32_t operation;
    std::uint32_t to;
    std::uint32_t tag;
    std::uint64_t bytes;
  };
  struct channel {
    std::deque<std::uint32_t> posted;  // operations
    struct arrival {
      header h;
      std::uint32_t buffer;  // eager: of the SRQ, until it is copied
    };
    std::deque<arrival> arrived;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  struct transfer {
    std::uint32_t operation = 0;
    std::uint32_t peer = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stamp = 0;
    std::uint64_t remote = 0;
    std::uint32_t rkey = 0;
    std::uint32_t peer_id = 0;
    message_buffers::buffer buffer{};
  };

  void post(cpu& c, peer& to, request r);
  void post_now(cpu& c, peer& to, request& r);
  void send_header(cpu& c, peer& to, const header& h, std::uint64_t payload, std::uint64_t stamp, std::uint32_t invalidate = 0);
  void bind(cpu& c, peer& to, const transfer& t, unsigned rights);
  void begin_send(cpu& c, const waiting_send& w);
  void begin_waiting(cpu& c);
  std::uint32_t take_bounce(cpu& c);
  void add_bounces(cpu& c);
  [[nodiscard]] std::uint64_t bounce_address(std::uint32_t i) const {
    return bounces_[i / bounces_of_region].addr + i % bounces_of_region * slot_bytes();
  }
  void post_receive(cpu& c, std::uint32_t buffer);

  void on_receive(cpu& c, const kit::ibv_wc& wc);
  void on_arrival(cpu& c, std::uint32_t from, const channel::arrival& a);
  void match(cpu& c, std::uint32_t from, channel& ch, std::uint32_t operation, const channel::arrival& a);
  void fetch(cpu& c, std::uint32_t id);
  void offer(cpu& c, std::uint32_t id);
  void put(cpu& c, const header& h);
  void on_fetched(cpu& c, std::uint32_t id);
  void on_put(cpu& c, std::uint32_t id);
  void on_written(cpu& c, std::uint32_t id);
  void on_work(cpu& c, const kit::ibv_wc& wc);
  void end(cpu& c, std::uint32_t id);

  std::uint32_t new_transfer(std::uint32_t operation, std::uint32_t to, std::uint64_t bytes, std::uint64_t stamp);
  channel& channel_of(std::uint32_t other, std::uint32_t tag) { return channels_[std::uint64_t{other} << 32 | tag]; }
  [[nodiscard]] static std::uint64_t stamp_of(std::uint32_t from, std::uint32_t to, std::uint32_t tag, std::uint64_t number);
  struct stamped {
    std::uint64_t address;
    std::uint64_t bytes;
  };
  [[nodiscard]] static std::array<stamped, 2> stamped_parts(std::uint64_t address, std::uint64_t bytes);
  void stamp(std::uint64_t address, std::uint64_t bytes, std::uint64_t value);
  void expect_stamp(std::uint64_t address, std::uint64_t bytes, std::uint64_t value, std::uint32_t from);
  [[nodiscard]] std::uint64_t slot_bytes() const { return sizeof(header) + options_.eager; }

  kit::process_context& p_;
  std::uint32_t rank_;
  port_options options_;
  listener& listener_;
  kit::ibv_cq* cq_ = nullptr;
  kit::ibv_srq* srq_ = nullptr;
  kit::region receive_memory_{};
  static constexpr std::uint32_t bounces_of_region = 256;
  std::vector<kit::region> bounces_;  // of headers and eager messages that leave
  std::vector<std::uint32_t> free_bounces_;
  std::deque<waiting_send> waiting_;
  message_buffers buffers_;
  std::map<std::uint32_t, peer> peers_;
  std::unordered_map<std::uint32_t, std::uint32_t> rank_of_qp_;
  std::unordered_map<std::uint64_t, channel> channels_;
  std::vector<transfer> transfers_;
  std::vector<std::uint32_t> free_transfers_;
  port_counts counts_;
};

}  // namespace hcasim::schedules
