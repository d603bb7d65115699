// One line of a tree of extents (or of four elements of an indirect region) against an access: found, not there, damaged, or
// which line to look at next. A line above the extents holds where its children begin, as models/adapter/protection/extents.h has it;
// elements have lengths of their own and are added up from the first one on. Combinational;
// nothing switches without a request.
module extent_look (
    input logic asked,
    input logic [511:0] line,
    input logic element,
    input logic [63:0] va,      // of an extent, counted from the table's VA; element: bytes between the next element and the VA
    input logic [63:0] length,
    input logic [31:0] count,   // lines from this one to the extent; element: elements that are left
    output logic more,          // another line is wanted
    output logic found,
    output logic damaged,
    output logic [31:0] child,  // the line it is, but for an element
    output logic [31:0] next_count,
    output logic [63:0] next_va,
    output hca_pkg::element_t piece
);
  logic [31:0] used;
  logic [63:0] offset;
  logic [64:0] last_end;  // of the extent before
  logic node;
  hca_pkg::element_t each;
  hca_pkg::extent_t extent;
  hca_pkg::extent_node_t children;
  logic [319:0] starts;
  logic [191:0] lines;

  always_comb begin
    used = count < 32'd4 ? count : 32'd4;
    node = count > 32'd1;
    more = 1'b0;
    found = 1'b0;
    damaged = 1'b0;
    next_count = count;
    next_va = va;
    piece = '0;
    each = '0;
    extent = '0;
    offset = 64'd0;
    last_end = 65'd0;
    children = '0;
    starts = '0;
    lines = '0;
    child = 32'd0;
    if (asked) begin
      children = line;
      starts = children.start;
      lines = children.child;
      child = lines[31:0];
      if (element) begin
        for (int i = 0; i < 4; i++) begin
          each = line[128*i+:128];
          if (!found && 32'(i) < used) begin
            if (next_va < {32'd0, each.length}) begin
              found = 1'b1;
              piece = each;
              piece.va = each.va + next_va;
              piece.length = each.length - next_va[31:0];
            end else begin
              next_va = next_va - {32'd0, each.length};
            end
          end
        end
        next_count = count - used;
        more = !found && next_count != 32'd0;
      end else if (node) begin
        damaged = starts[63:0] == hca_pkg::EXTENT_NONE;
        for (int i = 0; i < 5; i++) begin
          if (starts[64*i+:64] != hca_pkg::EXTENT_NONE) begin
            if (i > 0 && starts[64*i+:64] <= starts[64*(i-1)+:64]) damaged = 1'b1;
            if (starts[64*i+:64] <= va) child = lines[32*(i+1)+:32];
          end
        end
        next_count = count - 32'd1;
        more = !damaged;
      end else begin
        for (int i = 0; i < 4; i++) begin
          extent = line[128*i+:128];
          if (extent.length == 64'd0) begin
            if (i == 0 || extent.start != 64'd0) damaged = 1'b1;
            last_end = '1;  // none follows
          end else begin
            if (i > 0 && {1'b0, extent.start} <= last_end) damaged = 1'b1;
            last_end = {1'b0, extent.start} + {1'b0, extent.length};
            if (last_end[64]) damaged = 1'b1;
          end
          offset = va - extent.start;
          if (offset < extent.length && length <= extent.length - offset) found = 1'b1;
        end
        if (damaged) found = 1'b0;
      end
    end
  end
endmodule
