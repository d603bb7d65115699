// A requester by TLPs that copies up to 4 KiB: reads with a tag each, every completion put into its place and checked, then
// writes. Reads and writes have streams of their own, those of reads no data.
module tlp_copy #(
    parameter int DATA_BITS = 64,
    localparam int WORDS = DATA_BITS / 32,
    localparam int BYTES = DATA_BITS / 8
) (
    input logic clk,
    input logic rst,
    input logic [15:0] requester_id,

    input  logic cmd_valid,
    output logic cmd_ready,
    input  logic [152:0] cmd_data,  // completion boundary, largest read, largest payload (as powers of 2), bytes, to, from
    output logic done_valid,
    input  logic done_ready,
    output logic [3:0] done_data,  // bit 3: a wrong completion; the status of an unsuccessful one

    output logic [127:0] tx_rd_req_tlp_hdr,
    output logic tx_rd_req_tlp_valid,
    output logic tx_rd_req_tlp_sop,
    output logic tx_rd_req_tlp_eop,
    input  logic tx_rd_req_tlp_ready,

    output logic [DATA_BITS-1:0] tx_wr_req_tlp_data,
    output logic [WORDS-1:0] tx_wr_req_tlp_strb,
    output logic [127:0] tx_wr_req_tlp_hdr,
    output logic tx_wr_req_tlp_valid,
    output logic tx_wr_req_tlp_sop,
    output logic tx_wr_req_tlp_eop,
    input  logic tx_wr_req_tlp_ready,

    input  logic [DATA_BITS-1:0] rx_cpl_tlp_data,
    input  logic [WORDS-1:0] rx_cpl_tlp_strb,
    input  logic [127:0] rx_cpl_tlp_hdr,
    input  logic [3:0] rx_cpl_tlp_error,
    input  logic rx_cpl_tlp_valid,
    input  logic rx_cpl_tlp_sop,
    input  logic rx_cpl_tlp_eop,
    output logic rx_cpl_tlp_ready
);
  typedef enum logic [1:0] {
    IDLE,
    READ,
    WRITE,
    DONE
  } state_t;
  state_t state;
  logic [63:0] from, to;
  logic [12:0] total, asked, arrived, written;
  logic [3:0] log_payload, log_read, log_boundary, status;
  logic wrong;
  logic [7:0] next_tag;
  logic [7:0] buffer[4096];

  // Each tag: where its bytes go, and the missing bytes.
  logic [11:0] place_of[64];
  logic [12:0] left_of[64];
  logic [6:0] lower_of[64];

  // The next request: the remaining bytes, up to the limit, not beyond 4 KiB. Limits are in words, so bytes below the first
  // word of the address count.
  function automatic [12:0] piece(input logic [11:0] at, input logic [12:0] left, input logic [3:0] log_limit);
    logic [12:0] most, room;
    most = (13'd1 << log_limit) - 13'(at[1:0]);
    room = 13'd4096 - 13'(at);
    if (room < most) most = room;
    return left < most ? left : most;
  endfunction

  function automatic [127:0] request(input logic write, input logic [63:0] at, input logic [12:0] bytes, input logic [7:0] tag,
                                     input logic [15:0] id);
    logic [12:0] ends;
    logic [9:0] words;
    logic [3:0] first, last;
    logic long_address;
    ends = bytes + 13'(at[1:0]);
    words = 10'((ends + 13'd3) >> 2);  // 1024 is 0
    first = 4'hf << at[1:0];
    last = 4'hf >> (2'd0 - ends[1:0]);
    if (ends <= 13'd4) begin
      first &= last;
      last = '0;
    end
    long_address = at[63:32] != '0;
    return {
      1'b0, write, long_address, 19'd0, words, id, tag, last, first, long_address ? at : {at[31:0], 32'd0}
    } & ~(long_address ? 128'd3 : 128'd3 << 32);
  endfunction

  logic [63:0] read_at, write_at;
  logic [12:0] read_bytes, write_bytes;
  assign read_at = from + 64'(asked);
  assign read_bytes = piece(read_at[11:0], total - asked, log_read);
  assign tx_rd_req_tlp_valid = state == READ && asked != total;
  assign tx_rd_req_tlp_sop = 1'b1;
  assign tx_rd_req_tlp_eop = 1'b1;
  assign tx_rd_req_tlp_hdr = request(1'b0, read_at, read_bytes, next_tag, requester_id);

  // Completions.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [127:0] c;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [5:0] tag, tag_now;
  logic [12:0] chunk, chunk_left, chunk_now;
  logic [11:0] put_at, put_now;
  logic [1:0] skip;
  assign c = rx_cpl_tlp_hdr;
  assign rx_cpl_tlp_ready = 1'b1;
  assign tag_now = rx_cpl_tlp_sop ? c[45:40] : tag;
  assign skip = rx_cpl_tlp_sop ? c[33:32] : 2'd0;
  logic [12:0] count, payload;
  assign count = {c[75:64] == '0, c[75:64]};
  assign payload = 13'({c[105:96] == '0, c[105:96], 2'b00});
  assign chunk = count < payload - 13'(c[33:32]) ? count : payload - 13'(c[33:32]);
  assign chunk_now = rx_cpl_tlp_sop ? chunk : chunk_left;
  assign put_now = rx_cpl_tlp_sop ? place_of[tag_now] : put_at;
  logic [12:0] here;  // bytes of this beat
  assign here = chunk_now < 13'(BYTES) - 13'(skip) ? chunk_now : 13'(BYTES) - 13'(skip);
  logic [12:0] ends_at;
  assign ends_at = 13'(c[38:32]) + chunk;
  logic wrong_now;
  always_comb begin
    wrong_now = rx_cpl_tlp_sop ? c[63:48] != requester_id || count != left_of[tag_now] || c[38:32] != lower_of[tag_now] ||
        (payload > (13'd1 << log_payload)) || (chunk != count && (ends_at & ((13'd1 << log_boundary) - 13'd1)) != '0) : 1'b0;
    if (rx_cpl_tlp_sop && c[127:120] != 8'b010_01010) wrong_now = 1'b1;
    wrong_now |= (here == chunk_now) != rx_cpl_tlp_eop || rx_cpl_tlp_error != '0;
    for (int w = 0; w < WORDS; w++) wrong_now |= rx_cpl_tlp_strb[w] != (13'(4 * w) < here + 13'(skip));
  end
  logic failed_now;
  assign failed_now = rx_cpl_tlp_sop && c[79:77] != 3'd0;

  // Writes: `sent` bytes of the TLP are out; the first beat also counts the bytes in front of them in its first word.
  logic [12:0] sent, out_here;
  logic [1:0] out_skip;
  assign write_at = to + 64'(written);
  assign write_bytes = piece(write_at[11:0], total - written, log_payload);
  assign out_skip = sent == '0 ? write_at[1:0] : 2'd0;
  assign out_here = write_bytes - sent < 13'(BYTES) - 13'(out_skip) ? write_bytes - sent : 13'(BYTES) - 13'(out_skip);
  assign tx_wr_req_tlp_valid = state == WRITE;
  assign tx_wr_req_tlp_sop = sent == '0;
  assign tx_wr_req_tlp_eop = sent + out_here == write_bytes;
  assign tx_wr_req_tlp_hdr = sent == '0 ? request(1'b1, write_at, write_bytes, 8'd0, requester_id) : '1;
  always_comb begin
    tx_wr_req_tlp_data = '1;
    for (int i = 0; i < BYTES; i++)
      if (13'(i) >= 13'(out_skip) && 13'(i) < 13'(out_skip) + out_here)
        tx_wr_req_tlp_data[8*i+:8] = buffer[12'(written+sent+13'(i)-13'(out_skip))];
    for (int w = 0; w < WORDS; w++) tx_wr_req_tlp_strb[w] = 13'(4 * w) < out_here + 13'(out_skip);
  end

  assign cmd_ready = state == IDLE;
  assign done_valid = state == DONE;
  assign done_data = status | {wrong, 3'd0};

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= IDLE;
      next_tag <= '0;
    end else begin
      case (state)
        IDLE:
        if (cmd_valid) begin
          {log_boundary, log_read, log_payload} <= cmd_data[152:141];
          {total, to, from} <= cmd_data[140:0];
          {asked, arrived, written, sent, status, wrong} <= '0;
          state <= READ;
        end
        READ: begin
          if (tx_rd_req_tlp_valid && tx_rd_req_tlp_ready) begin
            place_of[next_tag[5:0]] <= asked[11:0];
            left_of[next_tag[5:0]] <= read_bytes;
            lower_of[next_tag[5:0]] <= read_at[6:0];
            asked <= asked + read_bytes;
            next_tag <= {2'd0, next_tag[5:0] + 6'd1};
          end
          if (rx_cpl_tlp_valid) begin
            tag <= tag_now;
            if (failed_now) begin
              status <= 4'(c[79:77]);
              arrived <= arrived + left_of[tag_now];
              wrong <= wrong | rx_cpl_tlp_error != 4'd2 | !rx_cpl_tlp_eop | c[126];
            end else begin
              for (int i = 0; i < BYTES; i++)
                if (13'(i) >= 13'(skip) && 13'(i) < 13'(skip) + here)
                  buffer[12'(put_now+12'(i)-12'(skip))] <= rx_cpl_tlp_data[8*i+:8];
              put_at <= put_now + 12'(here);
              chunk_left <= chunk_now - here;
              place_of[tag_now] <= put_now + 12'(here);
              left_of[tag_now] <= left_of[tag_now] - here;
              lower_of[tag_now] <= lower_of[tag_now] + 7'(here);
              arrived <= arrived + here;
              wrong <= wrong | wrong_now;
            end
          end
          if (arrived == total) state <= status == '0 ? WRITE : DONE;
        end
        WRITE:
        if (tx_wr_req_tlp_ready) begin
          sent <= sent + out_here;
          if (tx_wr_req_tlp_eop) begin
            sent <= '0;
            written <= written + write_bytes;
            if (written + write_bytes == total) state <= DONE;
          end
        end
        default: if (done_ready) state <= IDLE;
      endcase
    end
  end
endmodule
