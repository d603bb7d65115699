// A FIFO between two clocks: pointers in Gray code through two registers each way. Written with wr_en unless full, read with
// rd_en unless empty; the data is there in the cycle after.
module fifo_async #(
    parameter int WIDTH = 24,
    parameter int LOG_DEPTH = 4
) (
    input wire wr_clk,
    input wire wr_rst,
    input wire wr_en,
    input wire [WIDTH-1:0] din,
    output wire full,
    input wire rd_clk,
    input wire rd_rst,
    input wire rd_en,
    output reg [WIDTH-1:0] dout,
    output wire empty,
    output wire [LOG_DEPTH:0] wr_count
);
  reg [WIDTH-1:0] mem[1 << LOG_DEPTH];
  reg [LOG_DEPTH:0] wr_at, rd_at, wr_gray, rd_gray;
  reg [LOG_DEPTH:0] rd_seen_0, rd_seen_1, wr_seen_0, wr_seen_1;
  wire [LOG_DEPTH:0] wr_next = wr_at + 1'b1;
  wire [LOG_DEPTH:0] rd_next = rd_at + 1'b1;
  assign full = wr_gray == {~rd_seen_1[LOG_DEPTH:LOG_DEPTH-1], rd_seen_1[LOG_DEPTH-2:0]};
  assign empty = rd_gray == wr_seen_1;

  function automatic [LOG_DEPTH:0] binary(input [LOG_DEPTH:0] gray);
    for (int i = 0; i <= LOG_DEPTH; i = i + 1) binary[i] = ^(gray >> i);
  endfunction
  assign wr_count = wr_at - binary(rd_seen_1);

  always @(posedge wr_clk or posedge wr_rst) begin
    if (wr_rst) begin
      wr_at <= '0;
      wr_gray <= '0;
      rd_seen_0 <= '0;
      rd_seen_1 <= '0;
    end else begin
      rd_seen_0 <= rd_gray;
      rd_seen_1 <= rd_seen_0;
      if (wr_en) begin
        wr_at <= wr_next;
        wr_gray <= wr_next ^ (wr_next >> 1);
      end
    end
  end
  always @(posedge wr_clk) if (wr_en) mem[wr_at[LOG_DEPTH-1:0]] <= din;
  always @(posedge rd_clk or posedge rd_rst) begin
    if (rd_rst) begin
      rd_at <= '0;
      rd_gray <= '0;
      wr_seen_0 <= '0;
      wr_seen_1 <= '0;
    end else begin
      wr_seen_0 <= wr_gray;
      wr_seen_1 <= wr_seen_0;
      if (rd_en) begin
        rd_at <= rd_next;
        rd_gray <= rd_next ^ (rd_next >> 1);
      end
    end
  end
  always @(posedge rd_clk) if (rd_en) dout <= mem[rd_at[LOG_DEPTH-1:0]];
endmodule
