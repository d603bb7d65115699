// Decodes a write into a UAR page (models/adapter/doorbell/doorbell_rules.h). Combinational.
module uar_decode #(
    parameter int BLUEFLAME_BLOCKS = 4  // largest WQE that is taken
) (
    input logic [11:0] offset,
    input logic [12:0] bytes,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [127:0] data,  // the first 16 bytes
    /* verilator lint_on UNUSEDSIGNAL */
    output logic is_bell,       // a doorbell
    output logic is_blueflame,  // a write to the start of a BlueFlame buffer
    output logic whole,         // it holds a whole WQE
    output logic plausible,     // at least its QP can be told
    output logic takeable,         // the WQE may be taken
    output logic [1:0] kind,
    output logic [31:0] number,
    output logic [31:0] value,
    output logic [4:0] lines,   // of 64 bytes that were written
    output logic [4:0] blocks   // of the WQE
);
  logic of_qp, in_blueflame, fits;
  always_comb begin
    in_blueflame = offset[11];
    fits = bytes >= 13'd64 && bytes <= 13'd1024;
    is_blueflame = in_blueflame && offset[9:0] == '0 && fits;
    kind = offset[4:3];  // 0, a SEND, at the start of a BlueFlame buffer
    number = in_blueflame ? data[95:64] : data[31:0];
    blocks = data[20:16];
    plausible = number != '0 && number[31:24] == '0;
    of_qp = !kind[1];
    is_bell = bytes == 13'd8 && offset[11:5] == '0 && offset[2:0] == '0 && (!of_qp || plausible);
    value = in_blueflame ? {16'd0, data[47:32] + {8'd0, data[23:16]}} : of_qp ? {16'd0, data[47:32]} : data[63:32];
    whole = plausible && data[23:16] != '0 && data[23:16] <= 8'd16 && bytes >= {2'b00, data[20:16], 6'd0};
    takeable = blocks <= 5'(BLUEFLAME_BLOCKS);
    lines = bytes[10:6] + 5'(bytes[5:0] != '0);
  end
endmodule
