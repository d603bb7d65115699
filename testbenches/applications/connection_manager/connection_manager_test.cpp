// The connection manager alone: two nodes, a network that is a list, and programs that do what they like.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "testbenches/applications/connection_manager/commands.h"
#include "tlm/base/random.h"

namespace hcasim::applications::cm {
namespace {

class listed_network : public network {
 public:
  [[nodiscard]] std::uint32_t nodes() const override { return 2; }
  [[nodiscard]] port port_of(std::uint32_t node) const override {
    return {0x100 + node, static_cast<std::uint16_t>(node + 1), static_cast<std::uint8_t>(5 - node), 16};
  }
  void later(ps delay, std::function<void()> what) override { due_.emplace(now_ + delay, std::move(what)); }
  // Until nothing is left, or the time has come.
  void run(ps until = never) {
    while (!due_.empty() && due_.begin()->first <= until) {
      now_ = due_.begin()->first;
      const auto what = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      what();
    }
  }
  [[nodiscard]] ps time() const { return now_; }

 private:
  ps now_{0};
  std::multimap<ps, std::function<void()>> due_;
};

sockaddr_in6 ip(std::uint32_t node, std::uint16_t port) {
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

  std::uint32_t create(std::uint16_t space = RDMA_PS_TCP) {
    EXPECT_EQ(write(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{77, 0, space, 0, {}}), 0);
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
  // The next event; its kind is ~0 when there is none.
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

std::uint32_t number(happened h) {
  return static_cast<std::uint32_t>(h);
}
constexpr std::uint32_t nothing = ~0U;

struct world {
  explicit world(manager_config c = {}) : m(net, c) {}
  listed_network net;
  manager m;
  program server{m, 0};
  program client{m, 1};

  std::uint32_t listener(std::uint32_t backlog = 0, std::uint16_t space = RDMA_PS_TCP) {
    const std::uint32_t id = server.create(space);
    EXPECT_EQ(server.bind(id, any_node, 7000), 0);
    EXPECT_EQ(server.listen(id, backlog), 0);
    return id;
  }
  // Up to the request, which the server has not seen yet.
  std::uint32_t caller(std::uint16_t space = RDMA_PS_TCP) {
    const std::uint32_t id = client.create(space);
    EXPECT_EQ(client.resolve(id, 0, 7000), 0);
    net.run();
    EXPECT_EQ(client.happened_to(id), number(happened::address_resolved));
    EXPECT_EQ(client.route(id), 0);
    net.run();
    EXPECT_EQ(client.happened_to(id), number(happened::route_resolved));
    EXPECT_EQ(client.connect(id), 0);
    return id;
  }
  std::pair<std::uint32_t, std::uint32_t> connected() {
    listener();
    const std::uint32_t active = caller();
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

TEST(connection_manager, each_message_takes_its_time) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  const ps sent = w.net.time();
  w.net.run(sent + 20_us - ps(1));
  EXPECT_EQ(w.server.pending, 0);
  w.net.run(sent + 20_us);
  EXPECT_EQ(w.server.pending, 1);
  const auto request = w.server.event();
  EXPECT_EQ(w.server.pending, 0);
  EXPECT_EQ(request.event, number(happened::connect_request));
  EXPECT_EQ(request.uid, 77u);
  EXPECT_NE(request.id, id);
  EXPECT_EQ(request.param.conn.qp_num, 0x11u);
  EXPECT_EQ(request.param.conn.responder_resources, 3);
  EXPECT_EQ(request.param.conn.initiator_depth, 5);
  EXPECT_EQ(request.param.conn.retry_count, 7) << "no more fit in the message";
  EXPECT_EQ(request.param.conn.private_data[0], 42);
  EXPECT_EQ(request.param.conn.private_data_len, 56);
}

// What one side expects first is what the other sends first; what one may ask for is what the other can answer.
TEST(connection_manager, both_sides_are_given_attributes_that_fit) {
  world w;
  const auto [active, passive] = w.connected();
  enum { init = 1, rtr = 2, rts = 3 };
  EXPECT_EQ(w.client.attributes(active, init).qp_access_flags, 2u | 4u | 8u);
  const auto a = w.client.attributes(active, rtr);
  const auto p = w.server.attributes(passive, rtr);
  EXPECT_EQ(a.dest_qp_num, 0x22u);
  EXPECT_EQ(p.dest_qp_num, 0x11u);
  EXPECT_EQ(a.ah_attr.dlid, 1);
  EXPECT_EQ(p.ah_attr.dlid, 2);
  EXPECT_EQ(a.path_mtu, 4u) << "of the narrower port";
  EXPECT_EQ(p.path_mtu, 4u);
  const auto a_sends = w.client.attributes(active, rts);
  const auto p_sends = w.server.attributes(passive, rts);
  EXPECT_EQ(a_sends.sq_psn, p.rq_psn);
  EXPECT_EQ(p_sends.sq_psn, a.rq_psn);
  EXPECT_LE(a_sends.max_rd_atomic, p.max_dest_rd_atomic);
  EXPECT_LE(p_sends.max_rd_atomic, a.max_dest_rd_atomic);
  EXPECT_EQ(a_sends.retry_cnt, 7);
}

TEST(connection_manager, who_is_asked_to_disconnect_answers) {
  world w;
  const auto [active, passive] = w.connected();
  EXPECT_EQ(w.client.disconnect(active), 0);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(active), nothing) << "the peer has not answered yet";
  EXPECT_EQ(w.server.happened_to(passive), number(happened::disconnected));
  EXPECT_EQ(w.server.disconnect(passive), 0);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(active), number(happened::disconnected));
  EXPECT_EQ(w.client.disconnect(active), 0) << "once more is nothing";
}

TEST(connection_manager, both_may_disconnect_at_once) {
  world w;
  const auto [active, passive] = w.connected();
  w.client.disconnect(active);
  w.server.disconnect(passive);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(active), number(happened::disconnected));
  EXPECT_EQ(w.server.happened_to(passive), number(happened::disconnected));
}

TEST(connection_manager, a_peer_that_is_gone_is_a_disconnection) {
  world w;
  const auto [active, passive] = w.connected();
  w.m.close(w.client.f);
  w.net.run();
  EXPECT_EQ(w.server.happened_to(passive), number(happened::disconnected));
  EXPECT_EQ(w.server.disconnect(passive), 0);
  w.net.run();
}

TEST(connection_manager, nobody_listens) {
  world w;
  w.caller();
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.event, number(happened::rejected));
  EXPECT_EQ(e.status, invalid_service);
}

TEST(connection_manager, a_node_that_is_not_there) {
  world w;
  const std::uint32_t id = w.client.create();
  EXPECT_EQ(w.client.resolve(id, 9, 7000), 0);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.event, number(happened::address_error));
  EXPECT_EQ(static_cast<int>(e.status), -ETIMEDOUT);
  EXPECT_EQ(w.client.resolve(id, 0, 7000), 0) << "it may look for another one";
}

