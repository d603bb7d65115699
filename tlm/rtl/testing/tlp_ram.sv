// 64 KiB at `base` that complete requests by TLPs. Reads lie in four slots and are completed in pieces, each of any slot. Reads
// that begin in the last 256 bytes are aborted, reads beyond the memory unsupported.
module tlp_ram #(
    parameter int DATA_BITS = 64,
    localparam int WORDS = DATA_BITS / 32,
    localparam int BYTES = DATA_BITS / 8
) (
    input logic clk,
    input logic rst,
    input logic [15:0] completer_id,
    input logic [63:0] base,
    input logic [12:0] payload,  // bytes of the longest completion
    input logic [7:0] boundary,  // where others than the last of a read end

    input  logic [DATA_BITS-1:0] rx_req_tlp_data,
    input  logic [WORDS-1:0] rx_req_tlp_strb,
    input  logic [127:0] rx_req_tlp_hdr,
    input  logic [2:0] rx_req_tlp_bar_id,
    input  logic [7:0] rx_req_tlp_func_num,
    input  logic rx_req_tlp_valid,
    input  logic rx_req_tlp_sop,
    input  logic rx_req_tlp_eop,
    output logic rx_req_tlp_ready,

    output logic [DATA_BITS-1:0] tx_cpl_tlp_data,
    output logic [WORDS-1:0] tx_cpl_tlp_strb,
    output logic [127:0] tx_cpl_tlp_hdr,
    output logic tx_cpl_tlp_valid,
    output logic tx_cpl_tlp_sop,
    output logic tx_cpl_tlp_eop,
    input  logic tx_cpl_tlp_ready,

    output logic wrong  // a request was not as it must be
);
  typedef struct packed {
    logic waits;
    logic [1:0] status;  // 0 = good, 1: unsupported, 2: aborted
    logic [15:0] requester;
    logic [7:0] tag;
    logic [15:0] at;    // address of the next byte
    logic [12:0] left;  // bytes
  } slot_t;
  logic [7:0] bytes[65536];
  slot_t slots[4];

  // ---- requests
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] h;
  logic [63:0] offset;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [127:0] begun;
  logic [10:0] word, word_now, words;  // words of the payload; word_now: in the lowest lane
  logic is_write, there;
  logic [3:0] first, last;
  logic [1:0] below, above, free;
  logic [12:0] count;
  assign h = rx_req_tlp_sop ? rx_req_tlp_hdr : begun;
  assign is_write = h[126];
  assign words = {h[105:96] == '0, h[105:96]};
  assign first = h[67:64];
  assign last = words == 11'd1 ? first : h[71:68];
  assign offset = (h[125] ? h[63:0] : {32'd0, h[63:32]}) - base;
  assign there = offset[63:16] == '0;
  assign word_now = rx_req_tlp_sop ? '0 : word;
  assign free = !slots[0].waits ? 2'd0 : !slots[1].waits ? 2'd1 : !slots[2].waits ? 2'd2 : 2'd3;
  assign rx_req_tlp_ready = !slots[free].waits;
  always_comb begin
    below = first[0] ? 2'd0 : first[1] ? 2'd1 : first[2] ? 2'd2 : 2'd3;
    above = last[3] ? 2'd0 : last[2] ? 2'd1 : last[1] ? 2'd2 : 2'd3;
    count = {words, 2'b00} - 13'(below) - 13'(above);
  end
  logic wrong_now, ends;
  always_comb begin
    ends = !is_write || word_now + 11'(WORDS) >= words;
    wrong_now = rx_req_tlp_eop != ends;
    for (int l = 0; l < WORDS; l++) wrong_now |= rx_req_tlp_strb[l] != (is_write && word_now + 11'(l) < words);
    if (rx_req_tlp_sop) begin
      wrong_now |= rx_req_tlp_bar_id != 3'd2 || rx_req_tlp_func_num != completer_id[7:0];
      wrong_now |= h[127] || h[124:120] != '0 || h[95:80] != 16'h0100 || (h[125] && h[63:32] == '0);
      wrong_now |= first == '0 || (words == 11'd1) != (h[71:68] == '0);
    end
  end

  // ---- completions: one of any slot
  logic [15:0] choice;
  logic [1:0] looked_at;
  logic busy;
  logic [1:0] of;  // slot
  logic [12:0] piece, beat;
  logic [15:0] start;
  /* verilator lint_off UNUSEDSIGNAL */
  slot_t s, o;
  /* verilator lint_on UNUSEDSIGNAL */
  assign looked_at = choice[1:0];
  assign s = slots[looked_at];
  logic [7:0] in_line;
  assign in_line = s.at[7:0] & (boundary - 8'd1);
  logic [12:0] to_boundary, to_chosen, to_end;
  always_comb begin
    to_boundary = 13'(boundary) - 13'(in_line);
    to_chosen = to_boundary + 13'(choice[4:2]) * 13'(boundary);
    to_end = to_chosen + 13'(s.at[1:0]) > payload ? to_boundary : to_chosen;
    if (s.left < to_end) to_end = s.left;
  end
  assign o = slots[of];
  logic [12:0] whole;  // bytes, with the ones in front of the first in its word
  assign whole = piece + 13'(start[1:0]);
  assign tx_cpl_tlp_valid = busy;
  assign tx_cpl_tlp_sop = beat == '0;
  assign tx_cpl_tlp_eop = o.status != '0 || beat + 13'(BYTES) >= whole;
  always_comb begin
    for (int i = 0; i < BYTES; i++) tx_cpl_tlp_data[8*i+:8] = bytes[{start[15:2], 2'b00}+16'(beat)+16'(i)];
    for (int l = 0; l < WORDS; l++) tx_cpl_tlp_strb[l] = o.status == '0 && beat + 13'(4 * l) < whole;
    tx_cpl_tlp_hdr = {
      1'b0, o.status == '0, 6'b001010, 14'd0, o.status == '0 ? 10'((whole + 13'd3) >> 2) : 10'd0,
      completer_id, o.status[1], 1'b0, o.status[0], 1'b0, o.left[11:0],
      o.requester, o.tag, 1'b0, start[6:0],
      32'd0
    };
  end

  always_ff @(posedge clk) begin
    choice <= {choice[14:0], choice[15] ^ choice[13] ^ choice[12] ^ choice[10]};
    if (rst) begin
      choice <= 16'hace1;
      busy <= 1'b0;
      wrong <= 1'b0;
      for (int i = 0; i < 4; i++) slots[i].waits <= 1'b0;
    end else begin
      if (rx_req_tlp_valid && rx_req_tlp_ready) begin
        wrong <= wrong | wrong_now;
        begun <= h;
        word <= word_now + 11'(WORDS);
        if (is_write) begin
          for (int l = 0; l < WORDS; l++)
            for (int b = 0; b < 4; b++)
              if (there && word_now + 11'(l) < words && (word_now + 11'(l) != '0 || first[b]) && (word_now + 11'(l) + 11'd1 != words || last[b]))
                bytes[offset[15:0]+16'({word_now, 2'b00})+16'(4*l+b)] <= rx_req_tlp_data[32*l+8*b+:8];
        end else begin
          slots[free] <= '{
              waits: 1'b1,
              status: !there ? 2'd1 : offset[15:8] == '1 ? 2'd2 : 2'd0,
              requester: h[95:80],
              tag: h[79:72],
              at: offset[15:0] + 16'(below),
              left: count
          };
        end
      end
      if (!busy && s.waits) begin
        busy <= 1'b1;
        of <= looked_at;
        start <= s.at;
        piece <= to_end;
        beat <= '0;
      end
      if (busy && tx_cpl_tlp_ready) begin
        beat <= beat + 13'(BYTES);
        if (tx_cpl_tlp_eop) begin
          busy <= 1'b0;
          slots[of].at <= o.at + 16'(piece);
          slots[of].left <= o.left - piece;
          slots[of].waits <= o.status == '0 && piece != o.left;
        end
      end
    end
  end
endmodule
