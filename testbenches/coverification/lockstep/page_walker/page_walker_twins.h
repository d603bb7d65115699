// Pairs for the page walker that differ in one bit of a compared number, such as the tag, root or page of a walk. Each bit has
// its turn with a cached entry and with an entry on its way.
//
// The tables are those of map 0, which never change. Each pair has them at other addresses, so that no part of a pair is
// cached.
#pragma once

#include <cstdint>
#include <deque>

#include "testbenches/coverification/lockstep/page_walker/page_walker_tables.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

item walk_at(unsigned map, const translation& m, std::uint64_t va, std::uint64_t length, bool write, unsigned gap);
item drop_at(unsigned map, const translation& m, std::uint64_t first, std::uint64_t last, unsigned gap);
// Lets an item of a stream of one request at a time go while the one before is under way.
item beside(item i);

class walk_twins {
 public:
  explicit walk_twins(const page_tables& tables) : tables_(tables) {}
  // Appends the items of the next pair.
  void next(std::deque<item>& to, random_stream& r);
  // Appends misses of one table at once, more than there are walkers, so that some wait for one.
  void crowd(std::deque<item>& to, random_stream& r, unsigned misses);

 private:
  enum class differs : std::uint8_t { tag, root, page, address };
  enum class meeting : std::uint8_t {
    cached,
    on_its_way,
    dropped,
    dropped_on_its_way,
    within,
    within_on_its_way,
    behind,
    behind_on_its_way
  };
  struct kind {
    differs in;
    meeting at;
    unsigned first;  // bit
    unsigned bits;
  };
  static constexpr unsigned shift = 12;
  static constexpr unsigned line_pages = 8;
  static constexpr kind kinds[] = {{differs::tag, meeting::cached, 0, 32},
                                   {differs::tag, meeting::on_its_way, 0, 32},
                                   {differs::tag, meeting::dropped, 0, 32},
                                   {differs::tag, meeting::dropped_on_its_way, 0, 32},
                                   {differs::root, meeting::cached, 0, 64},
                                   {differs::root, meeting::on_its_way, 0, 64},
                                   {differs::page, meeting::cached, 3, 64 - shift - 3},
                                   {differs::page, meeting::on_its_way, 3, 64 - shift - 3},
                                   {differs::address, meeting::dropped, 0, 64},
                                   {differs::address, meeting::dropped_on_its_way, 0, 64},
                                   {differs::address, meeting::within, 0, 64},
                                   {differs::address, meeting::within_on_its_way, 0, 64},
                                   {differs::address, meeting::behind, 0, 64},
                                   {differs::address, meeting::behind_on_its_way, 0, 64}};

  // Returns a map whose walk to the page of `va` succeeds.
  translation fresh(random_stream& r, std::uint64_t& va) const;

  const page_tables& tables_;
  std::uint64_t turn_ = 0;
};

}  // namespace hcasim::lockstep
