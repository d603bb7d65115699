// A device with registers behind AXI-Lite that copies up to 4 KiB by TLPs: tlp_copy behind six words.
//
//   0x00 from   0x08 to, 64 bits each
//   0x10 bytes; writing it starts the copy
//   0x14 state: bit 0 busy, bits 4:1 what tlp_copy has said of the last copy
module tlp_dma #(
    parameter int LOG_PAYLOAD = 8,
    parameter int LOG_READ = 9,
    parameter int LOG_BOUNDARY = 6
) (
    input logic clk,
    input logic rst,
    input logic [15:0] requester_id,

    input  logic reg_awvalid,
    output logic reg_awready,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [15:0] reg_awaddr,
    /* verilator lint_on UNUSEDSIGNAL */
    input  logic reg_wvalid,
    output logic reg_wready,
    input  logic [31:0] reg_wdata,
    input  logic [3:0] reg_wstrb,
    output logic reg_bvalid,
    input  logic reg_bready,
    output logic [1:0] reg_bresp,
    input  logic reg_arvalid,
    output logic reg_arready,
    /* verilator lint_off UNUSEDSIGNAL */
    input  logic [15:0] reg_araddr,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic reg_rvalid,
    input  logic reg_rready,
    output logic [31:0] reg_rdata,
    output logic [1:0] reg_rresp,

    output logic [127:0] tx_rd_req_tlp_hdr,
    output logic tx_rd_req_tlp_valid,
    output logic tx_rd_req_tlp_sop,
    output logic tx_rd_req_tlp_eop,
    input  logic tx_rd_req_tlp_ready,
    output logic [255:0] tx_wr_req_tlp_data,
    output logic [7:0] tx_wr_req_tlp_strb,
    output logic [127:0] tx_wr_req_tlp_hdr,
    output logic tx_wr_req_tlp_valid,
    output logic tx_wr_req_tlp_sop,
    output logic tx_wr_req_tlp_eop,
    input  logic tx_wr_req_tlp_ready,
    input  logic [255:0] rx_cpl_tlp_data,
    input  logic [7:0] rx_cpl_tlp_strb,
    input  logic [127:0] rx_cpl_tlp_hdr,
    input  logic [3:0] rx_cpl_tlp_error,
    input  logic rx_cpl_tlp_valid,
    input  logic rx_cpl_tlp_sop,
    input  logic rx_cpl_tlp_eop,
    output logic rx_cpl_tlp_ready,

    output logic idle
);
  logic [31:0] words[5];
  logic busy, asked, cmd_ready, done_valid;
  logic [3:0] said, done_data;
  logic take;
  logic [2:0] at;

  assign take = reg_awvalid && reg_wvalid && !reg_bvalid;
  assign reg_awready = take;
  assign reg_wready = take;
  assign reg_bresp = 2'd0;
  assign reg_rresp = 2'd0;
  assign reg_arready = !reg_rvalid;
  assign at = reg_awaddr[4:2];
  assign idle = !busy && !reg_bvalid && !reg_rvalid;

  always_ff @(posedge clk) begin
    if (rst) begin
      busy <= 1'b0;
      asked <= 1'b0;
      said <= '0;
      reg_bvalid <= 1'b0;
      reg_rvalid <= 1'b0;
    end else begin
      if (reg_bready) reg_bvalid <= 1'b0;
      if (reg_rready) reg_rvalid <= 1'b0;
      if (cmd_ready) asked <= 1'b0;
      if (done_valid) begin
        busy <= 1'b0;
        said <= done_data;
      end
      if (take) begin
        reg_bvalid <= 1'b1;
        for (int i = 0; i < 4; i++) if (reg_wstrb[i] && at < 3'd5) words[at][8*i+:8] <= reg_wdata[8*i+:8];
        if (at == 3'd4) {busy, asked} <= 2'b11;
      end
      if (reg_arvalid && reg_arready) begin
        reg_rvalid <= 1'b1;
        reg_rdata <= reg_araddr[4:2] < 3'd5 ? words[reg_araddr[4:2]] : {27'd0, said, busy};
      end
    end
  end

  tlp_copy #(
      .DATA_BITS(256)
  ) copy (
      .cmd_valid(asked),
      .cmd_data({4'(LOG_BOUNDARY), 4'(LOG_READ), 4'(LOG_PAYLOAD), words[4][12:0], words[3], words[2], words[1], words[0]}),
      .done_ready(1'b1),
      .*
  );
endmodule
