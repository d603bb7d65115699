// Beats of 16 bits to beats of 64, frame by frame: the last one may be short.
module axis_widen #(
    parameter int S_WIDTH = 16,
    parameter int M_WIDTH = 64,
    parameter int ID_WIDTH = 5,
    parameter int USER_WIDTH = 2
) (
    input wire clk,
    input wire rst,
    input wire [S_WIDTH-1:0] s_axis_tdata,
    input wire [S_WIDTH/8-1:0] s_axis_tkeep,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire s_axis_tlast,
    input wire [ID_WIDTH-1:0] s_axis_tid,
    input wire [USER_WIDTH-1:0] s_axis_tuser,
    output reg [M_WIDTH-1:0] m_axis_tdata,
    output reg [M_WIDTH/8-1:0] m_axis_tkeep,
    output reg m_axis_tvalid,
    input wire m_axis_tready,
    output reg m_axis_tlast,
    output reg [ID_WIDTH-1:0] m_axis_tid,
    output reg [USER_WIDTH-1:0] m_axis_tuser
);
  localparam int PARTS = M_WIDTH / S_WIDTH;
  localparam int K = S_WIDTH / 8;
  reg [$clog2(PARTS)-1:0] part;
  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  always @(posedge clk) begin
    if (m_axis_tready) m_axis_tvalid <= 1'b0;
    if (s_axis_tvalid && s_axis_tready) begin
      if (part == '0) m_axis_tkeep <= '0;
      m_axis_tdata[part*S_WIDTH+:S_WIDTH] <= s_axis_tdata;
      m_axis_tkeep[part*K+:K] <= s_axis_tkeep;
      m_axis_tlast <= s_axis_tlast;
      m_axis_tid <= s_axis_tid;
      m_axis_tuser <= s_axis_tuser;
      part <= part + 1'b1;
      if (s_axis_tlast || part == '1) begin
        part <= '0;
        m_axis_tvalid <= 1'b1;
      end
    end
    if (rst) begin
      part <= '0;
      m_axis_tvalid <= 1'b0;
    end
  end
endmodule
