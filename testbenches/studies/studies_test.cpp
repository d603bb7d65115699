// Every study runs to its end and agrees with its page: the answer, each number in the table, and the content of the pictures.
// After a change of the models: ./dev studies, and correct the page.
#include <unistd.h>
#include <cmath>

#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/report/chart_data.h"
#include "testbenches/program/report/svg.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

// Returns the texts that a picture shows on hover: each point's place, and its value.
std::vector<std::pair<std::string, double>> points_of(const std::string& svg) {
  static const std::regex title("<title>(.*): ([-+0-9.e]+)</title>");
  std::vector<std::pair<std::string, double>> points;
  for (std::sregex_iterator i(svg.begin(), svg.end(), title), end; i != end; ++i) {
    points.emplace_back((*i)[1], std::stod((*i)[2]));
  }
  return points;
}

class studies : public ::testing::Test {
 protected:
  ~studies() override { fs::remove_all(folder_); }

  // Runs the study; afterwards `value` reads its results. `parts`: options of sweep for only the points in the pictures.
  // Numbers of other points, and metrics in `of_all`, are then left to HCASIM_FULL, which runs all points.
  void run(const std::string& name, const std::vector<std::string>& parts = {""}, const std::set<std::string>& of_all = {}) {
    const fs::path file = fs::path(places::source) / "testbenches/studies" / (name + ".yaml");
    const char* resume = "";
    whole_ = full() || parts.front().empty();
    for (const std::string& part : full() ? std::vector<std::string>{""} : parts) {
      const outcome o =
          run_program(places::program, fmt::format("sweep {} -o {} {} {}", file.string(), folder_.string(), part, resume));
      ASSERT_EQ(o.status, 0) << o.text;
      resume = "--resume";
    }
    results_ = std::make_unique<result_file>(result_file::open(folder_ / result_file::file_name, false));
    const std::string page = file_content(fs::path(places::source) / "docs/studies" / (name + ".md"));
    int number = 0;
    for (const chart_data& c : charts_of(*results_)) {
      const std::string picture = fmt::format("{}_{}.svg", name, ++number);
      EXPECT_NE(page.find(picture), std::string::npos) << name << ".md does not show " << picture;
      const std::string svg = svg_chart(c);
      EXPECT_FALSE(std::regex_search(svg, std::regex(R"(\bnan\b)"))) << picture;
      compare_picture(picture, file_content(fs::path(places::source) / "docs/studies" / picture), svg);
      for (const chart_series& s : c.series) {
        for (const auto& v : s.values) EXPECT_TRUE(v.has_value()) << name << ": a hole in " << c.title << ", " << s.name;
      }
    }
    EXPECT_GE(number, 2);
    for (const char* part : {"# ", "hcasim sweep testbenches/studies/", "**Answer.**", "**What explains it.**"})
      EXPECT_NE(page.find(part), std::string::npos) << name << ".md has no " << part;
    compare_numbers(name, page, full() ? std::set<std::string>{} : of_all);
  }
  static bool full() { return std::getenv("HCASIM_FULL") != nullptr; }
  static void compare_picture(const std::string& picture, const std::string& drawn, const std::string& now) {
    const auto old_points = points_of(drawn);
    const auto points = points_of(now);
    ASSERT_GT(points.size(), 2U) << picture;
    ASSERT_EQ(old_points.size(), points.size()) << picture << " shows other points than the study has";
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(old_points[i].first, points[i].first) << picture;
      EXPECT_NEAR(old_points[i].second, points[i].second, 0.01 * std::abs(points[i].second) + 1e-6)
          << picture << " is not what the study gives: " << points[i].first;
    }
  }
  // Compares the page's table of numbers with the rounded results.
  void compare_numbers(const std::string& name, const std::string& page, const std::set<std::string>& left_out) {
    static const std::regex line(R"(\| `([^`]+)` \| (?:`([^`]+)`)? ?\| ([-0-9.]+)[^|]*\|)");
    int numbers = 0;
    for (std::sregex_iterator i(page.begin(), page.end(), line), end; i != end; ++i, ++numbers) {
      const std::string where = (*i)[2].matched ? std::string((*i)[2]) : "1";
      if (left_out.contains((*i)[1]) || !(whole_ || ran(where))) continue;
      const std::string written = (*i)[3];
      const auto point = written.find('.');
      const double unit = point == std::string::npos ? 1 : std::pow(10, -static_cast<double>(written.size() - point - 1));
      const double given = value((*i)[1], where);
      EXPECT_NEAR(std::stod(written), given, 0.5001 * unit) << name << ".md: " << i->str();
    }
    EXPECT_GE(numbers, 6) << name << ".md";
  }
  bool ran(const std::string& where) {
    bool any = false;
    results_->query("SELECT 1 FROM results WHERE " + where, [&](const auto&) { any = true; });
    return any;
  }
  double value(const std::string& metric, const std::string& where) {
    double v = 0;
    int rows = 0;
    results_->query(fmt::format("SELECT {} FROM results WHERE {}", metric, where), [&](const auto& row) {
      v = std::stod(row[0]);
      ++rows;
    });
    EXPECT_EQ(rows, 1) << where;
    return v;
  }

  std::unique_ptr<result_file> results_;
  bool whole_ = true;  // every point was run
  fs::path folder_ = fs::temp_directory_path() / fmt::format("hcasim_studies_{}", ::getpid());
};

