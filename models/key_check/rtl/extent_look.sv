// One line of four extents (or of four elements of an indirect region) against an access: found, not there, or where to look
// next. Extents are searched by halves over their lines, as models/protection/extents.h has it; elements have lengths of their
// own and are added up from the first one on. Combinational.
module extent_look (
    input logic [511:0] line,
    input logic element,
    input logic [63:0] va,      // element: bytes between the next element and the VA
    input logic [63:0] length,
    input logic [31:0] count,   // extents in all; element: elements that are left
    input logic [31:0] low,     // extents: lines that may still hold it, counted from the first one
    input logic [31:0] high,
    input logic [31:0] at,      // the line this is
    output logic more,          // another line is wanted
    output logic found,
    output logic [31:0] next_low,
    output logic [31:0] next_high,
    output logic [31:0] next_count,
    output logic [63:0] next_va,
    output hca_pkg::element_t piece
);
  logic [31:0] left_over, used;
  logic [63:0] start, size, offset;
  logic [1:0] last;
  logic done;
  hca_pkg::element_t each;

  always_comb begin
    left_over = element ? count : count - {at[29:0], 2'b00};
    used = left_over < 32'd4 ? left_over : 32'd4;
    more = 1'b0;
    found = 1'b0;
    next_low = low;
    next_high = high;
    next_count = count;
    next_va = va;
    piece = '0;
    each = '0;
    last = 2'd0;
    start = 64'd0;
    size = 64'd0;
    offset = 64'd0;
    done = 1'b0;
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
    end else if (va < line[63:0]) begin
      next_high = at - 32'd1;
      more = at != low;
    end else begin
      // The last extent that starts at or before the VA.
      for (int i = 1; i < 4; i++) begin
        if (!done && 32'(i) < used && line[128*i+:64] <= va) last = 2'(i);
        else done = 1'b1;
      end
      start = line[128*last+:64];
      size = line[128*last+64+:64];
      offset = va - start;
      if (offset < size) begin
        found = length <= size - offset;
      end else begin
        next_low = at + 32'd1;
        more = {30'd0, last} + 32'd1 >= used && at != high;
      end
    end
  end
endmodule
