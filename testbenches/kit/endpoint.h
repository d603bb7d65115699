// Objects of nearly every program: a context, a PD, a CQ, connected RC QPs, a registered buffer, and one work request at a
// time.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "models/driver/verbs/verbs.h"
#include "models/machine/host/cpu.h"
#include "models/machine/host/virtual_memory.h"
#include "models/system/system.h"

namespace hcasim::kit {

using namespace hcasim::verbs;  // NOLINT(google-build-using-namespace): programs read like libibverbs

inline constexpr int all_rights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
inline constexpr int qp_rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct qp_options {
  std::uint32_t send_depth = 64;
  std::uint32_t receive_depth = 64;
  std::uint32_t sge = 4;
  std::uint32_t inline_bytes = 0;
  bool signal_all = false;
  bool privileged = false;  // HCAX_QP_PRIVILEGED
  ibv_mtu mtu = IBV_MTU_1024;
  unsigned access = qp_rights;
  std::uint8_t timeout = 14;
  std::uint8_t retry = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 1;
  std::uint8_t read_depth = 16;      // READs and atomics under way
  std::uint8_t peer_read_depth = 0;  // likewise, of the peer: 0 = the same
  std::uint32_t psn = 0x10;
  ibv_qp_type type = IBV_QPT_RC;
  std::uint32_t qkey = 0x11111111;  // UD
  ibv_srq* srq = nullptr;
  const ibv_global_route* global = nullptr;  // with a GRH
  std::uint8_t port = 1;                     // of the adapter, from 1
  std::uint8_t service_level = 0;
};

// The address by which the other side connects.
struct address {
  std::uint16_t lid = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
};

struct region {
  std::uint64_t addr = 0;
  std::uint64_t length = 0;
  ibv_mr* mr = nullptr;
};

// The object that a verb makes, and the knob of the largest number.
struct limit {
  const char* what;
  const char* said_by;
};
template <class T>
inline constexpr limit limit_of{"an object", "the adapter"};
template <>
inline constexpr limit limit_of<ibv_context>{"a context", "the adapter's doorbell pages"};
template <>
inline constexpr limit limit_of<ibv_cq>{"a CQ", "driver.log_cqs, driver.table_bytes and hca.command_unit"};
template <>
inline constexpr limit limit_of<ibv_mr>{"a region", "driver.log_mrs, driver.table_bytes and hca.command_unit"};
template <>
inline constexpr limit limit_of<ibv_mw>{"a window", "driver.log_mrs and hca.command_unit"};
template <>
inline constexpr limit limit_of<ibv_qp>{"a QP", "driver.log_qps, driver.table_bytes and hca.command_unit"};
template <>
inline constexpr limit limit_of<ibv_srq>{"an SRQ", "driver.log_qps, driver.table_bytes and hca.command_unit"};

// A verb has failed; start_program adds the place.
class verb_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws verb_error with the object, the reason, and the knob of the limit.
[[noreturn]] void cannot_make(const limit& of, int error);
// Returns the object that a verb has made; a null pointer is an error, by errno.
template <class T>
T* made(T* object) {
  if (!object) cannot_make(limit_of<T>, errno);
  return object;
}

// Returns the route of a GRH to the port with this LID.
ibv_global_route global_route_to(std::uint16_t lid);
// RESET -> INIT -> RTR -> RTS; 0 or errno. UD has no peer.
int connect(cpu& c, ibv_qp* qp, const address& peer, const qp_options& o = {});

// One process on one node.
class process_context {
 public:
  process_context(cpu& c, node& n);
  ~process_context();
  process_context(const process_context&) = delete;
  process_context& operator=(const process_context&) = delete;

  // Destroys everything; false = something was still in use or leaked.
  bool close();

  region allocate(std::uint64_t bytes, int access = all_rights, page_policy pages = page_policy::scattered,
                  ibv_pd* pd = nullptr);
  ibv_qp* create_qp(const qp_options& o = {}, ibv_pd* pd = nullptr, ibv_cq* cq = nullptr);
  [[nodiscard]] address address_of(const ibv_qp* qp, const qp_options& o = {}) const;
  int connect(ibv_qp* qp, const address& peer, const qp_options& o = {}) { return kit::connect(c, qp, peer, o); }
  // Connects, or throws std::runtime_error, whose text names the knobs of the limits.
  void must_connect(ibv_qp* qp, const address& peer, const qp_options& o = {});
  int reset(ibv_qp* qp);
  // Waits until `it` returns true, at most a second: checks now, then every 20 us or a sixteenth of the time waited.
  bool comes_true(const std::function<bool()>& it);
  ibv_qp_state state(ibv_qp* qp);

  void fill(std::uint64_t addr, std::uint64_t bytes, std::uint8_t seed);
  [[nodiscard]] std::vector<std::uint8_t> bytes(std::uint64_t addr, std::uint64_t n);
  void store64(std::uint64_t addr, std::uint64_t value);
  [[nodiscard]] std::uint64_t load64(std::uint64_t addr);

  cpu& c;
  node& n;
  virtual_memory memory;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
};

// Building work requests.
struct request {
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  std::uint64_t id = 0;
  std::vector<ibv_sge> sges = {};
  std::uint64_t remote = 0;
  std::uint32_t rkey = 0;
  unsigned flags = IBV_SEND_SIGNALED;
  std::uint32_t immediate = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  ibv_ah* ah = nullptr;  // UD
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0x11111111;
  std::uint32_t srqn = 0;  // XRC
};
int post(cpu& c, ibv_qp* qp, request r);
int post_receive(cpu& c, ibv_qp* qp, std::uint64_t id, std::vector<ibv_sge> sges);
int post_receive(cpu& c, ibv_srq* srq, std::uint64_t id, std::vector<ibv_sge> sges);
// The next completion; nothing when `timeout` passes first.
std::optional<ibv_wc> next_completion(cpu& c, ibv_cq* cq, ps timeout = 10000_ms);
// Posts and waits for this request's completion (signaled or failed); receive completions of the same CQ are kept in `others`.
ibv_wc complete(cpu& c, ibv_qp* qp, const request& r, std::vector<ibv_wc>* others = nullptr);

}  // namespace hcasim::kit