TEST_F(studies, mrc_cache) {
  run("mrc_cache");
  for (const int entries : {64, 256, 1024}) {
    const double full = value("rate", fmt::format("keys = {} AND entries = {}", entries, entries));
    const double few = value("rate", fmt::format("keys = 16 AND entries = {}", entries));
    const double twice = value("rate", fmt::format("keys = {} AND entries = {}", 2 * entries, entries));
    EXPECT_GT(full, 0.95 * few);
    EXPECT_LT(twice, 0.45 * few);
    EXPECT_NEAR(value("hit_ratio", fmt::format("keys = {} AND entries = {}", 2 * entries, entries)), 0.47, 0.06);
  }
}

TEST_F(studies, page_size) {
  run("page_size");
  const double most = value("rate", "memory = '1 MiB' AND page = '2 MiB'");
  const auto rate = [&](const char* memory, const char* page) {
    return value("rate", fmt::format("memory = '{}' AND page = '{}'", memory, page)) / most;
  };
  EXPECT_GT(rate("8 MiB", "4 KiB"), 0.95);
  EXPECT_LT(rate("64 MiB", "4 KiB"), 0.35);
  EXPECT_GT(rate("64 MiB", "64 KiB"), 0.95);
  EXPECT_LT(rate("4 GiB", "64 KiB"), 0.2);
  EXPECT_GT(rate("4 GiB", "2 MiB"), 0.95);
  EXPECT_GT(rate("4 GiB", "1 GiB"), 0.95);
}

// One command makes the numbers and pictures of a page again; a wrong one does not survive it.
TEST_F(studies, are_made_again_by_one_command) {
  fs::create_directories(folder_ / "pages");
  const fs::path page = folder_ / "pages/walkers.md";
  const std::string right = file_content(fs::path(places::source) / "docs/studies/walkers.md");
  static const std::regex number(R"(\| -?[0-9.]+( [^|]*\|\n))");
  std::string wrong = std::regex_replace(right, number, "| 987654321$1");
  ASSERT_NE(wrong, right);
  std::ofstream(page) << wrong;
  const std::string command = fmt::format("HCASIM={} STUDY_PAGES={} STUDY_RESULTS={}", places::program,
                                          (folder_ / "pages").string(), (folder_ / "results").string());
  const std::string script = places::source + std::string("/scripts/remake_studies ");
  const outcome o = run_program("env", command + " " + script + "walkers");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("walkers: rate, walkers = "), std::string::npos) << o.text;
  EXPECT_EQ(file_content(page).find("987654321"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "pages/walkers_2.svg"));
  results_ = std::make_unique<result_file>(result_file::open(folder_ / "results/walkers" / result_file::file_name, false));
  compare_numbers("walkers", file_content(page), {});
  const outcome unknown = run_program("env", command + " " + script + "nothing");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.text, "remake_studies: there is no study testbenches/studies/nothing.yaml\n");
}

