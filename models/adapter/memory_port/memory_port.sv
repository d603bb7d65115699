// A unit's way to memory, of up to 64 bytes at once. What is asked goes on in its order, one a cycle; no more than WINDOW writes are
// under way, and a read waits for those before it: what software sees of a completion queue and of its record fits together.
//
//   req      tag, write, bytes, address, data; a tag is in use until it is answered
//   mem      the same, to memory
//   mem_rsp  tag, failed, data; in any order
//   rsp      the same, in the cycle it comes
module memory_port #(
    parameter int TAG_BITS = 5,
    parameter int WINDOW = 16,
    localparam int BITS = TAG_BITS + 584
) (
    input logic clk,
    input logic rst_n,

    input  logic req_valid,
    output logic req_ready,
    input  logic [BITS-1:0] req_data,  // tag, write, bytes, address, data

    output logic mem_valid,
    input  logic mem_ready,
    output logic [BITS-1:0] mem_data,
    input  logic mem_rsp_valid,
    output logic mem_rsp_ready,
    input  logic [TAG_BITS+512:0] mem_rsp_data,  // tag, failed, data

    output logic rsp_valid,
    input  logic rsp_ready,
    output logic [TAG_BITS+512:0] rsp_data,

    output logic idle
);
  localparam int TAGS = 1 << TAG_BITS;
  localparam int WB = $clog2(WINDOW + 1);

  // ---- what waits, oldest first; there is room for every tag
  logic [BITS-1:0] items[TAGS];
  logic [TAG_BITS-1:0] head, tail;
  logic [TAG_BITS:0] waiting;
  logic [TAGS-1:0] is_write;
  logic [WB-1:0] writes_out;
  logic put, take, answer, head_writes, written;
  logic [TAG_BITS-1:0] head_tag, answer_tag;
  assign head_tag = mem_data[BITS-1-:TAG_BITS];
  assign head_writes = mem_data[BITS-1-TAG_BITS];
  assign answer_tag = mem_rsp_data[TAG_BITS+512-:TAG_BITS];

  assign req_ready = waiting != (TAG_BITS + 1)'(TAGS);
  assign put = req_valid && req_ready;
  assign mem_data = items[head];
  assign mem_valid = waiting != '0 && (head_writes ? writes_out != WB'(WINDOW) : writes_out == '0);
  assign take = mem_valid && mem_ready;
  assign rsp_valid = mem_rsp_valid;
  assign rsp_data = mem_rsp_data;
  assign mem_rsp_ready = rsp_ready;
  assign answer = mem_rsp_valid && rsp_ready;
  assign written = answer && is_write[answer_tag];

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      head <= '0;
      tail <= '0;
      waiting <= '0;
      writes_out <= '0;
      is_write <= '0;
    end else begin
      if (put) tail <= tail + 1'b1;
      if (take) begin
        head <= head + 1'b1;
        is_write[head_tag] <= head_writes;
      end
      waiting <= waiting + (TAG_BITS + 1)'(put) - (TAG_BITS + 1)'(take);
      writes_out <= writes_out + WB'(take && head_writes) - WB'(written);
    end
  end
  always_ff @(posedge clk) begin
    if (put) items[tail] <= req_data;
  end

  // A blocked request waits for an answer.
  assign idle = !mem_valid;

`ifdef VERILATOR
  a_window : assert property (@(posedge clk) disable iff (!rst_n) written |-> writes_out != '0);
`endif
endmodule
