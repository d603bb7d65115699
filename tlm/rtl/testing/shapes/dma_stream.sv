// DMA between memory and streams, as in a PCIe adapter. A read descriptor becomes bursts of one id each, whose beats may come
// in any order of ids, and then a frame. A frame with a write descriptor goes to memory, burst by burst. Addresses are aligned
// to 64 bytes.
module dma_stream #(
    parameter int AXI_DATA_WIDTH = 64,
    parameter int AXI_ADDR_WIDTH = 40,
    parameter int AXI_STRB_WIDTH = AXI_DATA_WIDTH / 8,
    parameter int AXI_ID_WIDTH = 2,
    parameter int LEN_WIDTH = 12,
    parameter int TAG_WIDTH = 4
) (
    input wire clk,
    input wire rst,
    input wire [AXI_ADDR_WIDTH-1:0] s_axis_read_desc_addr,
    input wire [LEN_WIDTH-1:0] s_axis_read_desc_len,
    input wire [TAG_WIDTH-1:0] s_axis_read_desc_tag,
    input wire s_axis_read_desc_valid,
    output wire s_axis_read_desc_ready,
    input wire [AXI_ADDR_WIDTH-1:0] s_axis_write_desc_addr,
    input wire [TAG_WIDTH-1:0] s_axis_write_desc_tag,
    input wire s_axis_write_desc_valid,
    output wire s_axis_write_desc_ready,
    output wire [TAG_WIDTH-1:0] m_axis_write_desc_status_tag,
    output wire [LEN_WIDTH-1:0] m_axis_write_desc_status_len,
    output wire m_axis_write_desc_status_valid,
    output wire [AXI_DATA_WIDTH-1:0] m_axis_read_data_tdata,
    output wire [AXI_STRB_WIDTH-1:0] m_axis_read_data_tkeep,
    output wire m_axis_read_data_tvalid,
    input wire m_axis_read_data_tready,
    output wire m_axis_read_data_tlast,
    output wire [TAG_WIDTH-1:0] m_axis_read_data_tid,
    input wire [AXI_DATA_WIDTH-1:0] s_axis_write_data_tdata,
    input wire [AXI_STRB_WIDTH-1:0] s_axis_write_data_tkeep,
    input wire s_axis_write_data_tvalid,
    output wire s_axis_write_data_tready,
    input wire s_axis_write_data_tlast,

    output wire [AXI_ID_WIDTH-1:0] m_axi_awid,
    output wire [AXI_ADDR_WIDTH-1:0] m_axi_awaddr,
    output wire [7:0] m_axi_awlen,
    output wire [2:0] m_axi_awsize,
    output wire [1:0] m_axi_awburst,
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
    output wire m_axi_arvalid,
    input wire m_axi_arready,
    input wire [AXI_ID_WIDTH-1:0] m_axi_rid,
    input wire [AXI_DATA_WIDTH-1:0] m_axi_rdata,
    input wire [1:0] m_axi_rresp,
    input wire m_axi_rlast,
    input wire m_axi_rvalid,
    output wire m_axi_rready
);
  localparam int LANES = $clog2(AXI_STRB_WIDTH);
  localparam int IDS = 1 << AXI_ID_WIDTH;
  localparam int BEATS = 64 / AXI_STRB_WIDTH;
  localparam int B = $clog2(BEATS);

  // Reads: a burst of 64 bytes for each id, in turn; beats are kept until it is their turn to go out.
  reg r_on;
  reg [AXI_ADDR_WIDTH-1:0] r_addr;
  reg [LEN_WIDTH-1:0] r_ask, r_send;  // bytes that are to be asked for, and to go out
  reg [TAG_WIDTH-1:0] r_tag;
  reg [AXI_ID_WIDTH-1:0] r_ask_id, r_send_id;
  reg [IDS-1:0] r_used;
  reg [AXI_DATA_WIDTH-1:0] kept[IDS*BEATS];
  reg [B:0] came[IDS];
  reg [B-1:0] sent;
  assign s_axis_read_desc_ready = !r_on;
  wire [LEN_WIDTH-1:0] r_burst = r_ask > LEN_WIDTH'(64) ? LEN_WIDTH'(64) : r_ask;
  assign m_axi_arvalid = r_on && r_ask != '0 && !r_used[r_ask_id];
  assign m_axi_araddr = r_addr;
  assign m_axi_arlen = 8'((r_burst - 1'b1) >> LANES);
  assign m_axi_arid = r_ask_id;
  assign m_axi_rready = 1'b1;
  assign m_axis_read_data_tvalid = r_on && r_used[r_send_id] && {1'b0, sent} < came[r_send_id];
  assign m_axis_read_data_tdata = kept[{r_send_id, sent}];
  assign m_axis_read_data_tlast = r_send <= LEN_WIDTH'(AXI_STRB_WIDTH);
  assign m_axis_read_data_tkeep = m_axis_read_data_tlast && r_send[LANES-1:0] != '0 ? ~({AXI_STRB_WIDTH{1'b1}} << r_send[LANES-1:0]) : '1;
  assign m_axis_read_data_tid = r_tag;

  // Writes: up to 64 bytes of the frame are kept, then they go out.
  reg w_on, w_full, w_end, w_addressed, w_sent;
  reg [AXI_ADDR_WIDTH-1:0] w_addr;
  reg [LEN_WIDTH-1:0] w_len;
  reg [TAG_WIDTH-1:0] w_tag;
  reg [AXI_DATA_WIDTH-1:0] w_data[BEATS];
  reg [AXI_STRB_WIDTH-1:0] w_strb[BEATS];
  reg [B:0] w_beats;
  reg [B-1:0] w_at;
  reg done;
  function automatic [LEN_WIDTH-1:0] ones(input [AXI_STRB_WIDTH-1:0] keep);
    ones = '0;
    for (int i = 0; i < AXI_STRB_WIDTH; i = i + 1) ones = ones + LEN_WIDTH'(keep[i]);
  endfunction
  assign s_axis_write_desc_ready = !w_on && !done;
  assign s_axis_write_data_tready = w_on && !w_full;
  assign m_axi_awvalid = w_full && !w_addressed;
  assign m_axi_awaddr = w_addr;
  assign m_axi_awlen = 8'(w_beats - 1'b1);
  assign m_axi_awid = '0;
  assign m_axi_wvalid = w_full && !w_sent;
  assign m_axi_wdata = w_data[w_at];
  assign m_axi_wstrb = w_strb[w_at];
  assign m_axi_wlast = {1'b0, w_at} + 1'b1 == w_beats;
  assign m_axi_bready = w_full && w_sent && w_addressed;
  assign m_axis_write_desc_status_valid = done;
  assign m_axis_write_desc_status_tag = w_tag;
  assign m_axis_write_desc_status_len = w_len;
  assign {m_axi_awsize, m_axi_arsize} = {2{3'(LANES)}};
  assign {m_axi_awburst, m_axi_arburst} = 4'b0101;

  always @(posedge clk) begin
    if (s_axis_read_desc_valid && s_axis_read_desc_ready) begin
      r_on <= 1'b1;
      r_addr <= s_axis_read_desc_addr;
      r_ask <= s_axis_read_desc_len;
      r_send <= s_axis_read_desc_len;
      r_tag <= s_axis_read_desc_tag;
      sent <= '0;
    end
    if (m_axi_arvalid && m_axi_arready) begin
      r_used[r_ask_id] <= 1'b1;
      came[r_ask_id] <= '0;
      r_ask_id <= r_ask_id + 1'b1;
      r_ask <= r_ask - r_burst;
      r_addr <= r_addr + AXI_ADDR_WIDTH'(64);
    end
    if (m_axi_rvalid) begin
      kept[{m_axi_rid, came[m_axi_rid][B-1:0]}] <= m_axi_rdata;
      came[m_axi_rid] <= came[m_axi_rid] + 1'b1;
    end
    if (m_axis_read_data_tvalid && m_axis_read_data_tready) begin
      sent <= sent + 1'b1;
      r_send <= r_send - LEN_WIDTH'(AXI_STRB_WIDTH);
      if (sent == '1 || m_axis_read_data_tlast) begin
        r_used[r_send_id] <= 1'b0;
        r_send_id <= r_send_id + 1'b1;
      end
      if (m_axis_read_data_tlast) r_on <= 1'b0;
    end

    done <= 1'b0;
    if (s_axis_write_desc_valid && s_axis_write_desc_ready) begin
      w_on <= 1'b1;
      w_addr <= s_axis_write_desc_addr;
      w_tag <= s_axis_write_desc_tag;
      w_len <= '0;
      w_beats <= '0;
    end
    if (s_axis_write_data_tvalid && s_axis_write_data_tready) begin
      w_data[w_beats[B-1:0]] <= s_axis_write_data_tdata;
      w_strb[w_beats[B-1:0]] <= s_axis_write_data_tkeep;
      w_beats <= w_beats + 1'b1;
      w_len <= w_len + ones(s_axis_write_data_tkeep);
      w_end <= s_axis_write_data_tlast;
      if (s_axis_write_data_tlast || w_beats == (B + 1)'(BEATS - 1)) begin
        w_full <= 1'b1;
        w_addressed <= 1'b0;
        w_sent <= 1'b0;
        w_at <= '0;
      end
    end
    if (m_axi_awvalid && m_axi_awready) w_addressed <= 1'b1;
    if (m_axi_wvalid && m_axi_wready) begin
      w_at <= w_at + 1'b1;
      if (m_axi_wlast) w_sent <= 1'b1;
    end
    if (m_axi_bvalid && m_axi_bready) begin
      w_full <= 1'b0;
      w_beats <= '0;
      w_addr <= w_addr + AXI_ADDR_WIDTH'(64);
      w_on <= !w_end;
      done <= w_end;
    end
    if (rst) begin
      r_on <= 1'b0;
      r_ask_id <= '0;
      r_send_id <= '0;
      r_used <= '0;
      w_on <= 1'b0;
      w_full <= 1'b0;
      done <= 1'b0;
    end
  end
endmodule