TEST_F(studies, walkers) {
  run("walkers");
  const double walk = value("walk", "walkers = 1 AND mshrs = 64") * 1e-3;  // us, so 1 / walk is M/s
  for (const int walkers : {1, 2, 4, 8, 16}) {
    for (const int mshrs : {4, 16, 64}) {
      const double bound = std::min(walkers, mshrs) / walk;
      EXPECT_NEAR(value("rate", fmt::format("walkers = {} AND mshrs = {}", walkers, mshrs)), bound, 0.06 * bound);
    }
  }
  EXPECT_GT(value("busy", "walkers = 8 AND mshrs = 64"), 0.98);
  EXPECT_NEAR(value("busy", "walkers = 8 AND mshrs = 4"), 0.5, 0.02);
}

// One integrity code corrects or detects the faults of its kind, and no detected fault is lost.
TEST_F(studies, fault_outcomes) {
  run("fault_outcomes", {"--at draw=1"});
  for (const int draw : full() ? std::vector{1, 2, 3} : std::vector{1}) {
    const auto of = [&](const char* metric, const char* check, const char* damage) {
      return value(metric, fmt::format("\"check\" = '{}' AND damage = '{}' AND draw = {}", check, damage, draw));
    };
    EXPECT_GT(of("lost", "none", "icm_bit") + of("lost", "none", "icm_two_bits"), 0);
    EXPECT_EQ(of("lost", "parity", "icm_bit"), 0);
    EXPECT_EQ(of("corrected", "secded", "icm_bit"), 60);
    EXPECT_EQ(of("lost", "secded", "icm_two_bits"), 0);
  }
}

// Programs of the machine as a study's load.
TEST_F(studies, receive_prefetch) {
  if (std::system("command -v ib_send_bw >/dev/null 2>&1") != 0) GTEST_SKIP() << "perftest is not installed";
  run("receive_prefetch");
  const auto of = [&](const char* size, int prefetch) {
    return value("bandwidth", fmt::format("size = '{}' AND prefetch = {}", size, prefetch));
  };
  EXPECT_LT(of("4 KiB", 1), 0.6 * of("4 KiB", 16));
  EXPECT_GT(of("4 KiB", 16), 0.98 * of("4 KiB", 32));
  EXPECT_LT(of("1 KiB", 4), 0.6 * of("1 KiB", 32));
  for (const int n : {2, 4, 8, 16, 32}) EXPECT_NEAR(of("4 KiB, SRQ", n), of("4 KiB", n), 0.05 * of("4 KiB", n));
}

// A tag carries MRRS in the time of a read, up to the link's rate.
TEST_F(studies, write_tags) {
  if (std::system("command -v ib_write_bw >/dev/null 2>&1") != 0) GTEST_SKIP() << "perftest is not installed";
  run("write_tags");
  for (const char* root : {"120 ns", "480 ns"}) {
    const auto of = [&](const char* metric, int tags) {
      return value(metric, fmt::format("size = '64 KiB' AND root = '{}' AND tags = {}", root, tags));
    };
    const double one = 512 / of("latency", 2) * 1e9 / (1 << 20);  // MB/s
    for (const int n : {2, 4, 8}) EXPECT_NEAR(of("bandwidth", n), n * one, 0.02 * n * one) << root;
    EXPECT_GT(of("bandwidth", 32), 0.96 * 11838) << root;
    EXPECT_NEAR(of("bandwidth", 64), of("bandwidth", 32), 0.005 * of("bandwidth", 32)) << root;
  }
}

