// Requests for ICM whose addresses go through the map in host memory: where the bytes move, in which order, at which price.
#include <gtest/gtest.h>

#include <memory>

#include "firmware/abi/command.h"
#include "models/adapter/dma_engine/dma_engine.h"
#include "models/adapter/dma_engine/fake_pcie.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim {
namespace {

using testing::count_of;
using testing::fake_initiator;
using testing::fake_pcie;

constexpr std::uint64_t virtual_base = 0x8000'0000;  // beyond the memory: reached through the map alone
constexpr std::uint64_t cqc_bytes = 4096;            // one page of another kind lies before the page tables
constexpr std::uint64_t tables = virtual_base + cqc_bytes;
constexpr std::uint64_t map = 0x1000;
constexpr std::uint64_t frames[] = {0x30000, 0x20000, 0x5000, 0x40000, 0x9000, 0xa000};  // of the pages of both areas

// 1 GHz, PCIe 500 ns. Two entries of the map are cached, unless told otherwise.
struct mapped_bench {
  clock_domain clock{frequency{1e9}};
  dma_engine dma;
  fake_pcie pcie{"pcie"};
  testing::fake_target<dma_request> local{"local"};
  fake_initiator<dma_request> client{"client"};
  fake_initiator<icm_area> areas{"areas"};
  std::array<icm_area, 3> of_icm;
  std::deque<dma_request> requests;
  std::vector<std::byte> buffer = std::vector<std::byte>(64_KiB);

  explicit mapped_bench(std::uint32_t entries = 2) : dma("dma", engine(), clock, 1, 0, icm_guard(with_map(entries))) {
    dma.pcie.bind(pcie.up);
    dma.local.bind(local.in);
    client.out.bind(dma.in[0]);
    areas.out.bind(dma.areas);
    of_icm[0].base = map;
    of_icm[1].kind = icm_entry::cqc;
    of_icm[1].base = virtual_base;
    of_icm[1].bytes = cqc_bytes;
    of_icm[2].kind = icm_entry::pte;
    of_icm[2].base = tables;
    of_icm[2].bytes = 5 * 4096;
    for (icm_area& a : of_icm) areas.send(a, 0_ns);
    for (std::size_t i = 0; i < std::size(frames); ++i) pcie.set_word(map + 8 * i, frames[i] | HCA_ICM_PRESENT);
  }

  static dma_engine_config engine() {
    dma_engine_config c;
    c.datapath_width = 0;
    return c;
  }
  static icm_config with_map(std::uint32_t entries) {
    icm_config c;
    c.map_sets = entries != 0 ? 1 : 0;
    c.map_ways = std::max(entries, 1U);
    return c;
  }