TEST(connection_manager, a_rejection_says_why) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  const std::uint32_t passive = w.server.event().id;
  EXPECT_EQ(w.server.reject(passive, 5), EINVAL);
  EXPECT_EQ(w.server.reject(passive), 0);
  EXPECT_EQ(w.server.accept(passive), EINVAL);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.id, id);
  EXPECT_EQ(e.event, number(happened::rejected));
  EXPECT_EQ(e.status, by_consumer);
  EXPECT_EQ(e.param.conn.private_data[0], 7);
}

// Each side may end at any moment; the other one hears of it, and nothing is left.
TEST(connection_manager, a_program_that_ends_in_the_middle) {
  for (int steps = 0; steps < 40; ++steps) {
    for (const bool server_ends : {false, true}) {
      world w;
      w.listener();
      const std::uint32_t id = w.caller();
      const auto turn = [&] {
        for (program* p : {&w.server, &w.client}) {
          if (p->pending == 0) continue;
          const auto e = p->event();
          if (e.event == number(happened::connect_request)) p->accept(e.id);
          if (e.event == number(happened::connect_response)) p->accept(e.id, false);
        }
      };
      for (int i = 0; i < steps; ++i) {
        w.net.run(w.net.time() + 5_us);
        w.net.later(5_us, [] {});
        if (i % 2) turn();
      }
      program& ends = server_ends ? w.server : w.client;
      program& stays = server_ends ? w.client : w.server;
      w.m.close(ends.f);
      std::uint32_t last = nothing;
      for (int i = 0; i < 4; ++i) {
        w.net.run();
        while (stays.pending) {
          const auto e = stays.event();
          last = e.event;
          if (e.event == number(happened::connect_request)) stays.accept(e.id);
          if (e.event == number(happened::connect_response)) stays.accept(e.id, false);
          if (e.event == number(happened::disconnected)) stays.disconnect(e.id);
        }
      }
      if (server_ends) {
        EXPECT_TRUE(last == number(happened::rejected) || last == number(happened::disconnected)) << steps << " " << last;
        EXPECT_EQ(w.m.identifiers(), 1u);
        stays.destroy(id);
        EXPECT_EQ(w.m.identifiers(), 0u);
      } else {
        w.m.close(stays.f);
        w.net.run();
        EXPECT_EQ(w.m.identifiers(), 0u);
      }
    }
  }
}

