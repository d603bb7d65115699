// A requester by TLPs without logic: beats of requests come in, beats of completions go out, whatever they are.
module tlp_pass #(
    parameter int DATA_BITS = 64,
    localparam int WORDS = DATA_BITS / 32
) (
    /* verilator lint_off UNUSEDSIGNAL */
    input logic clk,
    input logic rst,
    /* verilator lint_on UNUSEDSIGNAL */

    input  logic beat_valid,
    output logic beat_ready,
    input  logic [DATA_BITS+WORDS+129:0] beat_data,
    output logic got_valid,
    input  logic got_ready,
    output logic [DATA_BITS+WORDS+133:0] got_data,

    output logic [DATA_BITS-1:0] tx_req_tlp_data,
    output logic [WORDS-1:0] tx_req_tlp_strb,
    output logic [127:0] tx_req_tlp_hdr,
    output logic tx_req_tlp_valid,
    output logic tx_req_tlp_sop,
    output logic tx_req_tlp_eop,
    input  logic tx_req_tlp_ready,

    input  logic [DATA_BITS-1:0] rx_cpl_tlp_data,
    input  logic [WORDS-1:0] rx_cpl_tlp_strb,
    input  logic [127:0] rx_cpl_tlp_hdr,
    input  logic [3:0] rx_cpl_tlp_error,
    input  logic rx_cpl_tlp_valid,
    input  logic rx_cpl_tlp_sop,
    input  logic rx_cpl_tlp_eop,
    output logic rx_cpl_tlp_ready
);
  assign {tx_req_tlp_eop, tx_req_tlp_sop, tx_req_tlp_hdr, tx_req_tlp_strb, tx_req_tlp_data} = beat_data;
  assign tx_req_tlp_valid = beat_valid;
  assign beat_ready = tx_req_tlp_ready;
  assign got_data = {rx_cpl_tlp_eop, rx_cpl_tlp_sop, rx_cpl_tlp_error, rx_cpl_tlp_hdr, rx_cpl_tlp_strb, rx_cpl_tlp_data};
  assign got_valid = rx_cpl_tlp_valid;
  assign rx_cpl_tlp_ready = got_ready;
endmodule
