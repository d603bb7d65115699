#include "tlm/operation.h"

#include <gtest/gtest.h>

namespace hcasim {
namespace {

TEST(operation, no_two_queues_have_a_number_in_common) {
  const std::uint64_t first = new_operation_queue();
  const std::uint64_t second = new_operation_queue();
  EXPECT_NE(first, 0U);
  EXPECT_GT(second, operation_at(first, 0x7fff));
  EXPECT_EQ(operation_queue(operation_at(second, 5)), operation_queue(second));
}

// Indices turn over many times in the life of a queue.
TEST(operation, places_go_on_where_indices_turn_over) {
  std::uint64_t last = new_operation_queue();
  const std::uint64_t begin = last;
  std::uint64_t blocks = 0;
  for (unsigned i = 0; i < 50'000; ++i) {
    last = operation_at(last, static_cast<std::uint16_t>(blocks));
    ASSERT_EQ(last, begin + blocks);
    blocks += i % 16 + 1;
  }
  EXPECT_EQ(operation_at(last, static_cast<std::uint16_t>(last - 32768)), last - 32768) << "one that was posted long before";
}

TEST(operation, number_zero_stays_zero) {
  EXPECT_EQ(operation_at(0, 17), 0U);
}

}  // namespace
}  // namespace hcasim