  dma_request& send(dma_op op, dma_source source, std::uint64_t address, std::uint32_t bytes, ps at) {
    dma_request& r = requests.emplace_back();
    r.op = op;
    r.source = source;
    r.address = address;
    r.bytes = bytes;
    r.data = &buffer[requests.size() * 8192];
    client.send(r, at);
    return r;
  }
  dma_request& read(std::uint64_t address, std::uint32_t bytes, ps at) {
    return send(dma_op::read, dma_source::table, address, bytes, at);
  }
  [[nodiscard]] ps answered(const dma_request& r) const { return client.answered(r); }
  [[nodiscard]] std::uint64_t stat(std::string_view name) const { return count_of(dma, name); }
  [[nodiscard]] std::vector<std::uint64_t> places() const {
    std::vector<std::uint64_t> out;
    for (const fake_pcie::burst& b : pcie.log) out.push_back(b.address);
    return out;
  }
};

using addresses = std::vector<std::uint64_t>;

TEST(icm_map, a_page_is_looked_up_once) {
  mapped_bench b;
  dma_request& first = b.read(tables + 64, 8, 10_ns);
  dma_request& second = b.read(tables + 4088, 8, 2_us);
  testing::run_until_idle();
  EXPECT_EQ(b.places(), (addresses{map + 8, frames[1] + 64, frames[1] + 4088}));
  EXPECT_EQ(b.answered(first), 10_ns + 2 * 500_ns + 12_ns) << "two reads after each other";
  EXPECT_EQ(b.answered(second), 2_us + 500_ns + 8_ns);
  EXPECT_FALSE(first.failed || second.failed);
  EXPECT_EQ(b.stat("icm_map_misses"), 1U);
  EXPECT_EQ(b.stat("icm_map_hits"), 1U) << "each page of a request counts once";
  EXPECT_TRUE(b.dma.idle());
}

TEST(icm_map, each_kind_has_its_part_of_the_map) {
  mapped_bench b;
  b.send(dma_op::write, dma_source::context, virtual_base + 128, 64, 10_ns);
  b.read(tables + 4 * 4096, 8, 2_us);
  testing::run_until_idle();
  EXPECT_EQ(b.places(), (addresses{map, frames[0] + 128, map + 8 * 5, frames[5]}));
}

TEST(icm_map, the_oldest_entry_is_read_again) {
  mapped_bench b;
  for (const unsigned page : {0U, 1U, 0U, 2U, 0U, 1U})
    b.read(tables + page * 4096, 8, 10_ns + 2_us * static_cast<int>(b.requests.size()));
  testing::run_until_idle();
  EXPECT_EQ(b.places(), (addresses{map + 8, frames[1], map + 16, frames[2], frames[1], map + 24, frames[3], frames[1], map + 16,
                                   frames[2]}));
}

TEST(icm_map, a_request_over_several_pages_moves_each_to_its_place) {
  mapped_bench b;
  for (int i = 0; i < 3; ++i) b.pcie.set_word(frames[1 + i], 0);
  dma_request& r = b.send(dma_op::write, dma_source::command, tables + 4096 - 8, 8 + 4096 + 8, 10_ns);
  std::fill_n(r.data, r.bytes, std::byte{7});
  testing::run_until_idle();
  EXPECT_EQ(b.places(), (addresses{map + 8, map + 16, map + 24, frames[1] + 4088, frames[2], frames[3]}));
  EXPECT_EQ(b.pcie.word(frames[1] + 4088), 0x0707070707070707U);
  EXPECT_EQ(b.pcie.word(frames[3]), 0x0707070707070707U);
  EXPECT_EQ(b.pcie.word(frames[3] + 8), 0U);
}

TEST(icm_map, later_requests_of_the_source_and_for_icm_wait_while_others_pass) {
  mapped_bench b;
  b.send(dma_op::write, dma_source::command, tables, 8, 10_ns);
  b.send(dma_op::write, dma_source::command, 0x60000, 8, 11_ns);  // no ICM
  b.send(dma_op::read, dma_source::table, tables + 8, 8, 12_ns);
  b.send(dma_op::write, dma_source::payload, 0x70000, 8, 13_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.places(), (addresses{map + 8, 0x70000, frames[1], 0x60000, frames[1] + 8}));
}

TEST(icm_map, an_entry_that_cannot_be_fails_the_request_alone) {
  mapped_bench b;
  b.pcie.set_word(map + 8, frames[1]);                         // not present
  b.pcie.set_word(map + 16, frames[2] | HCA_ICM_PRESENT | 8);  // a reserved bit
  dma_request& absent = b.read(tables, 8, 10_ns);
  dma_request& reserved = b.send(dma_op::write, dma_source::table, tables + 4096, 8, 11_ns);
  dma_request& good = b.read(tables + 2 * 4096, 8, 12_ns);
  testing::run_until_idle();
  EXPECT_TRUE(absent.failed && absent.damaged);
  EXPECT_TRUE(reserved.failed && reserved.damaged);
  EXPECT_FALSE(good.failed);
  EXPECT_EQ(b.places(), (addresses{map + 8, map + 16, map + 24, frames[3]}));
  EXPECT_TRUE(b.dma.idle());
}

TEST(icm_map, a_map_that_cannot_be_reached_fails_the_request) {
  mapped_bench b;
  b.pcie.fails_from = map;
  dma_request& r = b.read(tables, 8, 10_ns);
  testing::run_until_idle();
  EXPECT_TRUE(r.failed);
  EXPECT_FALSE(r.damaged);
  EXPECT_TRUE(b.dma.idle());
}

TEST(icm_map, a_new_map_is_looked_up_anew) {
  mapped_bench b;
  b.read(tables, 8, 10_ns);
  icm_area moved;
  moved.base = 0x2000;
  b.pcie.set_word(0x2000 + 8, 0xb000 | HCA_ICM_PRESENT);
  b.areas.send(moved, 2_us);
  b.read(tables, 8, 3_us);
  testing::run_until_idle();
  EXPECT_EQ(b.places(), (addresses{map + 8, frames[1], 0x2000 + 8, 0xb000}));
}

TEST(icm_map, requests_whose_map_goes_are_refused) {
  mapped_bench b;
  dma_request& first = b.read(tables, 8, 10_ns);
  dma_request& second = b.read(tables + 4096, 8, 11_ns);
  icm_area none;
  b.areas.send(none, 100_ns);
  testing::run_until_idle();
  EXPECT_TRUE(first.failed && second.failed);
  EXPECT_EQ(b.places(), (addresses{map + 8})) << "nothing else is touched";
  EXPECT_TRUE(b.dma.idle());
}

TEST(icm_map, an_entry_of_an_earlier_map_is_not_used) {
  mapped_bench b;
  dma_request& r = b.read(tables, 8, 10_ns);
  icm_area moved;
  moved.base = 0x2000;
  b.pcie.set_word(0x2000 + 8, 0xb000 | HCA_ICM_PRESENT);
  b.pcie.set_word(0xb000, 0);
  b.areas.send(moved, 100_ns);
  testing::run_until_idle();
  EXPECT_FALSE(r.failed);
  EXPECT_EQ(b.places(), (addresses{map + 8, 0x2000 + 8, 0xb000}));
}

TEST(icm_map, a_request_beyond_its_area_is_refused) {
  mapped_bench b;
  dma_request& r = b.send(dma_op::write, dma_source::command, tables + 5 * 4096 - 8, 16, 10_ns);
  testing::run_until_idle();
  EXPECT_TRUE(r.failed);
  EXPECT_EQ(b.places(), (addresses{map + 8 * 5})) << "no byte has moved";
}

TEST(icm_map, without_a_cache_addresses_are_physical) {
  mapped_bench b(0);
  dma_request& r = b.read(tables, 8, 10_ns);
  testing::run_until_idle();
  EXPECT_TRUE(r.failed) << "beyond the memory";
  EXPECT_EQ(b.places(), (addresses{tables}));
}

}  // namespace
}  // namespace hcasim
