// Finds keywords in bytes: an Aho-Corasick automaton over byte classes, in four lanes or, for few keywords, in one that
// skips all places where none can begin. AssemblyScript; compiled by scripts/build-automaton.ts to automaton.wasm.

// A row of the table has one u32 per class: the address of the next row, with bit 0 set if a keyword ends there.
let classes: usize = 0;
let root: usize = 0;
let warm: usize = 0;
// Four lanes of `capacity` records of 8 bytes: the address after the keyword's last byte, and the row.
let hits: usize = 0;
let capacity: usize = 0;
// Four counts.
let counts: usize = 0;
// Six tables of 16 bytes: for the first, second and third byte of a keyword, by low and by high nibble. A bit stands
// for a group of keywords.
let beginnings: usize = 0;
// Offset in a row of the address of its look-ahead, or of 0. A look-ahead has the address of its own rows, their size in
// bytes, its first state, the number of hits that it left out, and a class for each byte.
let aheads: usize = 0;

// Bytes that a look-ahead reads at most: REACH of look-ahead.ts.
const REACH: usize = 64;

export function configure(
  classes_: usize,
  root_: usize,
  warm_: usize,
  hits_: usize,
  capacity_: usize,
  counts_: usize,
  beginnings_: usize,
  aheads_: usize,
): void {
  classes = classes_;
  root = root_;
  warm = warm_;
  hits = hits_;
  capacity = capacity_;
  counts = counts_;
  beginnings = beginnings_;
  aheads = aheads_;
}

// Returns false if the look-ahead of a row knows that nothing matches at a hit; it may read bytes before `limit`.
// States are positive, or final: -1 if nothing may match.
function mayMatch(row: usize, hit: usize, limit: usize): bool {
  const ahead = <usize>load<u32>(row + aheads);
  if (ahead == 0) return true;
  const rows = <usize>load<u32>(ahead);
  const size = load<u32>(ahead, 4);
  let state = load<i32>(ahead, 8);
  let at = hit;
  const stop = min(limit, hit + REACH);
  while (state > 0 && at < stop) {
    state = load<i32>(rows + state * size + ((<usize>load<u8>(ahead + load<u8>(at), 16)) << 2));
    at++;
  }
  if (state != -1) return true;
  store<u32>(ahead, load<u32>(ahead, 12) + 1, 12);
  return false;
}

// Removes the hits in [from, to) after which nothing matches; returns their new end. Apart from the search, whose loop
// has no register to spare.
function withoutHopeless(from: usize, to: usize, limit: usize): usize {
  let kept = from;
  for (let hit = from; hit < to; hit += 8) {
    if (!mayMatch(load<u32>(hit, 4), load<u32>(hit), limit)) continue;
    store<u64>(kept, load<u64>(hit));
    kept += 8;
  }
  return kept;
}

// Returns the state before `at`: a keyword that ends after `at` began at most `warm` bytes before it.
function stateAt(at: usize, floor: usize): usize {
  let from = at - floor > warm ? at - warm : floor;
  let state = root;
  while (from < at) {
    state = load<u32>(state + load<u16>(classes + ((<usize>load<u8>(from)) << 1))) & ~1;
    from++;
  }
  return state;
}

