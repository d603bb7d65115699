// May this access use this memory region context? The rules of models/adapter/protection/judge.h, in their order; the first that does
// not hold is the verdict. Combinational; nothing switches without a request.
module key_judge (
    input logic asked,
    input logic window_2b,  // type 2 windows are tied to the QP's PD as well
    input logic [23:0] index,  // of the MRC
    input hca_pkg::mrc_t mrc,
    /* verilator lint_off UNUSEDSIGNAL */
    input hca_pkg::access_t access,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [2:0] verdict,
    output logic needs_extents,
    output hca_pkg::translation_t map,
    output logic [63:0] va_offset
);
  logic is_window, zero_based, privileged_key, tableless;
  logic index_valid, key_matches, state_valid, associated, permitted, in_bounds, table_sane, tree_sane;
  logic [63:0] base;

  always_comb begin
    verdict = hca_pkg::BAD_INDEX;
    needs_extents = 1'b0;
    map = '0;
    va_offset = 64'd0;
    base = 64'd0;
    associated = 1'b0;
    {is_window, zero_based, privileged_key, tableless, index_valid, key_matches} = '0;
    {state_valid, permitted, in_bounds, table_sane, tree_sane} = '0;
    if (asked) begin
      is_window = mrc.kind == hca_pkg::MRC_WINDOW_1 || mrc.kind == hca_pkg::MRC_WINDOW_2;
      zero_based = is_window && mrc.access[hca_pkg::ACCESS_ZERO_BASED];
      privileged_key = mrc.flags[hca_pkg::MRC_FLAG_PRIVILEGED];
      tableless = mrc.kind == hca_pkg::MRC_PHYSICAL || mrc.kind == hca_pkg::MRC_NULL || mrc.kind == hca_pkg::MRC_INDIRECT;

      index_valid = access.key[31:8] != 24'd0 && mrc.kind != hca_pkg::MRC_NONE && mrc.kind < hca_pkg::MRC_KINDS &&
                    mrc.state != hca_pkg::MRC_INVALID;
      key_matches = mrc.key_byte == access.key[7:0];
      state_valid = mrc.state == hca_pkg::MRC_VALID;

      if (mrc.owner == access.owner) begin
        if (privileged_key) associated = access.privileged;
        else if (mrc.kind == hca_pkg::MRC_WINDOW_2)
          associated = mrc.qpn == access.qpn && mrc.extent == access.generation && (!window_2b || mrc.pd == access.pd);
        else if (mrc.kind == hca_pkg::MRC_ADDRESS_SPACE)
          associated = mrc.pd == access.pd && (mrc.qpn == hca_pkg::QPN_ANY || mrc.qpn == access.qpn);
        else associated = access.pd == mrc.pd;
      end

      permitted = (access.rights & ~mrc.access) == 32'd0;
      if (access.remote && (privileged_key || access.rights == 32'd0)) permitted = 1'b0;
      if (!access.remote && is_window) permitted = 1'b0;

      base = zero_based ? 64'd0 : mrc.start;
      in_bounds = access.va >= base && access.length <= mrc.length && access.va - base <= mrc.length - access.length;

      tree_sane = mrc.kind != hca_pkg::MRC_ADDRESS_SPACE || mrc.extent_count <= hca_pkg::EXTENT_LEVELS;
      table_sane = tableless || ((mrc.page_shift == 8'd12 || mrc.page_shift == 8'd16 || mrc.page_shift == 8'd21 ||
                                  mrc.page_shift == 8'd30) && mrc.levels >= 8'd1 && mrc.levels <= 8'd4);

      verdict = hca_pkg::GRANTED;
      if (!index_valid) verdict = hca_pkg::BAD_INDEX;
      else if (!key_matches) verdict = hca_pkg::BAD_KEY;
      else if (!state_valid) verdict = hca_pkg::BAD_STATE;
      else if (!associated) verdict = hca_pkg::BAD_ASSOCIATION;
      else if (!permitted) verdict = hca_pkg::BAD_RIGHTS;
      else if (!in_bounds) verdict = hca_pkg::BAD_BOUNDS;
      else if (!table_sane || !tree_sane) verdict = hca_pkg::TABLE_ERROR;

      needs_extents = mrc.kind == hca_pkg::MRC_ADDRESS_SPACE && mrc.extent_count != 32'd0;

      map.index = {8'd0, is_window ? mrc.parent[31:8] : index};
      map.null_region = mrc.kind == hca_pkg::MRC_NULL;
      map.indirect = mrc.kind == hca_pkg::MRC_INDIRECT;
      map.on_demand = mrc.flags[hca_pkg::MRC_FLAG_ON_DEMAND];
      map.levels = tableless ? 8'd0 : mrc.levels;
      map.page_shift = mrc.page_shift;
      map.table_root = mrc.table_root;
      map.table_va = mrc.table_va;
      va_offset = zero_based ? mrc.start : 64'd0;
    end
  end
endmodule
