// The connection manager alone, with two nodes and a network that is a list. Programs may write anything.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "testbenches/verbs_programs/connection_manager/commands.h"
#include "tlm/base/random.h"

namespace hcasim::applications::cm {

class listed_network : public network {
 public:
  [[nodiscard]] std::uint32_t nodes() const override { return 2; }
  [[nodiscard]] port port_of(std::uint32_t node) const override {
    return {0x100 + node, static_cast<std::uint16_t>(node + 1), static_cast<std::uint8_t>(5 - node), 16, ethernet};
  }
  void later(ps delay, std::function<void()> what) override { due_.emplace(now_ + delay, std::move(what)); }
  // Runs all that is due until a time, or until nothing is left.
  void run(ps until = never) {
    while (!due_.empty() && due_.begin()->first <= until) {
      now_ = due_.begin()->first;
      const auto what = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      what();
    }
  }
  [[nodiscard]] ps time() const { return now_; }

  bool ethernet = false;

 private:
  ps now_{0};
  std::multimap<ps, std::function<void()>> due_;
};

inline sockaddr_in6 ip(std::uint32_t node, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(node == any_node ? 0 : (127U << 24 | (node + 1)));
  sockaddr_in6 out{};
  std::memcpy(&out, &a, sizeof a);
  return out;
}

// A program and its file.
struct program {
  manager& m;
  std::uint32_t node;
  int pending = 0;
  file& f = m.open(node, [this](int change) { pending += change; });
  std::array<std::byte, most_answer_bytes> answer{};

  template <class Command>
  int write(std::uint32_t number, const Command& in, std::uint16_t room = most_answer_bytes) {
    std::vector<std::byte> bytes(sizeof(rdma_ucm_cmd_hdr) + sizeof in);
    const rdma_ucm_cmd_hdr h{number, sizeof in, room};
    std::memcpy(bytes.data(), &h, sizeof h);
    std::memcpy(bytes.data() + sizeof h, &in, sizeof in);
    return execute(m, f, {bytes, {}, nullptr}, answer).error;
  }
  template <class Answer>
  Answer answered() {
    Answer a;
    std::memcpy(&a, answer.data(), sizeof a);
    return a;
  }

  std::uint32_t create(std::uint16_t space = RDMA_PS_TCP, std::uint8_t qp_type = 0) {
    EXPECT_EQ(write(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{77, 0, space, qp_type, {}}), 0);
    return answered<rdma_ucm_create_id_resp>().id;
  }
  int bind(std::uint32_t id, std::uint32_t to, std::uint16_t port) {
    return write(RDMA_USER_CM_CMD_BIND_IP, rdma_ucm_bind_ip{0, ip(to, port), id});
  }
  int listen(std::uint32_t id, std::uint32_t backlog = 0) {
    return write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, backlog});
  }
  int resolve(std::uint32_t id, std::uint32_t to, std::uint16_t port) {
    return write(RDMA_USER_CM_CMD_RESOLVE_IP, rdma_ucm_resolve_ip{{}, ip(to, port), id, 2000});
  }
  int route(std::uint32_t id) { return write(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}); }
  static rdma_ucm_conn_param param(std::uint32_t qp_num) {
    rdma_ucm_conn_param p{};
    p.qp_num = qp_num;
    p.initiator_depth = 3;
    p.responder_resources = 5;
    p.retry_count = 9;
    p.private_data[0] = 42;
    p.private_data_len = 1;
    p.valid = 1;
    return p;
  }
  int connect(std::uint32_t id) { return write(RDMA_USER_CM_CMD_CONNECT, rdma_ucm_connect{param(0x11), id, 0, {}}); }
  int accept(std::uint32_t id, bool with = true) {
    return write(RDMA_USER_CM_CMD_ACCEPT, rdma_ucm_accept{88, with ? param(0x22) : rdma_ucm_conn_param{}, id, 0, {}});
  }
  int disconnect(std::uint32_t id) { return write(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id}); }
  int reject(std::uint32_t id, std::uint8_t reason = 0) {
    return write(RDMA_USER_CM_CMD_REJECT, rdma_ucm_reject{id, 1, reason, {}, {7}});
  }
  int destroy(std::uint32_t id) { return write(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{0, id, 0}); }
  ib_uverbs_qp_attr attributes(std::uint32_t id, std::uint32_t state) {
    EXPECT_EQ(write(RDMA_USER_CM_CMD_INIT_QP_ATTR, rdma_ucm_init_qp_attr{0, id, state}), 0);
    return answered<ib_uverbs_qp_attr>();
  }
  // Takes the next event. Kind ~0 = there is none.
  rdma_ucm_event_resp event() {
    const int error = write(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{0});
    EXPECT_TRUE(error == 0 || error == EAGAIN);
    auto e = answered<rdma_ucm_event_resp>();
    if (error) e.event = ~0U;
    return e;
  }
  std::uint32_t happened_to(std::uint32_t id) {
    const auto e = event();
    EXPECT_TRUE(e.event == ~0U || e.id == id);
    return e.event;
  }
};

inline std::uint32_t number(happened h) {
  return static_cast<std::uint32_t>(h);
}
constexpr std::uint32_t nothing = ~0U;

struct world {
  explicit world(manager_config c = {}) : m(net, c) {}
  listed_network net;
  manager m;
  program server{m, 0};
  program client{m, 1};

  std::uint32_t listener(std::uint32_t backlog = 0, std::uint16_t space = RDMA_PS_TCP, std::uint8_t qp_type = 0) {
    const std::uint32_t id = server.create(space, qp_type);
    EXPECT_EQ(server.bind(id, any_node, 7000), 0);
    EXPECT_EQ(server.listen(id, backlog), 0);
    return id;
  }
  // Goes up to the connection request, which the server has not seen yet.
  std::uint32_t caller(std::uint16_t space = RDMA_PS_TCP, std::uint8_t qp_type = 0) {
    const std::uint32_t id = client.create(space, qp_type);
    EXPECT_EQ(client.resolve(id, 0, 7000), 0);
    net.run();
    EXPECT_EQ(client.happened_to(id), number(happened::address_resolved));
    EXPECT_EQ(client.route(id), 0);
    net.run();
    EXPECT_EQ(client.happened_to(id), number(happened::route_resolved));
    EXPECT_EQ(client.connect(id), 0);
    return id;
  }
  std::pair<std::uint32_t, std::uint32_t> connected(std::uint16_t space = RDMA_PS_TCP, std::uint8_t asks = 0,
                                                    std::uint8_t answers = 0) {
    listener(0, space, answers);
    const std::uint32_t active = caller(space, asks);
    net.run();
    const std::uint32_t passive = server.event().id;
    EXPECT_EQ(server.accept(passive), 0);
    net.run();
    EXPECT_EQ(client.happened_to(active), number(happened::connect_response));
    EXPECT_EQ(client.accept(active, false), 0);
    net.run();
    EXPECT_EQ(server.happened_to(passive), number(happened::established));
    return {active, passive};
  }
};

}  // namespace hcasim::applications::cm
