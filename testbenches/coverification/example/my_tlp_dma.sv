// A DMA engine of one's own, by TLPs alone: it copies memory by reads and writes that it makes itself, told by registers whose
// reads it completes itself. Read a piece, write it, until all is moved; then a word at `done` says so, which may be memory or
// the window of interrupts.
//
//   0x00 from   0x08 to   0x10 done (0: none); 64 bits each, from and to multiples of 32, done of 4
//   0x18 bytes, a multiple of 32; writing it starts the copy
//   0x1c state: bit 0 busy, bit 1 the last copy met an error
// The word is 1, or 3 after an error.
module my_tlp_dma (
    input logic clk,
    input logic rst,
    input logic [15:0] requester_id,

    // Requests of the host, and their completions.
    input  logic [255:0] rx_req_tlp_data,
    input  logic [127:0] rx_req_tlp_hdr,
    input  logic rx_req_tlp_valid,
    input  logic rx_req_tlp_sop,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic rx_req_tlp_eop,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic rx_req_tlp_ready,
    output logic [255:0] tx_cpl_tlp_data,
    output logic [7:0] tx_cpl_tlp_strb,
    output logic [127:0] tx_cpl_tlp_hdr,
    output logic tx_cpl_tlp_valid,
    output logic tx_cpl_tlp_sop,
    output logic tx_cpl_tlp_eop,
    input  logic tx_cpl_tlp_ready,

    // Its own requests, and their completions.
    output logic [127:0] tx_rd_req_tlp_hdr,
    output logic tx_rd_req_tlp_valid,
    output logic tx_rd_req_tlp_sop,
    output logic tx_rd_req_tlp_eop,
    input  logic tx_rd_req_tlp_ready,
    output logic [255:0] tx_wr_req_tlp_data,
    output logic [7:0] tx_wr_req_tlp_strb,
    output logic [127:0] tx_wr_req_tlp_hdr,
    output logic tx_wr_req_tlp_valid,
    output logic tx_wr_req_tlp_sop,
    output logic tx_wr_req_tlp_eop,
    input  logic tx_wr_req_tlp_ready,
    input  logic [255:0] rx_cpl_tlp_data,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [127:0] rx_cpl_tlp_hdr,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic rx_cpl_tlp_valid,
    input  logic rx_cpl_tlp_sop,
    input  logic rx_cpl_tlp_eop,
    output logic rx_cpl_tlp_ready,

    output logic idle
);
  localparam int BEATS = 4;  // of a piece: no payload limit is below 128 bytes
  typedef enum logic [2:0] {
    IDLE,
    ASK,
    READ,
    WRITE,
    TELL
  } state_t;
  state_t state;
  logic [31:0] registers[7];
  logic [63:0] from, to, done;
  logic [31:0] left;
  logic asked, failed;  // a copy is asked for; the last one failed
  logic [2:0] beats, at;  // of this piece
  logic [255:0] piece[BEATS];
  assign done = {registers[5], registers[4]};

  // ---- requests of the host: a write goes by as it comes, a read waits until its completion can be there
  // Bytes before the first of a word that is enabled.
  function automatic logic [1:0] left_out(input logic [2:0] lowest);
    if (lowest[0]) return 2'd0;
    return lowest[1] ? 2'd1 : lowest[2] ? 2'd2 : 2'd3;
  endfunction

  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] h;
  logic [31:0] address;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [10:0] words;
  logic [2:0] first;
  logic there, is_write, is_read, start;
  assign h = rx_req_tlp_hdr;
  assign address = h[125] ? h[31:0] : h[63:32];  // 4 words or 3
  assign words = {h[105:96] == '0, h[105:96]};
  assign first = address[4:2];
  assign there = address[15:5] == '0 && 12'(words) + 12'(first) <= 12'd8;
  assign rx_req_tlp_ready = !tx_cpl_tlp_valid;
  assign is_write = rx_req_tlp_valid && rx_req_tlp_ready && rx_req_tlp_sop && h[126];
  assign is_read = rx_req_tlp_valid && rx_req_tlp_ready && rx_req_tlp_sop && !h[126];
  assign start = is_write && there && state == IDLE && !asked && first <= 3'd6 && 11'(first) + words > 11'd6;

  logic [3:0] enabled[8];
  always_comb
    for (int i = 0; i < 8; i++) enabled[i] = i == 0 ? h[67:64] : 11'(i + 1) == words ? h[71:68] : 4'hf;

  logic [11:0] count;  // bytes from the first that is enabled to the last
  logic [1:0] below;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [3:0] last_enables;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [255:0] window;
  always_comb begin
    for (int i = 0; i < 7; i++) window[32*i+:32] = registers[i];
    window[255:224] = {30'd0, failed, state != IDLE || asked};
    last_enables = words == 11'd1 ? h[67:64] : h[71:68];
    below = left_out(h[66:64]);
    count = 12'({words, 2'b00}) - 12'(below) - 12'(left_out({last_enables[1], last_enables[2], last_enables[3]}));
    if (h[67:64] == '0) {count, below} = {12'd1, 2'd0};
  end
  assign tx_cpl_tlp_sop = 1'b1;
  assign tx_cpl_tlp_eop = 1'b1;
  always_ff @(posedge clk) begin
    if (rst) begin
      tx_cpl_tlp_valid <= 1'b0;
      asked <= 1'b0;
      for (int i = 0; i < 7; i++) registers[i] <= '0;
    end else begin
      asked <= start;
      if (tx_cpl_tlp_ready) tx_cpl_tlp_valid <= 1'b0;
      // Nothing changes under a copy.
      if (is_write && there && state == IDLE && !asked)
        for (int i = 0; i < 8; i++)
          if (11'(i) < words && 4'(first) + 4'(i) < 4'd7)
            for (int b = 0; b < 4; b++)
              if (enabled[i][b])
                registers[first+3'(i)][8*b+:8] <= rx_req_tlp_data[32*i+8*b+:8];
      if (is_read) begin
        tx_cpl_tlp_valid <= 1'b1;
        tx_cpl_tlp_data <= window >> {first, 5'd0};
        for (int i = 0; i < 8; i++) tx_cpl_tlp_strb[i] <= there && 11'(i) < words;
        // Traffic class, attributes and tag are those of the read; what is not there is an unsupported request.
        tx_cpl_tlp_hdr <= {
          1'b0, there, 6'b001010, h[119:112], 2'b00, h[109:108], 2'b00, there ? h[105:96] : 10'd0,
          requester_id, 2'b00, !there, 1'b0, count,
          h[95:80], h[79:72], 1'b0, address[6:2], below,
          32'd0
        };
      end
    end
  end

  // ---- the copy
  function automatic logic [127:0] request(input logic write, input logic [63:0] where, input logic [9:0] size,
                                           input logic [15:0] id);
    logic long_address;
    long_address = where[63:32] != '0;
    return {
      1'b0, write, long_address, 19'd0, size,
      id, 8'd0, size == 10'd1 ? 8'h0f : 8'hff,
      long_address ? where : {where[31:0], 32'd0}
    };
  endfunction

  // A piece ends where a page of the source or of the target ends.
  logic [31:0] room;
  always_comb begin
    room = 32'(BEATS * 32);
    if (left < room) room = left;
    if (32'd4096 - 32'(from[11:0]) < room) room = 32'd4096 - 32'(from[11:0]);
    if (32'd4096 - 32'(to[11:0]) < room) room = 32'd4096 - 32'(to[11:0]);
  end

  assign tx_rd_req_tlp_valid = state == ASK && beats != '0;
  assign tx_rd_req_tlp_hdr = request(1'b0, from, {4'd0, beats, 3'd0}, requester_id);
  assign tx_rd_req_tlp_sop = 1'b1;
  assign tx_rd_req_tlp_eop = 1'b1;
  assign rx_cpl_tlp_ready = state == READ;
  logic tells, last, refused;
  assign tells = state == TELL && done != '0;
  assign last = at + 3'd1 == beats;
  assign refused = rx_cpl_tlp_sop && rx_cpl_tlp_hdr[79:77] != 3'd0;
  assign tx_wr_req_tlp_valid = state == WRITE || tells;
  assign tx_wr_req_tlp_data = state == TELL ? {224'd0, 30'd0, failed, 1'b1} : piece[at[1:0]];
  assign tx_wr_req_tlp_strb = state == TELL ? 8'h01 : 8'hff;
  assign tx_wr_req_tlp_hdr = state == TELL ? request(1'b1, {done[63:2], 2'b00}, 10'd1, requester_id)
                                           : request(1'b1, to, {4'd0, beats, 3'd0}, requester_id);
  assign tx_wr_req_tlp_sop = state == TELL || at == '0;
  assign tx_wr_req_tlp_eop = state == TELL || last;

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= IDLE;
      failed <= 1'b0;
    end else begin
      case (state)
        IDLE:
        if (asked && registers[6] != '0 && registers[6][4:0] == '0) begin
          from <= {registers[1], registers[0]};
          to <= {registers[3], registers[2]};
          left <= registers[6];
          failed <= registers[0][4:0] != '0 || registers[2][4:0] != '0;
          state <= registers[0][4:0] != '0 || registers[2][4:0] != '0 ? TELL : ASK;
          beats <= '0;
        end
        ASK:
        if (beats == '0) beats <= 3'(room >> 5);
        else if (tx_rd_req_tlp_ready) begin
          state <= READ;
          at <= '0;
        end
        // Completions end where a line of the memory does, and a line is a multiple of a beat.
        READ:
        if (rx_cpl_tlp_valid) begin
          piece[at[1:0]] <= rx_cpl_tlp_data;
          at <= last ? '0 : at + 3'd1;
          if (refused) begin
            failed <= 1'b1;
            state <= TELL;
          end else if (last && rx_cpl_tlp_eop) state <= WRITE;
        end
        WRITE:
        if (tx_wr_req_tlp_ready) begin
          at <= at + 3'd1;
          if (last) begin
            from <= from + 64'({beats, 5'd0});
            to <= to + 64'({beats, 5'd0});
            left <= left - 32'({beats, 5'd0});
            beats <= '0;
            state <= left == 32'({beats, 5'd0}) ? TELL : ASK;
          end
        end
        default: if (done == '0 || tx_wr_req_tlp_ready) state <= IDLE;
      endcase
    end
  end

  assign idle = state == IDLE && !asked && !tx_cpl_tlp_valid;
endmodule
