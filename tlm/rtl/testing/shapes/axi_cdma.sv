// A DMA engine that copies within memory behind one AXI4 master, by descriptors; addresses are aligned to the bus, lengths are
// in bytes. A burst is read, then written.
module axi_cdma #(
    parameter int AXI_DATA_WIDTH = 64,
    parameter int AXI_ADDR_WIDTH = 32,
    parameter int AXI_STRB_WIDTH = AXI_DATA_WIDTH / 8,
    parameter int AXI_ID_WIDTH = 8,
    parameter int MAX_BURST = 16,
    parameter int LEN_WIDTH = 16,
    parameter int TAG_WIDTH = 8
) (
    input wire clk,
    input wire rst,
    input wire [AXI_ADDR_WIDTH-1:0] s_axis_desc_read_addr,
    input wire [AXI_ADDR_WIDTH-1:0] s_axis_desc_write_addr,
    input wire [LEN_WIDTH-1:0] s_axis_desc_len,
    input wire [TAG_WIDTH-1:0] s_axis_desc_tag,
    input wire s_axis_desc_valid,
    output wire s_axis_desc_ready,
    output wire [TAG_WIDTH-1:0] m_axis_desc_status_tag,
    output wire [3:0] m_axis_desc_status_error,
    output wire m_axis_desc_status_valid,

    output wire [AXI_ID_WIDTH-1:0] m_axi_awid,
    output wire [AXI_ADDR_WIDTH-1:0] m_axi_awaddr,
    output wire [7:0] m_axi_awlen,
    output wire [2:0] m_axi_awsize,
    output wire [1:0] m_axi_awburst,
    output wire m_axi_awlock,
    output wire [3:0] m_axi_awcache,
    output wire [2:0] m_axi_awprot,
    output wire m_axi_awvalid,
    input wire m_axi_awready,
    output wire [AXI_DATA_WIDTH-1:0] m_axi_wdata,
    output wire [AXI_STRB_WIDTH-1:0] m_axi_wstrb,
    output wire m_axi_wlast,
    output wire m_axi_wvalid,
    input wire m_axi_wready,
    input wire [AXI_ID_WIDTH-1:0] m_axi_bid,
    input wire [1:0] m_axi_bresp,
    input wire m_axi_bvalid,
    output wire m_axi_bready,
    output wire [AXI_ID_WIDTH-1:0] m_axi_arid,
    output wire [AXI_ADDR_WIDTH-1:0] m_axi_araddr,
    output wire [7:0] m_axi_arlen,
    output wire [2:0] m_axi_arsize,
    output wire [1:0] m_axi_arburst,
    output wire m_axi_arlock,
    output wire [3:0] m_axi_arcache,
    output wire [2:0] m_axi_arprot,
    output wire m_axi_arvalid,
    input wire m_axi_arready,
    input wire [AXI_ID_WIDTH-1:0] m_axi_rid,
    input wire [AXI_DATA_WIDTH-1:0] m_axi_rdata,
    input wire [1:0] m_axi_rresp,
    input wire m_axi_rlast,
    input wire m_axi_rvalid,
    output wire m_axi_rready,

    input wire enable
);
  localparam int LANES = $clog2(AXI_STRB_WIDTH);
  localparam [2:0] IDLE = 3'd0, ASK = 3'd1, READ = 3'd2, ADDRESS = 3'd3, WRITE = 3'd4, ANSWER = 3'd5, DONE = 3'd6;
  reg [2:0] state;
  reg [AXI_ADDR_WIDTH-1:0] from, to;
  reg [LEN_WIDTH-1:0] left;  // bytes
  reg [TAG_WIDTH-1:0] tag;
  reg [3:0] error;
  reg [AXI_DATA_WIDTH-1:0] buffer[MAX_BURST];
  reg [7:0] at;

  // Beats of this burst: the least of the remaining ones, the longest burst, and the ends of the pages.
  wire [LEN_WIDTH:0] beats_left = ({1'b0, left} + (LEN_WIDTH + 1)'(AXI_STRB_WIDTH - 1)) >> LANES;
  wire [12:0] page_from = (13'd4096 - {1'b0, from[11:0]}) >> LANES;
  wire [12:0] page_to = (13'd4096 - {1'b0, to[11:0]}) >> LANES;
  reg [12:0] beats;
  always @* begin
    beats = 13'(MAX_BURST);
    if (beats_left < (LEN_WIDTH + 1)'(beats)) beats = 13'(beats_left);
    if (page_from < beats) beats = page_from;
    if (page_to < beats) beats = page_to;
  end
  wire [LEN_WIDTH-1:0] bytes = LEN_WIDTH'(beats) << LANES;
  wire last_of_all = bytes >= left;
  wire [LANES-1:0] rest = left[LANES-1:0];

  assign s_axis_desc_ready = state == IDLE && enable;
  assign m_axis_desc_status_valid = state == DONE;
  assign m_axis_desc_status_tag = tag;
  assign m_axis_desc_status_error = error;
  assign m_axi_arvalid = state == ASK;
  assign m_axi_araddr = from;
  assign m_axi_arlen = 8'(beats - 13'd1);
  assign m_axi_rready = state == READ;
  assign m_axi_awvalid = state == ADDRESS;
  assign m_axi_awaddr = to;
  assign m_axi_awlen = 8'(beats - 13'd1);
  assign m_axi_wvalid = state == WRITE;
  assign m_axi_wdata = buffer[at[$clog2(MAX_BURST)-1:0]];
  assign m_axi_wlast = 13'(at) + 13'd1 == beats;
  assign m_axi_wstrb = m_axi_wlast && last_of_all && rest != '0 ? ~({AXI_STRB_WIDTH{1'b1}} << rest) : '1;
  assign m_axi_bready = state == ANSWER;
  assign {m_axi_awid, m_axi_arid} = '0;
  assign {m_axi_awsize, m_axi_arsize} = {2{3'(LANES)}};
  assign {m_axi_awburst, m_axi_arburst} = 4'b0101;
  assign {m_axi_awlock, m_axi_arlock} = '0;
  assign {m_axi_awcache, m_axi_arcache} = 8'h33;
  assign {m_axi_awprot, m_axi_arprot} = 6'o22;

  always @(posedge clk) begin
    case (state)
      IDLE:
      if (s_axis_desc_valid && s_axis_desc_ready) begin
        from <= s_axis_desc_read_addr;
        to <= s_axis_desc_write_addr;
        left <= s_axis_desc_len;
        tag <= s_axis_desc_tag;
        error <= '0;
        state <= s_axis_desc_len == '0 ? DONE : ASK;
      end
      ASK:
      if (m_axi_arready) begin
        state <= READ;
        at <= 8'd0;
      end
      READ:
      if (m_axi_rvalid) begin
        buffer[at[$clog2(MAX_BURST)-1:0]] <= m_axi_rdata;
        at <= at + 8'd1;
        if (m_axi_rresp[1]) error <= {2'd1, m_axi_rresp};
        if (m_axi_rlast) state <= ADDRESS;
      end
      ADDRESS: begin
        at <= 8'd0;
        if (m_axi_awready) state <= WRITE;
      end
      WRITE:
      if (m_axi_wready) begin
        at <= at + 8'd1;
        if (m_axi_wlast) state <= ANSWER;
      end
      ANSWER:
      if (m_axi_bvalid) begin
        if (m_axi_bresp[1]) error <= {2'd2, m_axi_bresp};
        from <= from + AXI_ADDR_WIDTH'(bytes);
        to <= to + AXI_ADDR_WIDTH'(bytes);
        left <= left - bytes;
        state <= last_of_all ? DONE : ASK;
      end
      default: state <= IDLE;
    endcase
    if (rst) state <= IDLE;
  end
endmodule