// Finds keywords that end in (begin, end] and after which something may match; may read bytes from `floor` on and before
// `limit`. Returns the number of hits, or -1 if a lane is full.
export function scan(begin: usize, end: usize, floor: usize, limit: usize): i32 {
  const map = classes;
  const size = capacity << 3;
  const quarter = (end - begin) >> 2;
  let a0 = begin;
  let a1 = a0 + quarter;
  let a2 = a1 + quarter;
  let a3 = a2 + quarter;
  const stop = a1;
  let s0 = stateAt(a0, floor);
  let s1 = stateAt(a1, floor);
  let s2 = stateAt(a2, floor);
  let s3 = stateAt(a3, floor);
  const b0 = hits;
  const b1 = b0 + size;
  const b2 = b1 + size;
  const b3 = b2 + size;
  const b4 = b3 + size;
  let h0 = b0;
  let h1 = b1;
  let h2 = b2;
  let h3 = b3;
  while (a0 < stop) {
    s0 = load<u32>(s0 + load<u16>(map + ((<usize>load<u8>(a0)) << 1)));
    s1 = load<u32>(s1 + load<u16>(map + ((<usize>load<u8>(a1)) << 1)));
    s2 = load<u32>(s2 + load<u16>(map + ((<usize>load<u8>(a2)) << 1)));
    s3 = load<u32>(s3 + load<u16>(map + ((<usize>load<u8>(a3)) << 1)));
    a0++;
    a1++;
    a2++;
    a3++;
    if (((s0 | s1 | s2 | s3) & 1) == 0) continue;
    if (s0 & 1) {
      if (h0 == b1) return -1;
      s0 &= ~1;
      store<u32>(h0, <u32>a0);
      store<u32>(h0, <u32>s0, 4);
      h0 += 8;
    }
    if (s1 & 1) {
      if (h1 == b2) return -1;
      s1 &= ~1;
      store<u32>(h1, <u32>a1);
      store<u32>(h1, <u32>s1, 4);
      h1 += 8;
    }
    if (s2 & 1) {
      if (h2 == b3) return -1;
      s2 &= ~1;
      store<u32>(h2, <u32>a2);
      store<u32>(h2, <u32>s2, 4);
      h2 += 8;
    }
    if (s3 & 1) {
      if (h3 == b4) return -1;
      s3 &= ~1;
      store<u32>(h3, <u32>a3);
      store<u32>(h3, <u32>s3, 4);
      h3 += 8;
    }
  }
  while (a3 < end) {
    s3 = load<u32>(s3 + load<u16>(map + ((<usize>load<u8>(a3)) << 1)));
    a3++;
    if (s3 & 1) {
      if (h3 == b4) return -1;
      s3 &= ~1;
      store<u32>(h3, <u32>a3);
      store<u32>(h3, <u32>s3, 4);
      h3 += 8;
    }
  }
  h0 = withoutHopeless(b0, h0, limit);
  h1 = withoutHopeless(b1, h1, limit);
  h2 = withoutHopeless(b2, h2, limit);
  h3 = withoutHopeless(b3, h3, limit);
  store<u32>(counts, <u32>((h0 - b0) >> 3));
  store<u32>(counts, <u32>((h1 - b1) >> 3), 4);
  store<u32>(counts, <u32>((h2 - b2) >> 3), 8);
  store<u32>(counts, <u32>((h3 - b3) >> 3), 12);
  return <i32>((h0 - b0 + h1 - b1 + h2 - b2 + h3 - b3) >> 3);
}

// Like `scan`, for few keywords of three bytes or more: while the automaton is at its root, tests sixteen places at
// once for the first three bytes of any keyword. All hits are in the first lane.
export function scanFew(begin: usize, end: usize, floor: usize, limit: usize): i32 {
  const map = classes;
  const lane = hits;
  const full = lane + (capacity << 3);
  const nibble = i8x16.splat(0x0f);
  const low0 = v128.load(beginnings);
  const high0 = v128.load(beginnings, 16);
  const low1 = v128.load(beginnings, 32);
  const high1 = v128.load(beginnings, 48);
  const low2 = v128.load(beginnings, 64);
  const high2 = v128.load(beginnings, 80);
  let hit = lane;
  let at = begin;
  let state = stateAt(begin, floor);
  while (at < end) {
    if (state == root && at + 18 <= end) {
      const block0 = v128.load(at);
      const block1 = v128.load(at, 1);
      const block2 = v128.load(at, 2);
      const first = v128.and(
        i8x16.swizzle(low0, v128.and(block0, nibble)),
        i8x16.swizzle(high0, i8x16.shr_u(block0, 4)),
      );
      const second = v128.and(
        i8x16.swizzle(low1, v128.and(block1, nibble)),
        i8x16.swizzle(high1, i8x16.shr_u(block1, 4)),
      );
      const third = v128.and(
        i8x16.swizzle(low2, v128.and(block2, nibble)),
        i8x16.swizzle(high2, i8x16.shr_u(block2, 4)),
      );
      const groups = v128.and(v128.and(first, second), third);
      if (!v128.any_true(groups)) {
        at += 16;
        continue;
      }
      at += ctz(~(<u32>i8x16.bitmask(i8x16.eq(groups, i8x16.splat(0)))));
    }
    // The automaton runs from a place where a keyword may begin until none is in progress.
    do {
      state = load<u32>(state + load<u16>(map + ((<usize>load<u8>(at)) << 1)));
      at++;
      if (state & 1) {
        if (hit == full) return -1;
        state &= ~1;
        store<u32>(hit, <u32>at);
        store<u32>(hit, <u32>state, 4);
        hit += 8;
      }
    } while (state != root && at < end);
  }
  hit = withoutHopeless(lane, hit, limit);
  const found = <u32>((hit - lane) >> 3);
  store<u32>(counts, found);
  store<u32>(counts, 0, 4);
  store<u32>(counts, 0, 8);
  store<u32>(counts, 0, 12);
  return <i32>found;
}