TEST(connection_manager, a_datagram_service_is_looked_up) {
  world w;
  w.listener(0, RDMA_PS_UDP);
  const std::uint32_t id = w.caller(RDMA_PS_UDP);
  w.net.run();
  const auto request = w.server.event();
  EXPECT_EQ(request.event, number(happened::connect_request));
  EXPECT_EQ(request.param.ud.private_data_len, 180);
  EXPECT_EQ(w.server.accept(request.id), 0);
  EXPECT_EQ(w.server.disconnect(request.id), 0);
  w.net.run();
  const auto e = w.client.event();
  EXPECT_EQ(e.id, id);
  EXPECT_EQ(e.event, number(happened::established));
  EXPECT_EQ(e.param.ud.qp_num, 0x22u);
  EXPECT_EQ(e.param.ud.qkey, default_qkey);
  EXPECT_EQ(e.param.ud.ah_attr.dlid, 1);
}

// Groups of one GID have one LID, as long as somebody has joined; whoever joins is told of both.
TEST(connection_manager, groups_are_joined_and_left) {
  world w;
  const auto group_ip = [](std::uint32_t v4) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(v4);
    sockaddr_in6 out{};
    std::memcpy(&out, &a, sizeof a);
    return out;
  };
  const auto join = [&](program& p, std::uint32_t id, std::uint64_t uid, std::uint32_t v4) {
    const int error = p.write(RDMA_USER_CM_CMD_JOIN_IP_MCAST, rdma_ucm_join_ip_mcast{0, uid, group_ip(v4), id});
    return error ? std::pair(error, 0U) : std::pair(0, p.answered<rdma_ucm_create_id_resp>().id);
  };
  const auto leave = [](program& p, std::uint32_t number) {
    return p.write(RDMA_USER_CM_CMD_LEAVE_MCAST, rdma_ucm_destroy_id{0, number, 0});
  };
  const auto ready = [&](program& p) {
    const std::uint32_t id = p.create(RDMA_PS_UDP);
    EXPECT_EQ(p.bind(id, p.node, 0), 0);
    EXPECT_EQ(p.write(RDMA_USER_CM_CMD_RESOLVE_IP, rdma_ucm_resolve_ip{{}, group_ip(0xef010203), id, 2000}), 0);
    w.net.run();
    EXPECT_EQ(p.happened_to(id), number(happened::address_resolved)) << "a group is everywhere";
    return id;
  };
  const std::uint32_t a = ready(w.server);
  const std::uint32_t b = ready(w.client);
  const ps begin = w.net.time();
  const auto [none, first] = join(w.server, a, 5001, 0xef010203);
  ASSERT_EQ(none, 0);
  w.net.run();
  EXPECT_EQ(w.net.time(), begin + manager_config{}.management);
  const rdma_ucm_event_resp joined = w.server.event();
  EXPECT_EQ(joined.event, number(happened::joined));
  EXPECT_EQ(joined.uid, 5001U) << "of the membership";
  EXPECT_EQ(joined.id, first);
  const rdma_ucm_ud_param& to = joined.param.ud;
  const std::uint8_t gid[16] = {0xff, 0x12, 0x40, 0x01, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x0f, 0x01, 0x02, 0x03};
  EXPECT_EQ(std::memcmp(to.ah_attr.grh.dgid, gid, 16), 0);
  EXPECT_EQ(to.qp_num, 0xffffffU);
  EXPECT_EQ(to.qkey, default_qkey);
  EXPECT_EQ(to.ah_attr.dlid, 0xc000);
  EXPECT_EQ(to.ah_attr.is_global, 1);

  const auto [also, second] = join(w.client, b, 6001, 0xef010203);
  const auto [other, third] = join(w.client, b, 6002, 0xef010204);
  ASSERT_EQ(also | other, 0);
  w.net.run();
  EXPECT_EQ(w.client.event().param.ud.ah_attr.dlid, 0xc000) << "the same group";
  EXPECT_EQ(w.client.event().param.ud.ah_attr.dlid, 0xc001);
  EXPECT_EQ(leave(w.server, second), EINVAL) << "another file's";
  EXPECT_EQ(leave(w.server, first + 1000), ENOENT);
  EXPECT_EQ(leave(w.server, first), 0);
  EXPECT_EQ(w.server.answered<rdma_ucm_destroy_id_resp>().events_reported, 1U);
  EXPECT_EQ(leave(w.server, first), ENOENT);
  EXPECT_EQ(leave(w.client, second), 0);
  const auto [again, fourth] = join(w.server, a, 5002, 0xef0a0b0c);
  ASSERT_EQ(again, 0);
  w.net.run();
  EXPECT_EQ(w.server.event().param.ud.ah_attr.dlid, 0xc000) << "it was given back";
  // Who leaves, or goes, before it has heard hears nothing.
  const auto [quick, fifth] = join(w.server, a, 5003, 0xef0a0b0d);
  ASSERT_EQ(quick, 0);
  EXPECT_EQ(leave(w.server, fifth), 0);
  ASSERT_EQ(join(w.server, a, 5004, 0xef0a0b0e).first, 0);
  w.net.run();
  EXPECT_EQ(w.server.pending, 1);
  EXPECT_EQ(w.server.destroy(a), 0);
  EXPECT_EQ(w.server.pending, 0);
  EXPECT_EQ(w.server.event().event, nothing);
  EXPECT_EQ(leave(w.server, fourth), ENOENT) << "it went with its identifier";

  // What cannot be joined, and who cannot.
  const std::uint32_t early = w.client.create(RDMA_PS_UDP);
  EXPECT_EQ(join(w.client, early, 1, 0xef010203).first, EINVAL) << "on no device yet";
  EXPECT_EQ(join(w.client, b, 1, 0x7f000001).first, EINVAL) << "a node";
  EXPECT_EQ(w.client.route(b), EINVAL) << "there is none to a group";
  const std::uint32_t stream = w.caller();
  EXPECT_EQ(join(w.client, stream, 1, 0xef010203).first, EINVAL) << "not by datagrams";
  EXPECT_EQ(leave(w.client, third), 0);
}

