// A doorbell unit as in an open HCA: writes of UAR pages come through a FIFO. A pulse requests the context of each QP, another
// pulse brings it. Rings leave through a FIFO; an interrupt is a pulse with a pulse as acknowledgement.
module doorbell_fifo #(
    parameter int LOG_DEPTH = 3
) (
    input wire clk,
    input wire rst,
    input wire i_uar_wr_en,
    input wire [39:0] iv_uar_din,  // index, QPN
    output wire o_uar_full,
    output reg o_ctx_req,
    output reg [23:0] ov_ctx_qpn,
    input wire i_ctx_ack,
    input wire [32:0] iv_ctx,      // valid, number of the send queue
    output wire o_ring_empty,
    input wire i_ring_rd_en,
    output reg [47:0] ov_ring_dout,
    output wire o_irq,
    input wire i_irq_ack
);
  localparam int N = 1 << LOG_DEPTH;
  reg [39:0] in_mem[N];
  reg [LOG_DEPTH:0] in_head, in_tail;
  reg [47:0] out_mem[N];
  reg [LOG_DEPTH:0] out_head, out_tail;
  reg asked;
  wire [LOG_DEPTH:0] in_used = in_tail - in_head;
  wire [LOG_DEPTH:0] out_used = out_tail - out_head;
  assign o_uar_full = in_used == (LOG_DEPTH + 1)'(N);
  assign o_ring_empty = out_used == '0;
  wire out_full = out_used == (LOG_DEPTH + 1)'(N);
  wire [39:0] front = in_mem[in_head[LOG_DEPTH-1:0]];
  // One interrupt under way; further ones wait.
  reg irq_out;
  reg [7:0] irq_due;
  wire bad = asked && i_ctx_ack && !iv_ctx[32];
  assign o_irq = irq_due != '0 && !irq_out;

  always @(posedge clk) begin
    o_ctx_req <= 1'b0;
    if (i_uar_wr_en) begin
      in_mem[in_tail[LOG_DEPTH-1:0]] <= iv_uar_din;
      in_tail <= in_tail + 1'b1;
    end
    if (!asked && in_used != '0 && !out_full) begin
      asked <= 1'b1;
      o_ctx_req <= 1'b1;
      ov_ctx_qpn <= front[23:0];
    end
    if (asked && i_ctx_ack) begin
      asked <= 1'b0;
      in_head <= in_head + 1'b1;
      if (iv_ctx[32]) begin
        out_mem[out_tail[LOG_DEPTH-1:0]] <= {iv_ctx[31:0], front[39:24]};
        out_tail <= out_tail + 1'b1;
      end
    end
    if (i_ring_rd_en) begin
      ov_ring_dout <= out_mem[out_head[LOG_DEPTH-1:0]];
      out_head <= out_head + 1'b1;
    end
    irq_due <= irq_due + 8'(bad) - 8'(o_irq);
    if (o_irq) irq_out <= 1'b1;
    else if (i_irq_ack) irq_out <= 1'b0;
    if (rst) begin
      in_head <= '0;
      in_tail <= '0;
      out_head <= '0;
      out_tail <= '0;
      asked <= 1'b0;
      irq_out <= 1'b0;
      irq_due <= '0;
    end
  end
endmodule