TEST_F(studies, qpc_cache) {
  run("qpc_cache");
  const double most = value("rate", "qps = 512 AND entries = 1024");
  EXPECT_GT(value("rate", "qps = 1024 AND entries = 1024"), 0.95 * most);
  EXPECT_LT(value("rate", "qps = 4096 AND entries = 1024"), 0.5 * most);
  EXPECT_LT(value("rate", "qps = 256 AND entries = 64"), 0.5 * most);
  EXPECT_NEAR(value("hit_ratio", "qps = 512 AND entries = 64"), 0.36, 0.05);
}

TEST_F(studies, pcie) {
  run("pcie",
      {"--at 'mrrs=512 B' --at tags=64", "--at 'mrrs=512 B' --at 'size=64 B'", "--at 'link=Gen4 x16' --at 'size=512 B'"});
  const auto get = [&](const char* metric, const char* size, const char* link, int tags, const char* mrrs) {
    return value(metric, fmt::format("size = '{}' AND link = '{}' AND tags = {} AND mrrs = '{}'", size, link, tags, mrrs));
  };
  EXPECT_NEAR(get("goodput", "32 KiB", "Gen3 x8", 64, "512 B"), 54, 2);
  EXPECT_GT(get("goodput", "32 KiB", "Gen3 x16", 64, "512 B"), 97);
  EXPECT_LT(get("down", "32 KiB", "Gen4 x16", 64, "512 B"), 0.5);
  EXPECT_LT(get("rate", "64 B", "Gen5 x16", 16, "512 B"), 0.45 * get("rate", "64 B", "Gen5 x16", 64, "512 B"));
  EXPECT_LT(get("rate", "64 B", "Gen5 x16", 64, "512 B"), 1.03 * get("rate", "64 B", "Gen4 x16", 64, "512 B"));
  EXPECT_LT(get("goodput", "512 B", "Gen4 x16", 16, "128 B"), 0.45 * get("goodput", "512 B", "Gen4 x16", 64, "128 B"));
  EXPECT_GT(get("tags_busy", "64 B", "Gen5 x16", 16, "512 B"), 0.95);
}

TEST_F(studies, doorbell) {
  run("doorbell");
  const auto get = [&](const char* metric, int batch, const char* way, int window) {
    return value(metric, fmt::format("batch = {} AND way = '{}' AND window = {}", batch, way, window));
  };
  EXPECT_GT(get("rate", 1, "BlueFlame", 32), 1.1 * get("rate", 1, "doorbell", 32));
  EXPECT_GT(get("rate", 32, "doorbell", 256), 1.5 * get("rate", 1, "doorbell", 256));
  EXPECT_LT(get("rate", 32, "doorbell", 32), get("rate", 1, "doorbell", 32));
  EXPECT_GT(get("software", 1, "doorbell", 256), 0.99);
  EXPECT_EQ(get("blueflame", 1, "BlueFlame", 256), 20000);
  EXPECT_LT(get("latency", 8, "doorbell and inline", 256), 0.55 * get("latency", 8, "doorbell", 256));
}

TEST_F(studies, buffer_swaps) {
  run("buffer_swaps");
  for (const char* buffer : {"8 KiB", "64 KiB"}) {
    const std::string where = fmt::format("buffers = 8 AND buffer = '{}'", buffer);
    EXPECT_LT(value("swap_extend", where), value("swap_reregister", where));
    EXPECT_NEAR(value("swap_remap", where), value("swap_extend", where), 0.01 * value("swap_extend", where));
    EXPECT_LT(value("whole", where), value("remap", where));
    EXPECT_LT(value("remap", where), value("extend", where));
    EXPECT_LT(value("reregister", where), value("fixed", where));
    EXPECT_GT(value("extend", where), value("reregister", where));
  }
  for (const char* other : {"extend", "remap", "reregister", "register"}) {
    EXPECT_GT(value("rebind", "buffers = 8 AND buffer = '8 KiB'"), 5 * value(other, "buffers = 8 AND buffer = '8 KiB'"));
    EXPECT_GT(value("rate_rebind", "buffers = 8 AND buffer = '8 KiB'"),
              5 * value(fmt::format("rate_{}", other), "buffers = 8 AND buffer = '8 KiB'"));
  }
  EXPECT_GT(value("extend", "buffers = 8 AND buffer = '128 KiB'"), 5 * value("extend", "buffers = 8 AND buffer = '8 KiB'"));
}