TEST(connection_manager, a_port_space_of_its_own) {
  world w;
  w.listener(0, RDMA_PS_UDP);
  w.caller(RDMA_PS_TCP);
  w.net.run();
  EXPECT_EQ(w.client.event().event, number(happened::rejected));
}

TEST(connection_manager, two_programs_on_one_port) {
  world w;
  w.listener();
  program other{w.m, 0};
  const std::uint32_t id = other.create();
  EXPECT_EQ(other.bind(id, any_node, 7000), EADDRINUSE);
  EXPECT_EQ(other.bind(id, 0, 7000), EADDRINUSE);
  EXPECT_EQ(other.bind(id, 1, 7001), EADDRNOTAVAIL) << "an address of another node";
  EXPECT_EQ(other.bind(id, 0, 7001), 0);
  EXPECT_EQ(other.bind(id, 0, 7002), EINVAL) << "it has one";
  program elsewhere{w.m, 1};
  EXPECT_EQ(elsewhere.bind(elsewhere.create(), any_node, 7000), 0);
  const std::uint32_t datagrams = other.create(RDMA_PS_UDP);
  EXPECT_EQ(other.bind(datagrams, any_node, 7000), 0);
  EXPECT_EQ(other.destroy(datagrams), 0);
  EXPECT_EQ(other.bind(other.create(RDMA_PS_UDP), any_node, 7000), 0) << "it was given back";
}

