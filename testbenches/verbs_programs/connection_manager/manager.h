// The connection manager of all nodes, as RDMA CM shows it to programs. Programs open files and make identifiers in them.
// Messages between nodes take time. A request returns 0 or an errno value at once, and its outcome is an event.
#pragma once

#include <netinet/in.h>  // before the kernel's own definitions
#include <rdma/rdma_user_cm.h>

#include <array>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "testbenches/verbs_programs/connection_manager/endpoint.h"
#include "testbenches/verbs_programs/connection_manager/identifier_rules.h"
#include "testbenches/verbs_programs/connection_manager/network.h"

namespace hcasim::applications::cm {

struct manager_config {
  ps management{20'000'000};            // time of a message between nodes, and of a request for an address or route
  ps request_retry{4'294'967'296'000};  // time until a request that found a full backlog is sent again
};

inline constexpr std::uint8_t reliable_qp = 2;  // enum ib_qp_type
inline constexpr std::uint8_t datagram_qp = 4;
inline constexpr std::uint8_t xrc_initiator_qp = 9;
inline constexpr std::uint8_t xrc_target_qp = 10;
inline constexpr std::uint32_t default_qkey = 0x0123'4567;

// enum rdma_cm_event_type
enum class happened : std::uint32_t {
  address_resolved = 0,
  address_error = 1,
  route_resolved = 2,
  connect_request = 4,
  connect_response = 5,
  unreachable = 7,
  rejected = 8,
  established = 9,
  disconnected = 10,
  device_removed = 11,
  joined = 12,
};

struct event {
  happened what{};
  int status = 0;
  std::uint32_t fresh = 0;   // the identifier that a request has made; 0 = none
  std::uint32_t member = 0;  // the membership that the event is about; 0 = none
  decltype(rdma_ucm_event_resp::param) param{};
  std::uint32_t about = 0;  // the identifier that the event is about
  std::uint64_t uid = 0;
};

// A file that a program has opened.
struct file {
  std::uint32_t node = 0;
  std::function<void(int)> pending;  // called with the change of the number of events
  std::list<event> events;
};

// One side's queue pair, as the other side is told.
struct offer {
  std::uint32_t qp_num = 0;
  std::uint32_t qkey = 0;
  std::uint32_t first_psn = 0;  // the first PSN that this queue pair expects
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t flow_control = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t srq = 0;
};

struct identifier {
  std::uint32_t number = 0;
  file* of = nullptr;
  std::uint64_t uid = 0;  // the program's name; 0 = the program has not taken the identifier yet
  std::uint16_t space = 0;
  std::uint8_t qp_type = 0;
  bool passive = false;  // a request has made it
  id_state state;
  endpoint source;
  endpoint destination;
  bool reuse_port = false;
  std::uint32_t backlog = 0;   // of a listener: how many further requests may wait
  std::uint32_t listener = 0;  // the listener in whose backlog this identifier waits; 0 = none
  std::uint32_t peer = 0;      // the other side's number
  offer own;
  offer peers;
  std::uint8_t ack_timeout = 0;  // as in a QP; 0 = that of the route
  std::uint32_t events_reported = 0;
  bool device_removed = false;

  [[nodiscard]] bool datagram() const { return state.has(id_mark::datagram); }
  [[nodiscard]] bool on_device() const { return source.node != any_node; }
};

// The membership of an identifier in a multicast group, from join to leave.
struct membership {
  std::uint32_t of = 0;  // number of the identifier
  std::uint64_t uid = 0;
  gid group{};
  std::uint32_t events_reported = 0;
};

class manager {
 public:
  manager(network& n, const manager_config& config) : network_(n), config_(config) {}

  file& open(std::uint32_t node, std::function<void(int)> pending);
  void close(file& f);

  // Finds an identifier by its number. ENOENT = no identifier has the number; EINVAL = the identifier is in another file.
  int find(file& f, std::uint32_t number, identifier*& out);

  int create(file& f, std::uint64_t uid, std::uint16_t space, std::uint8_t qp_type, std::uint32_t& number);
  // Returns how many of its events the program has taken.
  std::uint32_t destroy(identifier& id);
  std::uint32_t migrate(identifier& id, file& to);
  int bind(identifier& id, const endpoint& e);
  int find_address(identifier& id, const endpoint& from, const endpoint& to);
  int find_route(identifier& id);
  int listen(identifier& id, std::uint32_t backlog);
  int connect(identifier& id, const rdma_ucm_conn_param& with);
  int accept(identifier& id, std::uint64_t uid, const rdma_ucm_conn_param& with);
  int reject(identifier& id, std::uint16_t reason, std::span<const std::uint8_t> private_data);
  int disconnect(identifier& id);
  int establish(identifier& id);  // the program has seen data arrive
  int join(identifier& id, std::uint64_t uid, const endpoint& to, std::uint32_t& number);
  // Tells the programs of a node of the loss of their device, once for each identifier on the device.
  void remove_device(std::uint32_t node);
  // Returns the multicast LID of a group; 0 = all are in use. A group without a member by RDMA CM keeps its LID from then on.
  std::uint16_t lid_of_group(const gid& group);
  // Ends a membership. ENOENT = no membership has the number.
  int leave(file& f, std::uint32_t number, std::uint32_t& events_reported);
  // Takes the oldest event of a file. False = there is none.
  bool take_event(file& f, rdma_ucm_event_resp& out);

  [[nodiscard]] const network& net() const { return network_; }
  [[nodiscard]] std::size_t identifiers() const { return identifiers_.size(); }

 private:
  struct message {
    message_kind kind{};
    std::uint32_t from = 0;
    std::uint32_t to = 0;  // 0 = the listener of the port, or the peer of `from`
    endpoint source;
    endpoint destination;
    std::uint16_t space = 0;
    std::uint8_t qp_type = 0;
    std::uint16_t reason = 0;
    offer with;
    std::array<std::uint8_t, RDMA_MAX_PRIVATE_DATA> private_data{};
    int again = 0;
  };

  identifier& make(file& f, std::uint16_t space, std::uint8_t qp_type);
  int reply(identifier& id, std::uint64_t uid, const rdma_ucm_conn_param& with);
  identifier* at(std::uint32_t number);
  bool take_port(identifier& id);
  [[nodiscard]] identifier* listener_of(const message& m);
  void give_back_backlog(identifier& id);
  [[nodiscard]] message about(const identifier& id, message_kind kind) const;
  void send(message m);
  void deliver(const message& m);
  void deliver_request(const message& m);
  void come_again(message m);
  void refuse(const message& m);
  identifier* addressee_of(const message& m);
  void tell(identifier& id, event e);
  void end(std::uint32_t number);
  [[nodiscard]] event told(const identifier& id, happened what, const message& m) const;

  network& network_;
  manager_config config_;
  std::list<file> files_;
  std::map<std::uint32_t, identifier> identifiers_;
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint16_t> next_port_;  // by node and port space
  std::map<std::uint32_t, membership> members_;
  std::map<gid, std::pair<std::uint16_t, std::uint32_t>> groups_;  // LID and number of members of each group
  std::uint32_t made_ = 0;
};

// Returns the bytes of private data that a program may send with a message: the specification's room less RDMA CM's header.
[[nodiscard]] std::size_t private_room(message_kind kind, std::uint16_t space);

}  // namespace hcasim::applications::cm
