// The program: two simulated fabrics that are each other's outside, strangers at the socket, and bad input.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include "testbenches/gateway/testing/frame_table.h"
#include "testbenches/gateway/testing/own_loopback.h"
#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::gateway {
namespace {

using applications::scratch;
using nlohmann::json;
using testing::listens;
using testing::own_loopback;

class gateway_command : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = applications::obstacle("ibv_rc_pingpong"); !why.empty()) GTEST_SKIP() << why;
  }
  [[nodiscard]] outcome run(const std::string& folder, const std::string& options, const std::string& program) const {
    return run_program("timeout 100",
                       fmt::format("{} gateway -o {} --force {} -- {}", places::program, out_ / folder, options, program));
  }
  // Runs one of two joined fabrics: 1 or 2.
  [[nodiscard]] outcome side(int n, const std::string& program) const {
    return run(std::to_string(n),
               fmt::format("--address 192.168.77.{0} --listen {2}.{0}:47912 --peer {2}.{1}:47912 --loopback {2} {3}", n, 3 - n,
                           own_loopback(), options_),
               program);
  }
  [[nodiscard]] json result(const std::string& folder) const {
    return json::parse(file_content(out_ / (folder + "/result.json")));
  }
  [[nodiscard]] double figure(const std::string& folder, const char* name) const {
    return result(folder)["figures"][name]["value"];
  }
  [[nodiscard]] double frames(const std::string& folder, const std::string& what) const {
    return testing::frames(result(folder), what);
  }

  void talk(const std::string& server, const std::string& client, const char* says) {
    auto one = std::async(std::launch::async, [&] { return side(1, server); });
    EXPECT_TRUE(listens(own_loopback() + ".1", 18515, std::chrono::seconds(60)));
    const outcome two = side(2, client);
    const outcome first = one.get();
    EXPECT_EQ(first.status, 0) << first.text;
    EXPECT_EQ(two.status, 0) << two.text;
    for (const outcome& o : {first, two}) {
      EXPECT_NE(o.text.find(says), std::string::npos) << o.text;
      EXPECT_EQ(o.text.find("invalid data"), std::string::npos) << o.text;
    }
    if (first.status != 0 || two.status != 0) return;
    for (const auto& [from, to] : {std::pair("1", "2"), std::pair("2", "1")}) {
      const double came = figure(to, "entered") + frames(to, "lost on the way in");
      EXPECT_LE(came, figure(from, "left"));
      EXPECT_GE(came, figure(from, "left") - 32) << "what is sent again to a run that has ended";
    }
    for (const char* n : {"1", "2"}) {
      EXPECT_GT(figure(n, "left"), 0);
    }
  }

  scratch out_;
  std::string options_;  // of both sides
};

TEST_F(gateway_command, joins_two_fabrics) {
  talk("ibv_rc_pingpong -g 0 -c -m 1024 -n 300", "ibv_rc_pingpong -g 0 -c -m 1024 -n 300 192.168.77.1", "300 iters in");
  talk("ib_write_bw -x 0 -s 65536 -n 200", "ib_write_bw -x 0 -s 65536 -n 200 192.168.77.1", "BW average");
  talk("ib_read_lat -x 0 -n 200", "ib_read_lat -x 0 -n 200 192.168.77.1", "Latency Test");
  EXPECT_EQ(testing::damaged(result("1")) + testing::damaged(result("2")), 0);
  talk("ibv_ud_pingpong -g 0 -s 1000 -n 100", "ibv_ud_pingpong -g 0 -s 1000 -n 100 192.168.77.1", "100 iters in");
}

// Programs that take the GID of RoCEv2 with the IPv4 address find each other, with RC and with UD.
TEST_F(gateway_command, joins_ports_that_look_like_roce) {
  options_ = "--set node*.hca.port.link_layer=ethernet";
  talk("ibv_rc_pingpong -g 3 -c -m 1024 -n 300", "ibv_rc_pingpong -g 3 -c -m 1024 -n 300 192.168.77.1",
       "GID ::ffff:192.168.77.2");
  talk("ib_write_bw -s 65536 -n 200", "ib_write_bw -s 65536 -n 200 192.168.77.1", "Link type       : Ethernet");
  EXPECT_EQ(testing::damaged(result("1")) + testing::damaged(result("2")), 0);
  talk("ibv_ud_pingpong -g 3 -s 1000 -n 100", "ibv_ud_pingpong -g 3 -s 1000 -n 100 192.168.77.1", "100 iters in");
}

