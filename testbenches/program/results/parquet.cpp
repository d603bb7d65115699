#include "testbenches/program/results/parquet.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace hcasim {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view magic = "PAR1";

template <class T>
void put_little_endian(std::string& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof value);
}

void put_varint(std::string& to, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) to += static_cast<char>(v | 0x80);
  to += static_cast<char>(v);
}

// A structure in the compact protocol of Apache Thrift. Numbers of fields rise.
class thrift_struct {
 public:
  void integer(int field, std::int32_t value) { number(field, i32, value); }
  void long_integer(int field, std::int64_t value) { number(field, i64, value); }
  void text(int field, std::string_view value) {
    header(field, binary);
    put_text(value);
  }
  void structure(int field, thrift_struct value) {
    header(field, struct_);
    bytes_ += std::move(value).end();
  }
  void list(int field, std::vector<thrift_struct> values) {
    list_header(field, struct_, values.size());
    for (thrift_struct& v : values) bytes_ += std::move(v).end();
  }
  void list(int field, const std::vector<std::int32_t>& values) {
    list_header(field, i32, values.size());
    for (const std::int32_t v : values) put_signed(v);
  }
  void list(int field, const std::vector<std::string>& values) {
    list_header(field, binary, values.size());
    for (const std::string& v : values) put_text(v);
  }
  [[nodiscard]] std::string end() && { return std::move(bytes_) + '\0'; }

 private:
  enum type : unsigned { i32 = 5, i64 = 6, binary = 8, list_ = 9, struct_ = 12 };

  void header(int field, type t) {
    bytes_ += static_cast<char>(static_cast<unsigned>(field - last_) << 4 | t);  // numbers differ by less than 16
    last_ = field;
  }
  void list_header(int field, type of, std::size_t n) {
    header(field, list_);
    bytes_ += static_cast<char>(std::min<std::size_t>(n, 15) << 4 | of);
    if (n >= 15) put_varint(bytes_, n);
  }
  void number(int field, type t, std::int64_t value) {
    header(field, t);
    put_signed(value);
  }
  void put_text(std::string_view value) {
    put_varint(bytes_, value.size());
    bytes_ += value;
  }
  void put_signed(std::int64_t v) {
    put_varint(bytes_, static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63));
  }

  std::string bytes_;
  int last_ = 0;
};

enum column_type : std::int32_t { int64 = 2, double_ = 5, byte_array = 6 };

struct parquet_column {
  std::string name;
  column_type type = int64;
  std::int64_t at = 0;  // of its page in the file
  std::int64_t bytes = 0;
};

column_type type_of(const ordered_json& rows, std::size_t i) {
  column_type t = int64;
  for (const ordered_json& row : rows) {
    const ordered_json& v = row[i];
    if (v.is_null() || v.is_number_integer()) continue;
    if (!v.is_number()) return byte_array;
    t = double_;
  }
  return t;
}

enum encoding : std::int32_t { plain = 0, run_length = 3 };

// The rows of one page: a bit for each, 1 = there is a value, and the values.
class parquet_page {
 public:
  static constexpr std::size_t most_bytes = 1 << 20;  // of values, after which the next page begins

  void add(const ordered_json& v, column_type type) {
    if (rows_ % 8 == 0) bits_ += '\0';
    if (!v.is_null()) {
      bits_.back() = static_cast<char>(bits_.back() | 1 << rows_ % 8);
      put(v, type);
    }
    ++rows_;
  }
  [[nodiscard]] bool full() const { return values_.size() >= most_bytes; }
  // Returns header and content, and begins anew.
  [[nodiscard]] std::string take() {
    std::string run;  // of bit-packed groups of eight
    put_varint(run, bits_.size() << 1 | 1);
    run += bits_;
    std::string content;
    put_little_endian(content, static_cast<std::uint32_t>(run.size()));
    content += run + values_;
    std::string whole = header(content.size()) + content;
    *this = parquet_page();
    return whole;
  }

