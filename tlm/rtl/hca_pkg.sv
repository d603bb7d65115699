// The layouts of firmware/abi, the verdicts of tlm/verdict.h and the items of the units' streams. Structures are packed with
// the first field of the C header in the lowest bits. Bit 8 * i is bit 0 of byte i of the little-endian original. A test
// compares every field of the layouts with the C headers.
package hca_pkg;
  /* verilator lint_off UNUSEDPARAM */

  // firmware/abi/mrc.h
  localparam logic [7:0] MRC_NONE = 8'd0;
  localparam logic [7:0] MRC_REGION = 8'd1;
  localparam logic [7:0] MRC_PHYSICAL = 8'd2;
  localparam logic [7:0] MRC_FAST = 8'd3;
  localparam logic [7:0] MRC_NULL = 8'd4;
  localparam logic [7:0] MRC_DEVICE_MEMORY = 8'd5;
  localparam logic [7:0] MRC_DMABUF = 8'd6;
  localparam logic [7:0] MRC_ADDRESS_SPACE = 8'd7;
  localparam logic [7:0] MRC_WINDOW_1 = 8'd8;
  localparam logic [7:0] MRC_WINDOW_2 = 8'd9;
  localparam logic [7:0] MRC_INDIRECT = 8'd10;
  localparam logic [7:0] MRC_KINDS = 8'd11;
  localparam logic [7:0] MRC_INVALID = 8'd0;
  localparam logic [7:0] MRC_FREE = 8'd1;
  localparam logic [7:0] MRC_VALID = 8'd2;
  localparam int MRC_FLAG_PRIVILEGED = 1;
  localparam int MRC_FLAG_ON_DEMAND = 2;
  localparam int ACCESS_ZERO_BASED = 5;
  localparam logic [31:0] QPN_ANY = 32'h00ff_ffff;
  localparam int EXTENTS_PER_LINE = 4;
  localparam int EXTENT_CHILDREN = 6;
  localparam int EXTENT_LEVELS = 16;
  localparam logic [63:0] EXTENT_NONE = 64'hffff_ffff_ffff_ffff;
  localparam int PTE_BITS = 9;

  typedef struct packed {
    logic [31:0] extent_count;
    logic [31:0] extent;
    logic [63:0] table_va;
    logic [63:0] table_root;
    logic [63:0] length;
    logic [63:0] start;
    logic [31:0] parent;
    logic [31:0] qpn;
    logic [31:0] pd;
    logic [31:0] access;
    logic [15:0] owner;
    logic [7:0] flags;
    logic [7:0] levels;
    logic [7:0] page_shift;
    logic [7:0] key_byte;
    logic [7:0] state;
    logic [7:0] kind;
  } mrc_t;  // 512

  typedef struct packed {
    logic [63:0] length;
    logic [63:0] start;
  } extent_t;  // 128

  typedef struct packed {
    logic [5:0][31:0] child;
    logic [4:0][63:0] start;
  } extent_node_t;  // 512

  typedef struct packed {
    logic [31:0] length;
    logic [31:0] key;
    logic [63:0] va;
  } element_t;  // 128

  // firmware/abi/registers.h
  typedef struct packed {
    logic [31:0] value;
    logic [31:0] number;
  } doorbell_t;  // 64

  typedef struct packed {
    logic [31:0] rq_pi;
    logic [31:0] sq_pi;
  } qp_record_t;  // 64

  // tlm/verdict.h
  localparam logic [2:0] GRANTED = 3'd0;
  localparam logic [2:0] BAD_INDEX = 3'd1;
  localparam logic [2:0] BAD_KEY = 3'd2;
  localparam logic [2:0] BAD_STATE = 3'd3;
  localparam logic [2:0] BAD_ASSOCIATION = 3'd4;
  localparam logic [2:0] BAD_RIGHTS = 3'd5;
  localparam logic [2:0] BAD_BOUNDS = 3'd6;
  localparam logic [2:0] TABLE_ERROR = 3'd7;

  // The request of an access to a key.
  typedef struct packed {
    logic [63:0] length;
    logic [63:0] va;
    logic [15:0] owner;
    logic [31:0] generation;
    logic [31:0] qpn;
    logic [31:0] pd;
    logic [31:0] rights;
    logic [31:0] key;
    logic privileged;
    logic remote;
    logic element;  // look for the piece of an indirect region instead
  } access_t;  // 307

  // Through which table (tlm/verdict.h, struct translation).
  typedef struct packed {
    logic [63:0] table_va;
    logic [63:0] table_root;
    logic on_demand;
    logic indirect;
    logic null_region;
    logic [7:0] page_shift;
    logic [7:0] levels;
    logic [31:0] index;
  } translation_t;  // 179
  /* verilator lint_on UNUSEDPARAM */
endpackage