// Against a key for each buffer, keeping it pays from where a key costs a target more than a swap takes the host.
TEST_F(studies, kept_key) {
  const std::string near = " --at 'distance=10 ns'";
  const std::string one = " --at targets=1";
  const std::string batches = " --at 'buffers=16 in batches of 4'";
  run("kept_key",
      {"--at 'buffer=64 KiB' --at buffers=16" + near, "--at buffers=16" + one + near,
       "--at 'buffer=64 KiB' --at buffers=16 --at 'distance=25 us'" + one,
       "--at 'buffer=64 KiB' --at 'buffer=16 KiB'" + batches + one + near, "--at 'buffer=256 KiB' --at buffers=4" + one + near,
       "--at 'buffer=16 KiB' --at buffers=4 --at 'distance=25 us' --at 'key_cost=5 us'" + one},
      {"min(over_whole)", "max(over_whole)"});
  const auto get = [&](const char* metric, int targets, const char* cost, const char* buffers = "16",
                       const char* buffer = "64 KiB", const char* distance = "10 ns") {
    return value(
        metric, fmt::format("buffer = '{}' AND buffers = '{}' AND targets = {} AND distance = '{}' AND key_cost = '{}'", buffer,
                            buffers, targets, distance, cost));
  };
  EXPECT_GT(value("min(over_whole)", "1"), 2) << "always ahead of the whole region";
  EXPECT_NEAR(get("over_rebind", 1, "10 us"), 1, 0.02) << "one target crosses over at 10 us";
  EXPECT_LT(get("over_rebind", 1, "5 us"), 0.6);
  EXPECT_LT(get("over_rebind", 4, "20 us"), 0.6);
  EXPECT_GT(get("over_rebind", 4, "50 us"), 1.1);
  EXPECT_LT(get("over_rebind", 16, "50 us"), 0.6);
  for (const int targets : {1, 4, 16}) {
    EXPECT_EQ(get("keys_extend", targets, "20 us"), targets);
    EXPECT_EQ(get("keys_whole", targets, "20 us"), 128 * targets);
    EXPECT_EQ(get("keys_reregister", targets, "20 us"), 128);
    for (const char* cost : {"0 us", "5 us"}) EXPECT_NEAR(get("over_reregister", targets, cost), 1, 0.1);
    EXPECT_NEAR(get("extend", targets, "50 us"), get("extend", targets, "0 us"), 0.04 * get("extend", targets, "0 us"));
  }
  for (const char* way : {"reregister", "rebind"}) EXPECT_NEAR(get(way, 1, "50 us"), 65536 * 8 / 50e3, 0.3) << way;
  EXPECT_GT(get("extend", 1, "0 us", "16 in batches of 4"), 1.6 * get("extend", 1, "0 us"));
  const double mapped = 4 * 16384 * 8 / 100e3;  // over the round trip
  for (const char* way : {"extend", "reregister", "rebind"}) {
    EXPECT_LT(get(way, 1, "5 us", "4", "16 KiB", "25 us"), mapped);
    EXPECT_GT(get(way, 1, "5 us", "4", "16 KiB", "25 us"), 0.8 * mapped);
  }
}