 private:
  void put(const ordered_json& v, column_type type) {
    if (type == int64) return put_little_endian(values_, v.get<std::int64_t>());
    if (type == double_) return put_little_endian(values_, v.get<double>());
    const std::string text = v.is_string() ? v.get<std::string>() : v.dump();
    put_little_endian(values_, static_cast<std::uint32_t>(text.size()));
    values_ += text;
  }
  [[nodiscard]] std::string header(std::size_t bytes) const {
    thrift_struct data;
    data.integer(1, static_cast<std::int32_t>(rows_));
    data.integer(2, plain);
    data.integer(3, run_length);
    data.integer(4, run_length);
    thrift_struct all;
    all.integer(1, 0);  // a page of data
    all.integer(2, static_cast<std::int32_t>(bytes));
    all.integer(3, static_cast<std::int32_t>(bytes));
    all.structure(5, std::move(data));
    return std::move(all).end();
  }

  std::size_t rows_ = 0;
  std::string bits_;
  std::string values_;
};

thrift_struct schema_of(const parquet_column& c) {
  thrift_struct s;
  s.integer(1, c.type);
  s.integer(3, 1);  // optional
  s.text(4, c.name);
  if (c.type == byte_array) s.integer(6, 0);  // UTF-8
  return s;
}

thrift_struct chunk_of(const parquet_column& c, std::size_t rows) {
  thrift_struct about;
  about.integer(1, c.type);
  about.list(2, std::vector<std::int32_t>{plain, run_length});
  about.list(3, std::vector<std::string>{c.name});
  about.integer(4, 0);  // not compressed
  about.long_integer(5, static_cast<std::int64_t>(rows));
  about.long_integer(6, c.bytes);
  about.long_integer(7, c.bytes);
  about.long_integer(9, c.at);
  thrift_struct chunk;
  chunk.long_integer(2, c.at);
  chunk.structure(3, std::move(about));
  return chunk;
}

std::string footer(const std::vector<parquet_column>& columns, std::size_t rows) {
  thrift_struct root;
  root.text(4, "results");
  root.integer(5, static_cast<std::int32_t>(columns.size()));
  std::vector<thrift_struct> schema{std::move(root)};
  std::vector<thrift_struct> chunks;
  std::int64_t bytes = 0;
  for (const parquet_column& c : columns) {
    schema.push_back(schema_of(c));
    chunks.push_back(chunk_of(c, rows));
    bytes += c.bytes;
  }
  thrift_struct group;
  group.list(1, std::move(chunks));
  group.long_integer(2, bytes);
  group.long_integer(3, static_cast<std::int64_t>(rows));
  std::vector<thrift_struct> groups;
  if (rows != 0) groups.push_back(std::move(group));
  thrift_struct file;
  file.integer(1, 1);  // version
  file.list(2, std::move(schema));
  file.long_integer(3, static_cast<std::int64_t>(rows));
  file.list(4, std::move(groups));
  file.text(6, "hcasim");
  return std::move(file).end();
}

}  // namespace

std::string parquet_file(const std::vector<std::string>& names, const ordered_json& rows) {
  std::string file(magic);
  std::vector<parquet_column> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    parquet_column& c =
        columns.emplace_back(parquet_column{names[i], type_of(rows, i), static_cast<std::int64_t>(file.size()), 0});
    parquet_page next;
    std::size_t row_number = 0;
    for (const ordered_json& row : rows) {
      next.add(row[i], c.type);
      if (++row_number == rows.size() || next.full()) file += next.take();
    }
    c.bytes = static_cast<std::int64_t>(file.size()) - c.at;
  }
  const std::string end = footer(columns, rows.size());
  file += end;
  put_little_endian(file, static_cast<std::uint32_t>(end.size()));
  return file.append(magic);
}

}  // namespace hcasim
