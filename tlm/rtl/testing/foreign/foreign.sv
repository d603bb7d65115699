// RTL in the style of other projects: FIFOs, lanes in slices of packed vectors, an input sampled in reset, two resets, a
// register never read.
module foreign (
    input logic ck,
    input logic rst,
    input logic cfg_rst_n,
    input logic [7:0] cfg,  // bits 5 to 2: added to items in the lanes

    input logic wr_en,
    output logic full,
    input logic [11:0] din,
    input logic rd_en,
    output logic empty,
    output logic [11:0] dout,

    input logic [1:0] s_valid,
    output logic [1:0] s_ready,
    input logic [15:0] s_data,
    output logic [1:0] m_empty,
    input logic [1:0] m_rd,
    output logic [15:0] m_data
);
  foreign_fifo #(
      .BITS(12)
  ) u_fifo (
      .clk(ck),
      .*
  );

  logic [3:0] added;
  logic unread;
  always_ff @(posedge ck) if (!cfg_rst_n) added <= cfg[5:2];
  always_ff @(posedge ck) unread <= cfg[0];

  logic [1:0] lane_full;
  assign s_ready = ~lane_full;
  for (genvar i = 0; i < 2; i++) begin : g_lanes
    foreign_fifo #(
        .BITS(8),
        .FIRST_WORD(1)
    ) u_lane (
        .clk(ck),
        .rst(rst),
        .wr_en(s_valid[i] && !lane_full[i]),
        .full(lane_full[i]),
        .din(s_data[8*i+:8] + {4'd0, added}),
        .rd_en(m_rd[i]),
        .empty(m_empty[i]),
        .dout(m_data[8*i+:8])
    );
  end
endmodule
