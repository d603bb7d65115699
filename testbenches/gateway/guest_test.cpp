// Stock Linux, soft-RoCE and verbs programs in a guest against the same programs on a simulated adapter.
#include <fstream>
#include <future>
#include <regex>
#include <thread>

#include "testbenches/gateway/testing/frame_table.h"
#include "testbenches/gateway/testing/guest.h"
#include "testbenches/gateway/testing/own_loopback.h"
#include "testbenches/verbs_programs/testing/run_programs.h"

namespace hcasim::gateway {
namespace {

namespace fs = std::filesystem;
using applications::scratch;
using nlohmann::json;
using std::chrono::seconds;
using testing::guest;
using testing::guest_network;
using testing::listens;
using testing::own_loopback;

double counted(const std::string& statistics, const char* name) {
  std::smatch m;
  const bool found = std::regex_search(statistics, m, std::regex(fmt::format(" {} (\\d+)", name)));
  return found ? std::stod(m[1]) : -1;
}

struct exchange {
  const char* what;
  std::string program;  // and its options, the same on both sides
  const char* says;     // what both print at the end
  bool guest_serves;
};

class with_guest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = applications::obstacle("ibv_rc_pingpong"); !why.empty()) GTEST_SKIP() << why;
    if (std::system("command -v qemu-system-x86_64 > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "there is no qemu-system-x86_64; ./dev setup installs it";
    }
    const std::string folder = (fs::path(places::program).parent_path() / "guest").string();
    const outcome made = run_program(fmt::format("{}/testbenches/gateway/guest/make_guest", places::source).c_str(), folder);
    if (made.status == 77) GTEST_SKIP() << made.text;
    ASSERT_EQ(made.status, 0) << made.text;
    network_.loopback = own_loopback();
    guest_.emplace(folder, network_);
    ASSERT_TRUE(guest_->until("guest: ready", seconds(180)).has_value()) << guest_->console();
    bool answers = false;  // what is typed while the shell begins may be lost
    for (int i = 0; i < 10 && !answers; ++i) answers = guest_->run("true", seconds(3)).has_value();
    ASSERT_TRUE(answers) << guest_->console();
  }

  void run(const exchange& e) {
    SCOPED_TRACE(e.what);
    const scratch out;
    const std::string before = statistics();
    const std::uint64_t lost = guest_->dropped();
    const auto simulated = [&](const std::string& words) {
      return std::async(std::launch::async, [this, &out, words] {
        return run_program(
            "timeout 150",
            fmt::format("{0} gateway -o {1} --listen {2}.1:{3} --peer {2}.2:{4} --loopback {2} -- {5}", places::program,
                        out / "run", network_.loopback, network_.gateway_port, network_.guest_port, words));
      });
    };
    std::future<outcome> node;
    std::optional<std::string> said;
    const std::string words = e.program + (e.program.starts_with("ibv_") ? " -g " : " -x ");
    const std::string in_guest = words + "1 -d rxe0";
    if (e.guest_serves) {
      const auto up = guest_->run(
          fmt::format("{} > /said 2>&1 & until netstat -ltn | grep -q :{}; do sleep 0.1; done", in_guest, network_.tcp_port),
          seconds(60));
      ASSERT_TRUE(up.has_value()) << guest_->console();
      node = simulated(fmt::format("{}0 {}", words, guest::address));
      said = guest_->run("wait $!; echo status=$?; cat /said", seconds(120));
    } else {
      node = simulated(words + "0");
      ASSERT_TRUE(listens(network_.loopback + ".1", network_.tcp_port, seconds(60))) << node.get().text;
      said = guest_->run(fmt::format("{} {} 2>&1; echo status=$?", in_guest, guest::node_tcp), seconds(120));
    }
    const outcome o = node.get();
    EXPECT_EQ(o.status, 0) << o.text << "\nguest: " << said.value_or("does not end");
    ASSERT_TRUE(said.has_value()) << guest_->console();
    EXPECT_NE(said->find("status=0"), std::string::npos) << *said;
    EXPECT_NE(said->find(e.says), std::string::npos) << *said;
    EXPECT_NE(o.text.find(e.says), std::string::npos) << o.text;
    EXPECT_EQ(said->find("invalid data"), std::string::npos) << *said;
    EXPECT_EQ(o.text.find("invalid data"), std::string::npos) << o.text;
    if (o.status == 0) check_packets(json::parse(file_content(out / "run/result.json")), before, lost);
  }

  // Every packet's ICRC is right, as the other side sees it: soft-RoCE counts what it received after that check.
  void check_packets(const json& r, const std::string& before, std::uint64_t lost) {
    const std::string after = statistics();
    const auto figure = [&r](const char* name) { return r["figures"][name]["value"].get<double>(); };
    const double received = counted(after, "rcvd_pkts") - counted(before, "rcvd_pkts");
    const double sent = counted(after, "sent_pkts") - counted(before, "sent_pkts");
    const double dropped = static_cast<double>(guest_->dropped() - lost);
    EXPECT_GT(received, 0);
    EXPECT_GT(sent, 0);
    EXPECT_LE(received + dropped, figure("left"));
    EXPECT_GE(received + dropped, figure("left") - 32) << "all, but for what comes when the guest is asked";
    EXPECT_LE(figure("entered"), sent);
    EXPECT_GE(figure("entered"), sent - 32) << "all but what came when the run was over";
    EXPECT_EQ(testing::damaged(r), 0);
    std::printf(
        "%.0f packets to the guest, of %.0f, %.0f dropped at its socket, %.0f from it; most behind the wall clock %.3f ms\n",
        received, figure("left"), dropped, sent, figure("most_lag"));
  }
  std::string statistics() { return guest_->run("rdma statistic show link rxe0/1", seconds(20)).value_or(""); }

  guest_network network_;
  std::optional<guest> guest_;
};

TEST_F(with_guest, exchanges_messages_in_both_directions) {
  const std::string iterations = std::getenv("HCASIM_FULL") ? "5000" : "200";
  const std::vector<exchange> exchanges{
      {"SENDs, the guest begins", "ibv_rc_pingpong -c -m 1024 -n " + iterations, "iters in", false},
      {"SENDs, the simulated node begins", "ibv_rc_pingpong -c -m 1024 -s 5000 -n " + iterations, "iters in", true},
      {"datagrams, the guest begins", "ibv_ud_pingpong -s 1000 -n " + iterations, "iters in", false},
      {"datagrams, the simulated node begins", "ibv_ud_pingpong -s 1000 -n " + iterations, "iters in", true},
      {"WRITEs from the guest", "ib_write_bw -s 65536 -n " + iterations, "BW average", false},
      {"WRITEs to the guest", "ib_write_bw -s 65536 -n " + iterations, "BW average", true},
      {"READs by the guest", "ib_read_bw -o 16 -s 16384 -n " + iterations, "BW average", false},
      {"READs by the simulated node", "ib_read_bw -o 16 -s 16384 -n " + iterations, "BW average", true},
      {"atomics, by the guest", "ib_atomic_lat -o 16 -n " + iterations, "Latency Test", false},
      {"atomics, by the simulated node", "ib_atomic_lat -o 16 -n " + iterations, "Latency Test", true},
  };
  for (const exchange& e : exchanges) run(e);
  const auto log = guest_->run("dmesg | grep -i -e rxe -e icrc", seconds(20));
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->find("ICRC"), std::string::npos) << *log;
}

}  // namespace
}  // namespace hcasim::gateway
