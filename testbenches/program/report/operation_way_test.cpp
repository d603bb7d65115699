// The way of operations out of a file of spans: order, times, shares, and files that are none.
#include "testbenches/program/report/operation_way.h"

#include <gtest/gtest.h>

#include <fstream>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/testing/own_folder.h"

namespace hcasim {
namespace {

class operation_way : public test_in_own_folder {
 protected:
  static void write(const std::string& events) {
    std::ofstream("spans.json") << "{\"traceEvents\": [\n"
                                << events << R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"node0"}},
{"ph":"M","pid":2,"name":"process_name","args":{"name":"node1"}},
{"ph":"M","pid":1,"tid":10,"name":"thread_name","args":{"name":"requester"}},
{"ph":"M","pid":1,"tid":11,"name":"thread_name","args":{"name":"requester 2"}},
{"ph":"M","pid":1,"tid":11,"name":"thread_sort_index","args":{"sort_index":11}},
{"ph":"M","pid":2,"tid":20,"name":"thread_name","args":{"name":"responder"}}
]}
)";
  }
  static std::string event(int pid, int tid, const std::string& begin, const std::string& length, const std::string& what,
                           const std::string& arguments) {
    return fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","args":{{{}}}}},)", pid, tid, begin, length,
                       what, arguments) +
           "\n";
  }
  static void refused(const std::string& message) {
    try {
      recorded_operations("spans.json");
      ADD_FAILURE() << "taken";
    } catch (const input_error& e) {
      EXPECT_EQ(e.what(), message);
    }
  }
};

TEST_F(operation_way, the_slowest_comes_first_and_numbers_are_numbers) {
  write(event(1, 10, "1.0", "0.5", "SEND", R"("qpn":"0x2","block":3,"operation":"1.10")") +
        event(1, 11, "2.0", "0.5", "WRITE", R"("qpn":"0x2","block":4,"operation":"1.9")") +
        event(1, 10, "3.0", "0.6", "READ", R"("qpn":"0x2","block":5,"operation":"2.1")") +
        event(1, 10, "3.0", "9.9", "fetch", R"("index":"0x2")"));
  const std::vector<recorded_operation> all = recorded_operations("spans.json");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].number, "2.1");
  EXPECT_EQ(all[0].what, "READ");
  EXPECT_EQ(all[0].begin, 3_us);
  EXPECT_EQ(all[1].number, "1.9");
  EXPECT_EQ(all[2].number, "1.10");
}

TEST_F(operation_way, slices_of_one_operation_are_in_the_order_of_time_behind_the_whole) {
  write(event(2, 20, "1.3", "0.000001", "RC WRITE_ONLY", R"("psn":7,"operation":"1.1")") +
        event(1, 10, "1.0", "0.2", "check L_Key", R"("key":"0x101","bytes":64,"operation":"1.1")") +
        event(1, 11, "1.1", "0.5", "WRITE", R"("qpn":"0x2","block":3,"operation":"1.1")") +
        event(1, 10, "1.0", "0.2", "another", R"("operation":"1.11")"));
  const std::vector<way_slice> way = way_of_operation("spans.json", "1.1");
  ASSERT_EQ(way.size(), 3U);
  EXPECT_EQ(way[0].what, "WRITE");
  EXPECT_EQ(way[0].unit, "requester") << "without the number of the lane";
  EXPECT_EQ(way[1].with, "key 0x101, bytes 64");
  EXPECT_EQ(way[2].node, "node1");
  EXPECT_EQ(way[2].end - way[2].begin, 1_ps);
  const recorded_operation whole = recorded_operations("spans.json").at(0);
  EXPECT_EQ(whole.begin, 1_us);
  EXPECT_EQ(whole.end, 1600_ns);
  EXPECT_EQ(whole.slices, 3U);
}

TEST_F(operation_way, each_moment_belongs_to_one_unit) {
  const std::vector<way_slice> way = {{"node0", "requester", "WRITE", "", 0_ns, 100_ns},
                                      {"node0", "dma_engine", "payload read", "", 10_ns, 50_ns},
                                      {"node0", "pcie", "read", "", 20_ns, 30_ns},
                                      {"node1", "responder", "RC WRITE_ONLY", "", 60_ns, 110_ns}};
  const std::vector<way_share> shares = shares_of(way);
  ASSERT_EQ(shares.size(), 4U);
  EXPECT_EQ(shares[0].unit, "");
  EXPECT_EQ(shares[0].time, 20_ns);
  EXPECT_EQ(shares[1].unit, "dma_engine");
  EXPECT_EQ(shares[1].time, 30_ns);
  EXPECT_EQ(shares[2].unit, "pcie");
  EXPECT_EQ(shares[2].time, 10_ns);
  EXPECT_EQ(shares[3].unit, "responder");
  EXPECT_EQ(shares[3].time, 50_ns);
}

TEST_F(operation_way, what_is_no_file_of_spans_is_refused) {
  refused("spans.json: there are no spans; run the testbench again with --spans");
  std::ofstream("spans.json") << "{\"traceEvents\": [\n{\"ph\":\"X\",\"args\":{\"operation\":\"1.1\"\n";
  refused("spans.json:2: not a line of spans, as hcasim run --spans writes them");
}

}  // namespace
}  // namespace hcasim
