// The states of a unit's record, as a table. A state is a life (one of a few) and marks: conditions that come and go on their
// own. A row tells what an event does in some lives and which marks it needs. `step` throws when the table does not allow the
// event in the state: the unit is wrong then.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hcasim {

template <class E>
class enum_set {
 public:
  using word = std::uint16_t;

  constexpr enum_set() = default;
  constexpr enum_set(std::initializer_list<E> members) {
    for (const E e : members) bits_ = static_cast<word>(bits_ | 1U << static_cast<unsigned>(e));
  }
  static constexpr enum_set of(unsigned bits) {
    enum_set s;
    s.bits_ = static_cast<word>(bits);
    return s;
  }
  [[nodiscard]] constexpr word bits() const { return bits_; }
  [[nodiscard]] constexpr bool has(E e) const { return (bits_ >> static_cast<unsigned>(e) & 1U) != 0; }
  [[nodiscard]] constexpr bool any(enum_set other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr enum_set operator|(enum_set a, enum_set b) { return of(static_cast<unsigned>(a.bits_ | b.bits_)); }
  friend constexpr bool operator==(enum_set, enum_set) = default;

 private:
  word bits_ = 0;
};

template <class Life, class Mark>
struct life_state {
  Life life{};
  enum_set<Mark> marks;

  [[nodiscard]] constexpr bool has(Mark m) const { return marks.has(m); }
  [[nodiscard]] constexpr bool any(enum_set<Mark> m) const { return marks.any(m); }
  friend constexpr bool operator==(life_state, life_state) = default;
};

template <class Life, class Mark, class Event>
struct state_row {
  Event event;
  enum_set<Life> in;
  std::optional<Life> becomes = {};  // none = stays the same
  enum_set<Mark> needs = {};         // marks that must be set
  enum_set<Mark> without = {};       // marks that must be clear
  enum_set<Mark> sets = {};
  enum_set<Mark> clears = {};
};

// Names in the order of the enumerations, which begin at 0 and leave no number out.
template <std::size_t Lives, std::size_t Marks, std::size_t Events>
struct state_names {
  std::string_view record;
  std::array<std::string_view, Lives> lives;
  std::array<std::string_view, Marks> marks;
  std::array<std::string_view, Events> events;
};

template <class Life, class Mark, class Event, std::size_t Lives, std::size_t Marks, std::size_t Events, std::size_t Rows>
class state_table {
 public:
  using state = life_state<Life, Mark>;
  using life = Life;
  using mark = Mark;
  using event = Event;
  using row = state_row<Life, Mark, Event>;
  using names_type = state_names<Lives, Marks, Events>;
  static_assert(Marks <= 16 && Lives <= 16);

  constexpr state_table(const names_type& names, const std::array<row, Rows>& rows) : names_(names), rows_(rows) {
    for (const row& r : rows) {
      for (std::size_t l = 0; l < Lives; ++l) {
        if (!r.in.has(static_cast<Life>(l))) continue;
        cell& c = cells_[static_cast<std::size_t>(r.event)][l];
        if (c.expected != 0) throw std::logic_error("two rows for one event in one life");
        c.to = r.becomes ? *r.becomes : static_cast<Life>(l);
        c.expected = r.needs.bits() + 1U;
        c.checked = (r.needs | r.without).bits();
        c.kept = static_cast<std::uint16_t>(~r.clears.bits());
        c.set = r.sets.bits();
      }
    }
  }

  [[nodiscard]] constexpr bool possible(state s, Event e) const {
    const cell& c = at(s, e);
    return (s.marks.bits() & c.checked) + 1U == c.expected;
  }
  [[nodiscard]] constexpr state step(state s, Event e) const {
    const cell& c = at(s, e);
    if ((s.marks.bits() & c.checked) + 1U != c.expected) [[unlikely]]
      impossible(s, e);
    return {c.to, enum_set<Mark>::of((s.marks.bits() & c.kept) | static_cast<unsigned>(c.set))};
  }

  [[nodiscard]] constexpr const std::array<row, Rows>& rows() const { return rows_; }
  [[nodiscard]] constexpr const names_type& names() const { return names_; }
  [[nodiscard]] constexpr std::string_view name(Life l) const { return names_.lives[static_cast<std::size_t>(l)]; }
  [[nodiscard]] constexpr std::string_view name(Mark m) const { return names_.marks[static_cast<std::size_t>(m)]; }
  [[nodiscard]] constexpr std::string_view name(Event e) const { return names_.events[static_cast<std::size_t>(e)]; }

 private:
  struct cell {
    std::uint32_t expected = 0;  // checked marks that must be set, plus 1; 0 = there is no row
    std::uint16_t checked = 0;
    std::uint16_t kept = 0;
    std::uint16_t set = 0;
    Life to{};
  };

  [[nodiscard]] constexpr const cell& at(state s, Event e) const {
    return cells_[static_cast<std::size_t>(e)][static_cast<std::size_t>(s.life)];
  }
  [[noreturn, gnu::noinline, gnu::cold]] void impossible(state s, Event e) const {
    std::string text =
        std::string(names_.record) + ": '" + std::string(name(e)) + "' cannot happen in '" + std::string(name(s.life)) + "'";
    for (std::size_t m = 0; m < Marks; ++m) {
      if (s.has(static_cast<Mark>(m))) text += ", " + std::string(names_.marks[m]);
    }
    throw std::logic_error(text);
  }

  names_type names_;
  std::array<row, Rows> rows_;
  std::array<std::array<cell, Lives>, Events> cells_{};
};

template <class Life, class Mark, class Event, std::size_t Lives, std::size_t Marks, std::size_t Events, std::size_t Rows>
constexpr auto make_state_table(const state_names<Lives, Marks, Events>& names,
                                const state_row<Life, Mark, Event> (&rows)[Rows]) {
  return state_table<Life, Mark, Event, Lives, Marks, Events, Rows>(names, std::to_array(rows));
}

}  // namespace hcasim