TEST_F(studies, registration) {
  run("registration");
  const auto get = [&](const char* size, const char* way, const char* rendezvous) {
    return value("bandwidth", fmt::format("size = '{}' AND way = '{}' AND rendezvous = '{}'", size, way, rendezvous));
  };
  for (const char* r : {"read", "write"}) {
    for (const char* size : {"128 KiB", "512 KiB", "2 MiB"}) {
      EXPECT_LT(get(size, "each", r), 0.35 * get(size, "cached", r));
      EXPECT_LT(get(size, "window", r), get(size, "cached", r));
      EXPECT_GT(get(size, "window", r), 0.9 * get(size, "cached", r));
    }
  }
  EXPECT_GT(get("128 KiB", "window", "read"), 0.98 * get("128 KiB", "cached", "read"));
}

TEST_F(studies, all_to_all) {
  run("all_to_all");
  const auto get = [&](const char* metric, int hosts, int entries) {
    return value(metric, fmt::format("hosts = {} AND entries = {}", hosts, entries));
  };
  EXPECT_EQ(get("hit_ratio", 16, 16), 1) << "15 peers";
  EXPECT_EQ(get("time", 16, 16), get("time", 16, 64));
  EXPECT_EQ(get("hit_ratio", 32, 32), 1) << "31 peers";
  EXPECT_GT(get("time", 32, 16), 1.3 * get("time", 32, 32));
  EXPECT_GT(get("time", 64, 32), 1.3 * get("time", 64, 64));
  EXPECT_LT(get("hit_ratio", 64, 32), 0.5);
  EXPECT_EQ(get("key_misses", 64, 16), 0);
}

// Each doubling of the entries finds as many more keys of a Zipf law.
TEST_F(studies, mrc_ways) {
  run("mrc_ways");
  const auto get = [&](const char* metric, int ways) { return value(metric, fmt::format("ways = {}", ways)); };
  for (const int ways : {4, 8, 16, 32}) {
    EXPECT_NEAR(get("hit_ratio", 2 * ways) - get("hit_ratio", ways), 0.068, 0.006) << ways;
    EXPECT_GT(get("rate", 2 * ways), 1.02 * get("rate", ways)) << ways;
  }
  EXPECT_LT(get("rate", 64), 1.25 * get("rate", 4));
}

TEST_F(studies, pcie_mix) {
  run("pcie_mix");
  const auto get = [&](int generation, const char* mps) {
    return value("goodput", fmt::format("generation = {} AND mps = '{}'", generation, mps));
  };
  EXPECT_GT(get(3, "512 B"), 1.12 * get(3, "128 B"));
  EXPECT_GT(get(4, "128 B"), 2 * get(3, "128 B"));
  EXPECT_NEAR(get(5, "512 B"), get(4, "256 B"), 0.01 * get(4, "256 B"));
}

TEST_F(studies, isolation) {
  run("isolation");
  const auto get = [&](const char* metric, const char* neighbour, int buffers = 256) {
    return value(metric, fmt::format("neighbour = '{}' AND buffers = {}", neighbour, buffers));
  };
  const double alone = get("rate", "none");
  for (const char* harmless : {"32768 regions", "atomics", "registrations"}) EXPECT_GT(get("rate", harmless), 0.98 * alone);
  for (const char* queue : {"long WRITEs", "long READs"}) {
    EXPECT_LT(get("rate", queue), 0.1 * alone);
    EXPECT_GT(get("p99", queue), 4 * get("p99", queue, 32)) << "packets wait in the shared buffers";
  }
  EXPECT_LT(get("rate", "512 QPs"), 0.7 * alone);
  EXPECT_LT(get("rate", "512 QPs", 32), 0.7 * get("rate", "512 QPs")) << "and so do misses";
}

