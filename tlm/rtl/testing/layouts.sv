// Takes a 64-byte line apart with the layouts of hca_pkg. Every field gets a lane of 64 bits, in the order of the C header.
// `which`: 0 mrc_t, 1 extent_t, 2 element_t, 3 doorbell_t, 4 qp_record_t, 5 and 6 constants, 7 extent_node_t.
module layouts (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    output logic in_ready,
    input logic [514:0] in_data,  // which, line
    output logic out_valid,
    input logic out_ready,
    output logic [1151:0] out_data
);
  hca_pkg::mrc_t mrc;
  hca_pkg::extent_t extent;
  hca_pkg::extent_node_t node;
  hca_pkg::element_t element;
  hca_pkg::doorbell_t bell;
  hca_pkg::qp_record_t rec;
  logic [1151:0] lanes;
  assign mrc = in_data[511:0];
  assign extent = in_data[127:0];
  assign node = in_data[511:0];
  assign element = in_data[127:0];
  assign bell = in_data[63:0];
  assign rec = in_data[63:0];
  always_comb begin
    case (in_data[514:512])
      3'd0:
      lanes = {
        64'd0, 32'd0, mrc.extent_count, 32'd0, mrc.extent, mrc.table_va, mrc.table_root, mrc.length, mrc.start, 32'd0, mrc.parent, 32'd0,
        mrc.qpn, 32'd0, mrc.pd, 32'd0, mrc.access, 48'd0, mrc.owner, 56'd0, mrc.flags, 56'd0, mrc.levels, 56'd0, mrc.page_shift,
        56'd0, mrc.key_byte, 56'd0, mrc.state, 56'd0, mrc.kind
      };
      3'd1: lanes = {1024'd0, extent.length, extent.start};
      3'd2: lanes = {960'd0, 32'd0, element.length, 32'd0, element.key, element.va};
      3'd3: lanes = {1024'd0, 32'd0, bell.value, 32'd0, bell.number};
      3'd4: lanes = {1024'd0, 32'd0, rec.rq_pi, 32'd0, rec.sq_pi};
      3'd6:
      lanes = {
        256'd0, hca_pkg::EXTENT_NONE, 32'd0, hca_pkg::EXTENT_LEVELS, 32'd0, hca_pkg::EXTENT_CHILDREN, 61'd0, hca_pkg::GRANTED, 32'd0, hca_pkg::PTE_BITS, 32'd0, hca_pkg::EXTENTS_PER_LINE, 32'd0,
        32'd1 << hca_pkg::MRC_FLAG_ON_DEMAND, 32'd0, 32'd1 << hca_pkg::MRC_FLAG_PRIVILEGED, 56'd0, hca_pkg::MRC_INVALID, 56'd0,
        hca_pkg::MRC_DMABUF, 56'd0, hca_pkg::MRC_DEVICE_MEMORY, 56'd0, hca_pkg::MRC_FAST, 56'd0, hca_pkg::MRC_REGION, 56'd0,
        hca_pkg::MRC_NONE
      };
      3'd7:
      lanes = {
        448'd0, 32'd0, node.child[5], 32'd0, node.child[4], 32'd0, node.child[3], 32'd0, node.child[2], 32'd0, node.child[1], 32'd0, node.child[0],
        node.start[4], node.start[3], node.start[2], node.start[1], node.start[0]
      };
      default:
      lanes = {
        56'd0, hca_pkg::MRC_KINDS, 56'd0, hca_pkg::MRC_INDIRECT, 56'd0, hca_pkg::MRC_WINDOW_2, 56'd0, hca_pkg::MRC_WINDOW_1, 56'd0,
        hca_pkg::MRC_ADDRESS_SPACE, 56'd0, hca_pkg::MRC_NULL, 56'd0, hca_pkg::MRC_PHYSICAL, 56'd0, hca_pkg::MRC_VALID, 56'd0,
        hca_pkg::MRC_FREE, 61'd0, hca_pkg::TABLE_ERROR, 61'd0, hca_pkg::BAD_BOUNDS, 61'd0, hca_pkg::BAD_RIGHTS, 61'd0,
        hca_pkg::BAD_ASSOCIATION, 61'd0, hca_pkg::BAD_STATE, 61'd0, hca_pkg::BAD_KEY, 61'd0, hca_pkg::BAD_INDEX,
        32'd0, 32'd1 << hca_pkg::ACCESS_ZERO_BASED, 32'd0, hca_pkg::QPN_ANY
      };
    endcase
  end
  always_ff @(posedge clk) begin
    if (!rst_n) out_valid <= 1'b0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_data <= lanes;
    end
  end
  assign in_ready = !out_valid || out_ready;
endmodule