// A request that finds no room comes again, until its sender gives up.
TEST(connection_manager, a_full_backlog) {
  manager_config c;
  c.request_retry = 1_ms;
  world w(c);
  w.listener(1);
  const std::uint32_t first = w.caller();
  w.net.run();
  const std::uint32_t second = w.caller();
  const ps sent = w.net.time();
  w.net.run(sent + 5_ms);
  EXPECT_EQ(w.server.pending, 1);
  const std::uint32_t passive = w.server.event().id;
  EXPECT_EQ(w.server.accept(passive), 0);
  w.net.run(sent + 6_ms);
  EXPECT_EQ(w.client.happened_to(first), number(happened::connect_response));
  EXPECT_EQ(w.server.event().event, number(happened::connect_request));
  const std::uint32_t third = w.caller();
  const ps asked = w.net.time();
  w.net.run();
  EXPECT_EQ(w.net.time(), asked + 20_us + 15 * 1_ms);
  const auto e = w.client.event();
  EXPECT_EQ(e.id, third);
  EXPECT_EQ(e.event, number(happened::unreachable));
  EXPECT_EQ(static_cast<int>(e.status), -ETIMEDOUT);
  EXPECT_NE(second, third);
}

// Events that were not taken go with their identifier, and requests that nobody saw are rejected.
TEST(connection_manager, a_listener_that_goes_takes_what_waits_along) {
  world w;
  const std::uint32_t l = w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  EXPECT_EQ(w.server.pending, 1);
  EXPECT_EQ(w.server.destroy(l), 0);
  EXPECT_EQ(w.server.answered<rdma_ucm_destroy_id_resp>().events_reported, 0u);
  EXPECT_EQ(w.server.pending, 0);
  w.net.run();
  EXPECT_EQ(w.client.happened_to(id), number(happened::rejected));
}

TEST(connection_manager, an_identifier_moves_with_its_events) {
  world w;
  w.listener();
  const std::uint32_t id = w.caller();
  w.net.run();
  w.server.accept(w.server.event().id);
  w.net.run();
  program other{w.m, 1};
  std::vector<std::byte> bytes(sizeof(rdma_ucm_cmd_hdr) + sizeof(rdma_ucm_migrate_id));
  const rdma_ucm_cmd_hdr h{RDMA_USER_CM_CMD_MIGRATE_ID, sizeof(rdma_ucm_migrate_id), 8};
  const rdma_ucm_migrate_id in{0, id, 3};
  std::memcpy(bytes.data(), &h, sizeof h);
  std::memcpy(bytes.data() + sizeof h, &in, sizeof in);
  EXPECT_EQ(execute(w.m, other.f, {bytes, {}, nullptr}, other.answer).error, EINVAL);
  EXPECT_EQ(execute(w.m, other.f, {bytes, {}, &w.client.f}, other.answer).error, 0);
  EXPECT_EQ(other.answered<rdma_ucm_migrate_resp>().events_reported, 2u);
  EXPECT_EQ(w.client.pending, 0);
  EXPECT_EQ(other.pending, 1);
  EXPECT_EQ(other.happened_to(id), number(happened::connect_response));
  EXPECT_EQ(w.client.disconnect(id), EINVAL) << "another file's";
}

