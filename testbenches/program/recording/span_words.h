// Words for the slices of each protocol: the slice's name, the unit whose track shows the slice, and two numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tlm/context.h"
#include "tlm/dma.h"
#include "tlm/packet.h"
#include "tlm/protection.h"
#include "tlm/translate.h"
#include "tlm/window.h"
#include "tlm/work.h"
#include "tlm/wqe.h"

namespace hcasim {

// A kind's number indexes `names`. The units by socket are the ones beside the sender ("hca" or the node).
template <class P>
struct span_words;

template <>
struct span_words<dma_request> {
  static constexpr std::string_view a = "address";
  static constexpr std::string_view b = "bytes";
  static std::string target(std::string_view socket) { return socket == "local" ? "device_memory" : "dma_engine"; }
  static unsigned kind(const dma_request& r) { return static_cast<unsigned>(r.source) * 4 + static_cast<unsigned>(r.op); }
  static std::string name(unsigned kind) {
    constexpr std::array<std::string_view, 4> ops{"read", "write", "compare_swap", "fetch_add"};
    return std::string(dma_source_names[kind / 4]) + " " + std::string(ops[kind % 4]);
  }
  static constexpr unsigned kinds = dma_sources * 4;
  static std::uint64_t number(const dma_request& r) { return r.address; }
  static std::uint64_t size(const dma_request& r) { return r.bytes; }
};

template <>
struct span_words<context_request> {
  static constexpr std::string_view a = "index";
  static constexpr std::string_view b{};
  static std::string target(std::string_view socket) { return std::string(socket) + "_cache"; }
  static unsigned kind(const context_request& r) { return static_cast<unsigned>(r.op); }
  static std::string name(unsigned kind) { return context_op_names.at(kind); }
  static constexpr unsigned kinds = context_op_names.size();
  static std::uint64_t number(const context_request& r) { return r.index; }
  static std::uint64_t size(const context_request&) { return 0; }
};

template <>
struct span_words<key_request> {
  static constexpr std::string_view a = "key";
  static constexpr std::string_view b = "bytes";
  static std::string target(std::string_view) { return "key_check"; }
  static unsigned kind(const key_request& r) { return static_cast<unsigned>(r.op) * 2 + (r.remote ? 1U : 0U); }
  static std::string name(unsigned kind) {
    return std::array{"check L_Key", "check R_Key", "piece of a list", "piece of a list", "drain", "drain"}[kind];
  }
  static constexpr unsigned kinds = 6;
  static std::uint64_t number(const key_request& r) { return r.key; }
  static std::uint64_t size(const key_request& r) { return r.length; }
};

template <>
struct span_words<translate_request> {
  static constexpr std::string_view a = "va";
  static constexpr std::string_view b = "bytes";
  static std::string target(std::string_view) { return "page_walker"; }
  static unsigned kind(const translate_request& r) { return static_cast<unsigned>(r.op); }
  static std::string name(unsigned kind) { return std::array{"translate", "drop"}[kind]; }
  static constexpr unsigned kinds = 2;
  static std::uint64_t number(const translate_request& r) { return r.va; }
  static std::uint64_t size(const translate_request& r) { return r.length; }
};

template <>
struct span_words<work_request> {
  static constexpr std::string_view a = "qpn";
  static constexpr std::string_view b = "block";
  static std::string target(std::string_view) { return "requester"; }
  static unsigned kind(const work_request& r) { return r.control().opcode % kinds; }
  static std::string name(unsigned kind) {
    return kind < wqe_opcode_names.size() ? wqe_opcode_names[kind] : "opcode " + std::to_string(kind);
  }
  static constexpr unsigned kinds = 64;
  static std::uint64_t number(const work_request& r) { return r.qpn; }
  static std::uint64_t size(const work_request& r) { return r.index; }
};

template <>
struct span_words<report> {
  static constexpr std::string_view a = "cqn";
  static constexpr std::string_view b{};
  static std::string target(std::string_view) { return "completion"; }
  static unsigned kind(const report& r) { return r.event ? 1 : 0; }
  static std::string name(unsigned kind) { return std::array{"CQE", "EQE"}[kind]; }
  static constexpr unsigned kinds = 2;
  static std::uint64_t number(const report& r) { return r.cqn; }
  static std::uint64_t size(const report&) { return 0; }
};

template <>
struct span_words<doorbell_ring> {
  static constexpr std::string_view a = "number";
  static constexpr std::string_view b = "value";
  static std::string target(std::string_view socket) {
    return socket == "send" ? "send_queue" : socket == "receive" ? "responder" : "completion";
  }
  static unsigned kind(const doorbell_ring& r) { return static_cast<unsigned>(r.kind); }
  static std::string name(unsigned kind) {
    return std::array{"SQ doorbell", "RQ doorbell", "CQ doorbell", "EQ doorbell"}[kind];
  }
  static constexpr unsigned kinds = 4;
  static std::uint64_t number(const doorbell_ring& r) { return r.number; }
  static std::uint64_t size(const doorbell_ring& r) { return r.value; }
};

template <>
struct span_words<packet> {
  static constexpr std::string_view egress = "egress";  // and egress_2
  static constexpr std::string_view a = "dest_qpn";
  static constexpr std::string_view b = "psn";
  static std::string target(std::string_view socket) {
    if (socket.starts_with(egress)) return socket == egress ? "port" : "port2";
    return socket == "link_out" ? "wire" : std::string(socket);
  }
  static unsigned kind(const packet& p) { return p.header.opcode; }
  static std::string name(unsigned kind);
  static constexpr unsigned kinds = 256;
  static std::uint64_t number(const packet& p) { return p.header.dest_qpn; }
  static std::uint64_t size(const packet& p) { return p.header.psn; }
};

template <>
struct span_words<window_request> {
  static constexpr std::string_view a{};
  static constexpr std::string_view b{};
  static std::string target(std::string_view) { return "window_unit"; }
  static unsigned kind(const window_request&) { return 0; }
  static std::string name(unsigned) { return "change"; }
  static constexpr unsigned kinds = 1;
  static std::uint64_t number(const window_request&) { return 0; }
  static std::uint64_t size(const window_request&) { return 0; }
};

// Returns "RC WRITE_ONLY" of a BTH opcode.
// The names of transports, by the upper three bits of a packet's opcode.
inline constexpr std::array<std::string_view, 8> transport_names{"RC", "UC", "RD", "UD", "CNP", "XRC", "?", "?"};
std::string packet_name(unsigned opcode);

inline std::string span_words<packet>::name(unsigned kind) {
  return packet_name(kind);
}

}  // namespace hcasim