// Few QPs ask for nothing that is assumed; the reach of the translation caches is assumed.
TEST_F(studies, assumed_constants) {
  run("assumed_constants");
  const auto effect = [&](const char* load, const char* change) {
    const double base = value("rate", fmt::format("load = '{}' AND tornado = 'base'", load));
    return value("rate", fmt::format("load = '{}' AND tornado = 'node*.{}'", load, change)) / base;
  };
  for (const char* assumed : {"hca.qpc_cache.sets", "hca.qpc_cache.fetches", "hca.page_walker.leaf_sets",
                              "hca.page_walker.walkers", "pcie.link_latency"}) {
    for (const char* times : {"0.5", "2"})
      EXPECT_NEAR(effect("few QPs", fmt::format("{} x {}", assumed, times).c_str()), 1, 0.03) << assumed;
  }
  EXPECT_GT(effect("few QPs", "driver.post_call x 0.5"), 1.5);
  EXPECT_LT(effect("1024 QPs", "hca.qpc_cache.fetches x 0.5"), 0.8);
  EXPECT_GT(effect("4096 regions", "hca.page_walker.leaf_sets x 2"), 2);
}

TEST_F(studies, incast_keys) {
  run("incast_keys");
  const auto get = [&](const char* size, const char* key) {
    return value("goodput", fmt::format("size = '{}' AND \"key\" = '{}'", size, key));
  };
  for (const char* size : {"4 KiB", "16 KiB", "64 KiB"}) EXPECT_GT(get(size, "window"), 0.98 * get(size, "one for all"));
  EXPECT_LT(get("4 KiB", "fast registration"), 0.95 * get("4 KiB", "one for all"));
  EXPECT_LT(get("4 KiB", "registration"), 0.05 * get("4 KiB", "one for all"));
  EXPECT_LT(get("64 KiB", "registration"), 0.5 * get("64 KiB", "one for all"));
}

TEST_F(studies, moderation) {
  run("moderation");
  const auto get = [&](const char* metric, const char* load, int batch, int moderation) {
    return value(metric, fmt::format("load = '{}' AND batch = {} AND moderation = {}", load, batch, moderation));
  };
  EXPECT_NEAR(get("rate", "8 M/s", 1, 1), 8, 0.08);
  EXPECT_GT(get("per_event", "8 M/s", 1, 1), 30);
  EXPECT_LT(get("per_event", "8 M/s", 1, 32), 1.25 * get("per_event", "8 M/s", 1, 1));
  EXPECT_LT(get("per_message", "8 M/s", 16, 1), 0.65 * get("per_message", "8 M/s", 1, 1));
  EXPECT_GT(get("per_event", "1 M/s", 1, 32), 4 * get("per_event", "1 M/s", 1, 1));
  EXPECT_GT(get("p99", "0.1 M/s", 1, 8), get("p99", "0.1 M/s", 1, 1) + 19) << "the timer of moderation";
}

TEST_F(studies, exchange) {
  run("exchange");
  const auto host = [&](int hosts) { return value("rate", fmt::format("hosts = '0-{}'", hosts - 1)) / hosts; };
  EXPECT_GT(host(16), 4 * host(4)) << "latency binds";
  EXPECT_LT(host(64), 1.2 * host(16)) << "the thread binds";
  EXPECT_GT(value("p99", "hosts = '0-63'"), 126 * 0.055) << "messages under way wait for the thread";
}

TEST_F(studies, key_check) {
  run("key_check", {"--at 'clock=400 MHz'", "--at 'interval=1 cycle'", "--at 'depth=2 cycles' --at 'interval=16 cycles'"});
  const auto get = [&](const char* metric, const char* depth, const char* interval, int mhz) {
    return value(metric, fmt::format("depth = '{}' AND interval = '{}' AND clock = '{} MHz'", depth, interval, mhz));
  };
  for (const int mhz : {200, 400, 800}) EXPECT_NEAR(get("rate", "2 cycles", "16 cycles", mhz), mhz / 16.0, 0.02 * mhz / 16.0);
  EXPECT_GT(get("busy", "6 cycles", "8 cycles", 400), 0.98);
  EXPECT_GT(get("rate", "20 cycles", "1 cycle", 400), 0.92 * get("rate", "2 cycles", "1 cycle", 400));
  EXPECT_LT(get("rate", "200 cycles", "1 cycle", 400), 0.7 * get("rate", "2 cycles", "1 cycle", 400));
}

}  // namespace
}  // namespace hcasim