TEST(connection_manager, names_of_nothing) {
  world w;
  EXPECT_EQ(w.client.disconnect(12345), ENOENT);
  const std::uint32_t id = w.client.create();
  EXPECT_EQ(w.client.disconnect(id), EINVAL);
  EXPECT_EQ(w.client.route(id), EINVAL);
  EXPECT_EQ(w.client.accept(id), EINVAL);
  EXPECT_EQ(w.server.destroy(id), EINVAL);
  EXPECT_EQ(w.client.destroy(id), 0);
  EXPECT_EQ(w.client.destroy(id), ENOENT);
  EXPECT_EQ(w.client.write(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{1, 0, 3, 0, {}}), EINVAL);
  EXPECT_EQ(w.client.write(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{1, 0, RDMA_PS_TCP, 0, {}}, 3), ENOSPC);
  EXPECT_EQ(w.client.write(99, rdma_ucm_get_event{0}), EINVAL);
  EXPECT_EQ(w.m.identifiers(), 0u);
}

// Addresses come back in the family that they were given in.
TEST(connection_manager, addresses_of_every_family) {
  listed_network net;
  for (const std::uint16_t family : {std::uint16_t{AF_INET}, std::uint16_t{AF_INET6}, ib_family}) {
    for (const std::uint32_t node : {0U, 1U, any_node}) {
      __kernel_sockaddr_storage a;
      const std::size_t bytes = write_address({family, node, 1234}, RDMA_PS_TCP, net, a);
      const auto back = read_address(&a, bytes, 0, net);
      ASSERT_TRUE(back);
      EXPECT_EQ(back->family, family);
      EXPECT_EQ(back->node, node);
      EXPECT_EQ(back->port, 1234);
      EXPECT_FALSE(read_address(&a, bytes - 1, 0, net));
    }
  }
}

// Commands of a program that writes what it likes: each gets an answer, and nothing is left when it has gone.
void fuzz(std::uint64_t seed) {
  random_stream r(seed, "commands");
  listed_network net;
  manager m(net, {});
  std::array<std::byte, most_answer_bytes> answer;
  std::vector<file*> files;
  for (std::uint32_t i = 0; i < 4; ++i) files.push_back(&m.open(i % 2, [](int) {}));
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> bytes(r.below(4) ? 400 : r.below(400));
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::uint32_t v = 0;
      switch (r.below(6)) {
        case 0:
          v = static_cast<std::uint32_t>(r.below(std::uint64_t{1} << 32));
          break;
        case 1:
          v = static_cast<std::uint32_t>(r.below(8));
          break;
        case 2:
          v = static_cast<std::uint32_t>(1 + r.below(m.identifiers() + 4));
          break;
        case 3:
          v = r.below(2) ? RDMA_PS_TCP : RDMA_PS_UDP;
          break;
        case 4:
          v = htonl((r.below(4) ? 127U : 239U) << 24 | static_cast<std::uint32_t>(r.below(4)));
          break;
        default:
          v = AF_INET | 7000U << 16;
      }
      std::memcpy(bytes.data() + at, &v, sizeof v);
    }
    const rdma_ucm_cmd_hdr h{static_cast<std::uint32_t>(r.below(25)), static_cast<std::uint16_t>(r.below(420)),
                             static_cast<std::uint16_t>(r.below(1100))};
    if (bytes.size() >= sizeof h) std::memcpy(bytes.data(), &h, sizeof h);
    file*& f = files[r.below(files.size())];
    const std::size_t option = std::min<std::size_t>(r.below(8), bytes.size());
    execute(m, *f, {bytes, std::span(bytes).first(option), files[r.below(files.size())]}, answer);
    if (r.below(3) == 0) net.run(net.time() + 20_us);
    if (r.below(400) == 0) {
      m.close(*f);
      f = &m.open(static_cast<std::uint32_t>(r.below(2)), [](int) {});
    }
  }
  for (file* f : files) m.close(*f);
  net.run();
  EXPECT_EQ(m.identifiers(), 0u);
}

TEST(connection_manager, commands_of_all_kinds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) fuzz(seed);
}

}  // namespace
}  // namespace hcasim::applications::cm
