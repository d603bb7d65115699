// Two masters and two slaves behind AXI4, all of each kind in packed vectors. The uppermost bit of an address chooses the slave.
// A slave's channel belongs to one master for one burst; who had it last comes last. The master is the upper bit of the id there.
module axi_crossbar #(
    parameter int S_COUNT = 2,
    parameter int M_COUNT = 2,
    parameter int DATA_WIDTH = 32,
    parameter int ADDR_WIDTH = 16,
    parameter int STRB_WIDTH = DATA_WIDTH / 8,
    parameter int S_ID_WIDTH = 3,
    parameter int M_ID_WIDTH = S_ID_WIDTH + 1
) (
    input wire clk,
    input wire rst,
    input wire [S_COUNT*S_ID_WIDTH-1:0] s_axi_awid,
    input wire [S_COUNT*ADDR_WIDTH-1:0] s_axi_awaddr,
    input wire [S_COUNT*8-1:0] s_axi_awlen,
    input wire [S_COUNT*3-1:0] s_axi_awsize,
    input wire [S_COUNT*2-1:0] s_axi_awburst,
    input wire [S_COUNT-1:0] s_axi_awvalid,
    output reg [S_COUNT-1:0] s_axi_awready,
    input wire [S_COUNT*DATA_WIDTH-1:0] s_axi_wdata,
    input wire [S_COUNT*STRB_WIDTH-1:0] s_axi_wstrb,
    input wire [S_COUNT-1:0] s_axi_wlast,
    input wire [S_COUNT-1:0] s_axi_wvalid,
    output reg [S_COUNT-1:0] s_axi_wready,
    output reg [S_COUNT*S_ID_WIDTH-1:0] s_axi_bid,
    output reg [S_COUNT*2-1:0] s_axi_bresp,
    output reg [S_COUNT-1:0] s_axi_bvalid,
    input wire [S_COUNT-1:0] s_axi_bready,
    input wire [S_COUNT*S_ID_WIDTH-1:0] s_axi_arid,
    input wire [S_COUNT*ADDR_WIDTH-1:0] s_axi_araddr,
    input wire [S_COUNT*8-1:0] s_axi_arlen,
    input wire [S_COUNT*3-1:0] s_axi_arsize,
    input wire [S_COUNT*2-1:0] s_axi_arburst,
    input wire [S_COUNT-1:0] s_axi_arvalid,
    output reg [S_COUNT-1:0] s_axi_arready,
    output reg [S_COUNT*S_ID_WIDTH-1:0] s_axi_rid,
    output reg [S_COUNT*DATA_WIDTH-1:0] s_axi_rdata,
    output reg [S_COUNT*2-1:0] s_axi_rresp,
    output reg [S_COUNT-1:0] s_axi_rlast,
    output reg [S_COUNT-1:0] s_axi_rvalid,
    input wire [S_COUNT-1:0] s_axi_rready,

    output reg [M_COUNT*M_ID_WIDTH-1:0] m_axi_awid,
    output reg [M_COUNT*ADDR_WIDTH-1:0] m_axi_awaddr,
    output reg [M_COUNT*8-1:0] m_axi_awlen,
    output reg [M_COUNT*3-1:0] m_axi_awsize,
    output reg [M_COUNT*2-1:0] m_axi_awburst,
    output reg [M_COUNT-1:0] m_axi_awvalid,
    input wire [M_COUNT-1:0] m_axi_awready,
    output reg [M_COUNT*DATA_WIDTH-1:0] m_axi_wdata,
    output reg [M_COUNT*STRB_WIDTH-1:0] m_axi_wstrb,
    output reg [M_COUNT-1:0] m_axi_wlast,
    output reg [M_COUNT-1:0] m_axi_wvalid,
    input wire [M_COUNT-1:0] m_axi_wready,
    input wire [M_COUNT*M_ID_WIDTH-1:0] m_axi_bid,
    input wire [M_COUNT*2-1:0] m_axi_bresp,
    input wire [M_COUNT-1:0] m_axi_bvalid,
    output reg [M_COUNT-1:0] m_axi_bready,
    output reg [M_COUNT*M_ID_WIDTH-1:0] m_axi_arid,
    output reg [M_COUNT*ADDR_WIDTH-1:0] m_axi_araddr,
    output reg [M_COUNT*8-1:0] m_axi_arlen,
    output reg [M_COUNT*3-1:0] m_axi_arsize,
    output reg [M_COUNT*2-1:0] m_axi_arburst,
    output reg [M_COUNT-1:0] m_axi_arvalid,
    input wire [M_COUNT-1:0] m_axi_arready,
    input wire [M_COUNT*M_ID_WIDTH-1:0] m_axi_rid,
    input wire [M_COUNT*DATA_WIDTH-1:0] m_axi_rdata,
    input wire [M_COUNT*2-1:0] m_axi_rresp,
    input wire [M_COUNT-1:0] m_axi_rlast,
    input wire [M_COUNT-1:0] m_axi_rvalid,
    output reg [M_COUNT-1:0] m_axi_rready
);
  // Each slave: its master (if there is one), and whether the address and the data have passed.
  reg [M_COUNT-1:0] w_on, w_of, w_addressed, w_sent, r_on, r_of, r_addressed;
  // Each master: one write and one read at a time.
  reg [S_COUNT-1:0] writing, reading;

  wire [S_COUNT-1:0] w_to, r_to;
  for (genvar i = 0; i < S_COUNT; i = i + 1) begin : g_to
    assign w_to[i] = s_axi_awaddr[i*ADDR_WIDTH+ADDR_WIDTH-1];
    assign r_to[i] = s_axi_araddr[i*ADDR_WIDTH+ADDR_WIDTH-1];
  end

  always @* begin
    s_axi_awready = '0;
    s_axi_wready = '0;
    s_axi_bid = '0;
    s_axi_bresp = '0;
    s_axi_bvalid = '0;
    s_axi_arready = '0;
    s_axi_rid = '0;
    s_axi_rdata = '0;
    s_axi_rresp = '0;
    s_axi_rlast = '0;
    s_axi_rvalid = '0;
    m_axi_awid = '0;
    m_axi_awaddr = '0;
    m_axi_awlen = '0;
    m_axi_awsize = '0;
    m_axi_awburst = '0;
    m_axi_awvalid = '0;
    m_axi_wdata = '0;
    m_axi_wstrb = '0;
    m_axi_wlast = '0;
    m_axi_wvalid = '0;
    m_axi_bready = '0;
    m_axi_arid = '0;
    m_axi_araddr = '0;
    m_axi_arlen = '0;
    m_axi_arsize = '0;
    m_axi_arburst = '0;
    m_axi_arvalid = '0;
    m_axi_rready = '0;
    for (int m = 0; m < M_COUNT; m = m + 1) begin
      for (int s = 0; s < S_COUNT; s = s + 1) begin
        if (w_on[m] && w_of[m] == 1'(s)) begin
          if (!w_addressed[m]) begin
            m_axi_awvalid[m] = s_axi_awvalid[s];
            m_axi_awid[m*M_ID_WIDTH+:M_ID_WIDTH] = {1'(s), s_axi_awid[s*S_ID_WIDTH+:S_ID_WIDTH]};
            m_axi_awaddr[m*ADDR_WIDTH+:ADDR_WIDTH] = {1'b0, s_axi_awaddr[s*ADDR_WIDTH+:ADDR_WIDTH-1]};
            m_axi_awlen[m*8+:8] = s_axi_awlen[s*8+:8];
            m_axi_awsize[m*3+:3] = s_axi_awsize[s*3+:3];
            m_axi_awburst[m*2+:2] = s_axi_awburst[s*2+:2];
            s_axi_awready[s] = m_axi_awready[m];
          end
          if (!w_sent[m]) begin
            m_axi_wvalid[m] = s_axi_wvalid[s];
            m_axi_wdata[m*DATA_WIDTH+:DATA_WIDTH] = s_axi_wdata[s*DATA_WIDTH+:DATA_WIDTH];
            m_axi_wstrb[m*STRB_WIDTH+:STRB_WIDTH] = s_axi_wstrb[s*STRB_WIDTH+:STRB_WIDTH];
            m_axi_wlast[m] = s_axi_wlast[s];
            s_axi_wready[s] = m_axi_wready[m];
          end
          s_axi_bvalid[s] = m_axi_bvalid[m];
          s_axi_bid[s*S_ID_WIDTH+:S_ID_WIDTH] = m_axi_bid[m*M_ID_WIDTH+:S_ID_WIDTH];
          s_axi_bresp[s*2+:2] = m_axi_bresp[m*2+:2];
          m_axi_bready[m] = s_axi_bready[s];
        end
        if (r_on[m] && r_of[m] == 1'(s)) begin
          if (!r_addressed[m]) begin
            m_axi_arvalid[m] = s_axi_arvalid[s];
            m_axi_arid[m*M_ID_WIDTH+:M_ID_WIDTH] = {1'(s), s_axi_arid[s*S_ID_WIDTH+:S_ID_WIDTH]};
            m_axi_araddr[m*ADDR_WIDTH+:ADDR_WIDTH] = {1'b0, s_axi_araddr[s*ADDR_WIDTH+:ADDR_WIDTH-1]};
            m_axi_arlen[m*8+:8] = s_axi_arlen[s*8+:8];
            m_axi_arsize[m*3+:3] = s_axi_arsize[s*3+:3];
            m_axi_arburst[m*2+:2] = s_axi_arburst[s*2+:2];
            s_axi_arready[s] = m_axi_arready[m];
          end
          s_axi_rvalid[s] = m_axi_rvalid[m];
          s_axi_rid[s*S_ID_WIDTH+:S_ID_WIDTH] = m_axi_rid[m*M_ID_WIDTH+:S_ID_WIDTH];
          s_axi_rdata[s*DATA_WIDTH+:DATA_WIDTH] = m_axi_rdata[m*DATA_WIDTH+:DATA_WIDTH];
          s_axi_rresp[s*2+:2] = m_axi_rresp[m*2+:2];
          s_axi_rlast[s] = m_axi_rlast[m];
          m_axi_rready[m] = s_axi_rready[s];
        end
      end
    end
  end

  // The one that begins: the other one than last time, if both ask.
  reg [S_COUNT-1:0] w_asks, r_asks;
  reg w_first, r_first;
  always @(posedge clk) begin
    for (int m = 0; m < M_COUNT; m = m + 1) begin
      for (int s = 0; s < S_COUNT; s = s + 1) begin
        w_asks[s] = s_axi_awvalid[s] && w_to[s] == 1'(m) && !writing[s];
        r_asks[s] = s_axi_arvalid[s] && r_to[s] == 1'(m) && !reading[s];
      end
      w_first = !w_of[m];
      r_first = !r_of[m];
      if (!w_on[m]) begin
        if (|w_asks) begin
          w_on[m] <= 1'b1;
          w_of[m] <= w_asks[w_first] ? w_first : !w_first;
          writing[w_asks[w_first] ? w_first : !w_first] <= 1'b1;
          w_addressed[m] <= 1'b0;
          w_sent[m] <= 1'b0;
        end
      end else begin
        if (m_axi_awvalid[m] && m_axi_awready[m]) w_addressed[m] <= 1'b1;
        if (m_axi_wvalid[m] && m_axi_wready[m] && m_axi_wlast[m]) w_sent[m] <= 1'b1;
        if (m_axi_bvalid[m] && m_axi_bready[m]) begin
          w_on[m] <= 1'b0;
          writing[w_of[m]] <= 1'b0;
        end
      end
      if (!r_on[m]) begin
        if (|r_asks) begin
          r_on[m] <= 1'b1;
          r_of[m] <= r_asks[r_first] ? r_first : !r_first;
          reading[r_asks[r_first] ? r_first : !r_first] <= 1'b1;
          r_addressed[m] <= 1'b0;
        end
      end else begin
        if (m_axi_arvalid[m] && m_axi_arready[m]) r_addressed[m] <= 1'b1;
        if (m_axi_rvalid[m] && m_axi_rready[m] && m_axi_rlast[m]) begin
          r_on[m] <= 1'b0;
          reading[r_of[m]] <= 1'b0;
        end
      end
    end
    if (rst) begin
      w_on <= '0;
      r_on <= '0;
      writing <= '0;
      reading <= '0;
      w_of <= '0;
      r_of <= '0;
    end
  end
endmodule