// Two hosts on either side, behind a switch: each talks to its own partner.
TEST_F(gateway_command, stands_for_several_hosts) {
  const auto side = [this](int n, const std::string& words) {
    return run(std::to_string(n),
               fmt::format("--set nodes=2 --address 192.168.77.{0} --listen {2}.{0}:47912 --peer {2}.{1}:47912 --loopback {2}",
                           10 * n, 30 - 10 * n, own_loopback()),
               words);
  };
  const std::string program = "ibv_rc_pingpong -g 0 -c -m 1024 -n 100";
  auto servers = std::async(std::launch::async, [&] { return side(1, program + " -- " + program); });
  for (const char* host : {".10", ".11"}) EXPECT_TRUE(listens(own_loopback() + host, 18515, std::chrono::seconds(60)));
  const outcome clients = side(2, program + " 192.168.77.10 -- " + program + " 192.168.77.11");
  const outcome first = servers.get();
  EXPECT_EQ(first.status, 0) << first.text;
  EXPECT_EQ(clients.status, 0) << clients.text;
  if (first.status != 0 || clients.status != 0) return;
  for (const char* n : {"1", "2"}) {
    EXPECT_GE(figure(n, "left"), 2 * 100 * 5);
    EXPECT_EQ(testing::damaged(result(n)) + frames(n, "lost on the way in") + frames(n, "lost on the way out"), 0);
  }
}

// Sends random bytes, and headers of IPv4 and UDP before random bytes, to the first of two fabrics.
class stranger {
 public:
  stranger() : thread_([this] { send(); }) {}
  ~stranger() {
    over_ = true;
    thread_.join();
  }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;

 private:
  void send() const {
    const int s = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(47912);
    ::inet_pton(AF_INET, (own_loopback() + ".1").c_str(), &to.sin_addr);
    std::mt19937 random(7);
    const std::string headers("\x08\x00\x45\x00\x00\x40\x00\x00\x40\x00\x40\x11", 12);
    while (!over_) {
      std::string frame(random() % 1600, '\0');
      for (char& c : frame) c = static_cast<char>(random());
      if (frame.size() > 40 && random() % 2) frame.replace(12, headers.size(), headers);
      ::sendto(s, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    ::close(s);
  }

  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST_F(gateway_command, counts_damaged_frames_and_goes_on) {
  {
    const stranger visitor;
    talk("ibv_rc_pingpong -g 0 -c -m 1024 -n 1000", "ibv_rc_pingpong -g 0 -c -m 1024 -n 1000 192.168.77.1", "1000 iters in");
  }
  EXPECT_GT(frames("1", "other") + testing::damaged(result("1")), 100);
  EXPECT_EQ(testing::damaged(result("2")), 0);
}

struct bad_input {
  const char* options;
  const char* says;
};

TEST_F(gateway_command, refuses_bad_input) {
  const bad_input cases[] = {
      {"--listen 192.168.77.1:4791", "not on the loopback"},
      {"--peer 10.0.0.1:4791", "not on the loopback"},
      {"--listen 0.0.0.0:4791", "not on the loopback"},
      {"--listen nonsense", "is not an address and port"},
      {"--peer 127.0.0.1:47912", "the gateway's own address"},
      {"--address 192.168.77", "is not an IPv4 address"},
      {"--address 192.168.77.0", "not within"},
      {"--address 192.168.77.254 --set nodes=2", "begin lower"},
      {"--loopback 10.0.0", "is not 127.x.y"},
      {"--loopback 127.64.0", "192 to 253"},
      {"--rate 0", "rate"},
  };
  for (const bad_input& b : cases) {
    const outcome o = run("bad", b.options, "true");
    EXPECT_EQ(o.status, 2) << b.options << '\n' << o.text;
    EXPECT_NE(o.text.find(b.says), std::string::npos) << b.options << '\n' << o.text;
  }
  const outcome o = run_program(places::program, "gateway");
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.text.find("hcasim gateway -- ibv_rc_pingpong -g 0"), std::string::npos) << o.text;
}

TEST_F(gateway_command, says_that_the_port_is_taken) {
  const int s = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(47912);
  ::inet_pton(AF_INET, (own_loopback() + ".1").c_str(), &at.sin_addr);
  ASSERT_EQ(::bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  const outcome o = run("taken", fmt::format("--listen {}.1:47912", own_loopback()), "true");
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.text.find("choose another port"), std::string::npos) << o.text;
  ::close(s);
}

TEST_F(gateway_command, says_that_no_peer_comes) {
  const outcome o = run("alone", fmt::format("--listen {}.1:47912 --patience 1500ms", own_loopback()), "ibv_rc_pingpong -g 0");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.text.find("no frame has come to"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("remote.port=47912"), std::string::npos) << o.text;
}

// An absent host outside: the program gets an error; connections to other networks go nowhere.
TEST_F(gateway_command, reaches_no_host_elsewhere) {
  const std::string listen = fmt::format("--listen {}.1:47912 ", own_loopback());
  for (const char* who : {"192.168.77.9", "10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1"}) {
    const outcome o = run("away", listen + "--program0.expect 1", fmt::format("ibv_rc_pingpong -g 0 {}", who));
    EXPECT_EQ(o.status, 0) << o.text;
    EXPECT_NE(o.text.find("Couldn't connect"), std::string::npos) << o.text;
  }
}

}  // namespace
}  // namespace hcasim::gateway