export function countNewlines(begin: usize, end: usize): i32 {
  const newline = i8x16.splat(0x0a);
  let count = 0;
  let at = begin;
  while (at + 16 <= end) {
    count += popcnt(i8x16.bitmask(i8x16.eq(v128.load(at), newline)));
    at += 16;
  }
  while (at < end) {
    count += i32(load<u8>(at) == 0x0a);
    at++;
  }
  return count;
}

// Returns the address of the last newline in [begin, end); -1 if there is none.
export function lastNewline(begin: usize, end: usize): i32 {
  let at = end;
  while (at > begin) {
    at--;
    if (load<u8>(at) == 0x0a) return <i32>at;
  }
  return -1;
}

// Letters, digits, + / - _ : a bit per high nibble from 2 to 7, looked up by low nibble.
const LOW = i8x16(
  0x2a, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3c, 0x15, 0x14, 0x15, 0x14, 0x1d,
);
const HIGH = i8x16(0, 0, 1, 2, 4, 8, 16, 32, 0, 0, 0, 0, 0, 0, 0, 0);

function inAlphabet(byte: u32): bool {
  return (
    ((byte | 0x20) - 0x61 < 26) ||
    byte - 0x30 < 10 ||
    byte == 0x2b ||
    byte == 0x2f ||
    byte == 0x2d ||
    byte == 0x5f
  );
}

function isHexadecimal(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6;
}

// Length of the run of base64 letters that reaches the end of the bytes searched last.
export let openRun: u32 = 0;
let records: usize = 0;
let recordsEnd: usize = 0;

function record(address: usize, what: u32): bool {
  if (records == recordsEnd) return false;
  store<u32>(records, <u32>address);
  store<u32>(records, what, 4);
  records += 8;
  return true;
}

function escapeAt(at: usize, limit: usize): bool {
  return at + 2 < limit && isHexadecimal(load<u8>(at, 1)) && isHexadecimal(load<u8>(at, 2));
}

// Finds encoded text in [begin, end): runs of at least `minimum` base64 letters that end there (the address after them,
// and the length, including `open` letters before `begin`) and escapes like %2F (the address, and 0). May read bytes
// before `limit`. Returns the number of records in the hit buffer, or -1 if it is full.
export function findEncoded(begin: usize, end: usize, limit: usize, open: u32, minimum: u32): i32 {
  records = hits;
  recordsEnd = hits + (capacity << 5);
  let run = open;
  let at = begin;
  const percent = i8x16.splat(0x25);
  const nibble = i8x16.splat(0x0f);
  const zero = i8x16.splat(0);
  while (at + 16 <= end) {
    const bytes = v128.load(at);
    const low = i8x16.swizzle(LOW, v128.and(bytes, nibble));
    const high = i8x16.swizzle(HIGH, i8x16.shr_u(bytes, 4));
    const others = <u32>i8x16.bitmask(i8x16.eq(v128.and(low, high), zero));
    if (others == 0) {
      run += 16;
      at += 16;
      continue;
    }
    const lead = run + ctz(others);
    if (lead >= minimum && !record(at + ctz(others), lead)) return -1;
    run = clz(others << 16);
    let escapes = <u32>i8x16.bitmask(i8x16.eq(bytes, percent));
    while (escapes != 0) {
      const place = at + ctz(escapes);
      if (escapeAt(place, limit) && !record(place, 0)) return -1;
      escapes &= escapes - 1;
    }
    at += 16;
  }
  while (at < end) {
    const byte: u32 = load<u8>(at);
    if (inAlphabet(byte)) run++;
    else {
      if (run >= minimum && !record(at, run)) return -1;
      run = 0;
      if (byte == 0x25 && escapeAt(at, limit) && !record(at, 0)) return -1;
    }
    at++;
  }
  openRun = run;
  return <i32>((records - hits) >> 3);
}
