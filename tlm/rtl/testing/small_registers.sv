// Sixteen registers behind AXI-Lite, whose ports say their direction at the end of their names, and a master that asks for nothing.
/* verilator lint_off UNUSEDSIGNAL */
module small_registers (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic cfg_awvalid_i,
    output logic cfg_awready_o,
    input  logic [5:0] cfg_awaddr_i,
    input  logic [2:0] cfg_awprot_i,
    input  logic cfg_wvalid_i,
    output logic cfg_wready_o,
    input  logic [31:0] cfg_wdata_i,
    input  logic [3:0] cfg_wstrb_i,
    output logic cfg_bvalid_o,
    input  logic cfg_bready_i,
    output logic [1:0] cfg_bresp_o,
    input  logic cfg_arvalid_i,
    output logic cfg_arready_o,
    input  logic [5:0] cfg_araddr_i,
    output logic cfg_rvalid_o,
    input  logic cfg_rready_i,
    output logic [31:0] cfg_rdata_o,
    output logic [1:0] cfg_rresp_o,
    output logic m_arvalid_o,
    input  logic m_arready_i,
    output logic [31:0] m_araddr_o,
    input  logic m_rvalid_i,
    input  logic [31:0] m_rdata_i,
    output logic m_rready_o,
    output logic m_awvalid_o,
    input  logic m_awready_i,
    output logic [31:0] m_awaddr_o,
    output logic m_wvalid_o,
    input  logic m_wready_i,
    output logic [31:0] m_wdata_o,
    input  logic m_bvalid_i,
    output logic m_bready_o
);
  /* verilator lint_on UNUSEDSIGNAL */
  assign {m_arvalid_o, m_araddr_o, m_rready_o, m_awvalid_o, m_awaddr_o, m_wvalid_o, m_wdata_o, m_bready_o} = '0;
  logic [31:0] words[16];
  logic both;
  assign both = cfg_awvalid_i && cfg_wvalid_i && (!cfg_bvalid_o || cfg_bready_i);
  assign cfg_awready_o = both;
  assign cfg_wready_o = both;
  assign cfg_arready_o = !cfg_rvalid_o || cfg_rready_i;
  assign cfg_bresp_o = 2'd0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cfg_bvalid_o <= 1'b0;
      cfg_rvalid_o <= 1'b0;
    end else begin
      cfg_bvalid_o <= both || (cfg_bvalid_o && !cfg_bready_i);
      cfg_rvalid_o <= (cfg_arvalid_i && cfg_arready_o) || (cfg_rvalid_o && !cfg_rready_i);
    end
    if (both) for (int i = 0; i < 4; i++) if (cfg_wstrb_i[i]) words[cfg_awaddr_i[5:2]][8*i+:8] <= cfg_wdata_i[8*i+:8];
    if (cfg_arvalid_i && cfg_arready_o) begin
      cfg_rdata_o <= words[cfg_araddr_i[5:2]];
      cfg_rresp_o <= cfg_araddr_i[5:2] == 4'd15 ? 2'd2 : 2'd0;
    end
  end
endmodule
