// A FIFO as many libraries have it: wr_en and full, rd_en and empty, data a cycle after rd_en or, with FIRST_WORD, at once.
// A write into a full one or a read of an empty one spoils all that follows.
`include "depth.svh"
module foreign_fifo #(
    parameter int BITS = 8,
    parameter bit FIRST_WORD = 0
) (
    input logic clk,
    input logic rst,
    input logic wr_en,
    output logic full,
    input logic [BITS-1:0] din,
    input logic rd_en,
    output logic empty,
    output logic [BITS-1:0] dout
);
  logic [BITS-1:0] words[`FOREIGN_DEPTH];
  logic [`FOREIGN_LOG_DEPTH:0] head, tail, count;
  logic spoilt;
  logic [BITS-1:0] last;
  assign count = tail - head;
  assign full = count == `FOREIGN_DEPTH;
  assign empty = tail == head;
  assign dout = spoilt ? '1 : FIRST_WORD ? words[head[`FOREIGN_LOG_DEPTH-1:0]] : last;
  always_ff @(posedge clk) begin
    if (rst) begin
      head <= 0;
      tail <= 0;
      spoilt <= 0;
    end else begin
      if ((wr_en && full) || (rd_en && empty)) spoilt <= 1;
      if (wr_en) begin
        words[tail[`FOREIGN_LOG_DEPTH-1:0]] <= din;
        tail <= tail + 1;
      end
      if (rd_en) begin
        last <= words[head[`FOREIGN_LOG_DEPTH-1:0]];
        head <= head + 1;
      end
    end
  end
endmodule
