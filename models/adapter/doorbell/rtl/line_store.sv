// The lines of BlueFlame WQEs between their write and the doorbell that carries them: taken in the order of the writes, kept or
// thrown away as the write was judged, and sent on or skipped, a WQE at a time, in the same order.
module line_store #(
    parameter int LINES = 512,  // a power of two, as many as are kept at most
    parameter int WRITES = 16,  // whose lines have not all come, and WQEs whose lines have not all left
    localparam int AW = $clog2(LINES),
    localparam int WB = $clog2(WRITES)
) (
    input logic clk,
    input logic rst_n,
    output logic room,  // another write may come
    input logic expect_valid,
    input logic [4:0] expect_lines,
    input logic [4:0] expect_kept,  // the first ones are kept
    output logic [15:0] expected,   // kept lines that were expected so far, with this write
    output logic [15:0] stored,     // kept lines that have come so far

    input  logic line_valid,
    output logic line_ready,
    input  logic [511:0] line_data,

    // The oldest WQE leaves.
    output logic leave_ready,
    input  logic leave_valid,
    input  logic [4:0] leave_blocks,
    input  logic leave_sends,

    output logic out_valid,
    input  logic out_ready,
    output logic [511:0] out_data,
    output logic busy
);
  logic [511:0] lines[LINES];
  logic [15:0] promised, arrived, sent;

  // ---- writes whose lines are on their way
  logic [4:0] w_lines[WRITES];
  logic [4:0] w_kept[WRITES];
  logic [WB-1:0] w_head, w_tail;
  logic [WB:0] w_count;
  logic [4:0] seen;
  logic taken, keeps, w_done;
  assign taken = line_valid && line_ready;
  assign line_ready = w_count != '0;
  assign keeps = seen < w_kept[w_head];
  assign w_done = taken && seen + 5'd1 == w_lines[w_head];
  assign room = w_count < (WB + 1)'(WRITES);
  assign expected = promised + {11'd0, expect_kept};
  assign stored = arrived;

  // ---- WQEs that leave
  logic [4:0] l_left[WRITES];
  logic l_sends[WRITES];
  logic [WB-1:0] l_head, l_tail;
  logic [WB:0] l_count;
  logic l_any, l_done, goes;
  logic [4:0] gone;
  assign leave_ready = l_count < (WB + 1)'(WRITES);
  assign l_any = l_count != '0;
  assign out_valid = l_any && l_sends[l_head];
  assign out_data = lines[sent[AW-1:0]];
  assign goes = out_valid && out_ready;
  assign l_done = l_any && (l_sends[l_head] ? goes && gone + 5'd1 == l_left[l_head] : 1'b1);
  assign busy = l_any;

  function automatic [WB-1:0] following(input [WB-1:0] at);
    following = at == WB'(WRITES - 1) ? '0 : at + 1'b1;
  endfunction

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      promised <= '0;
      arrived <= '0;
      sent <= '0;
      w_head <= '0;
      w_tail <= '0;
      w_count <= '0;
      seen <= '0;
      l_head <= '0;
      l_tail <= '0;
      l_count <= '0;
      gone <= '0;
    end else begin
      if (expect_valid) begin
        promised <= expected;
        w_lines[w_tail] <= expect_lines;
        w_kept[w_tail] <= expect_kept;
        w_tail <= following(w_tail);
      end
      w_count <= w_count + (WB + 1)'(expect_valid) - (WB + 1)'(w_done);
      if (taken) begin
        seen <= w_done ? '0 : seen + 5'd1;
        if (w_done) w_head <= following(w_head);
        if (keeps) arrived <= arrived + 16'd1;
      end
      if (leave_valid) begin
        l_left[l_tail] <= leave_blocks;
        l_sends[l_tail] <= leave_sends;
        l_tail <= following(l_tail);
      end
      l_count <= l_count + (WB + 1)'(leave_valid) - (WB + 1)'(l_done);
      if (l_any && !l_sends[l_head]) sent <= sent + {11'd0, l_left[l_head]};
      else if (goes) sent <= sent + 16'd1;
      if (goes) gone <= l_done ? '0 : gone + 5'd1;
      if (l_done) l_head <= following(l_head);
    end
  end
  always_ff @(posedge clk) begin
    lines[arrived[AW-1:0]] <= line_data;  // what is not kept is written over by what is
  end

`ifdef VERILATOR
  a_room : assert property (@(posedge clk) disable iff (!rst_n) arrived - sent <= 16'(LINES));
`endif
endmodule
