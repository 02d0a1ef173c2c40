// Finds keywords in bytes: an Aho-Corasick automaton over byte classes, in four lanes or, for few keywords, in one that
// skips all places where none can begin. AssemblyScript; compiled by scripts/build-automaton.ts to automaton.wasm.

// Address of one u32 per byte: the address of the cells of its class in the first state. States have a line of 32 cells
// for each group of 32 classes, and the lines of a group follow each other, so that what most bytes need of most states
// stays in the processor's caches. A cell, a u16 or, for very many states, a u32, has the number of the next state; its
// highest bit is set if a keyword ends there. State 0 is the root. CLASSES of scanner.ts.
const CLASSES: usize = 4096;
let warm: usize = 0;
// Three lists of `capacity` records: what the caller reads, what may match, and what the search finds. A record has the
// address after the keyword's last byte, the state and, but for the last list, where the look-ahead ended.
let hits: usize = 0;
let capacity: usize = 0;
// Six tables of 16 bytes: for the first, second and third byte of a keyword, by low and by high nibble. A bit stands
// for a group of keywords.
let beginnings: usize = 0;
// Of each state, the address of its look-ahead, or 0. A look-ahead has the address of its own rows, its first state, the
// number of hits that it left out, and a class for each byte. A state of its is the place of its row.
let aheads: usize = 0;

// Bytes that a look-ahead reads at most: REACH of look-ahead.ts.
const REACH: usize = 64;

export function configure(
  warm_: usize,
  hits_: usize,
  capacity_: usize,
  beginnings_: usize,
  aheads_: usize,
): void {
  warm = warm_;
  hits = hits_;
  capacity = capacity_;
  beginnings = beginnings_;
  aheads = aheads_;
}

// Returns the cell for the byte at an address.
// @ts-ignore: decorator
@inline
function next<Cell>(state: usize, at: usize): usize {
  const line: usize = sizeof<Cell>() == 2 ? 6 : 7;
  return <usize>load<Cell>((state << line) + <usize>load<u32>(<usize>load<u8>(at) << 2, CLASSES));
}

// @ts-ignore: decorator
@inline
function ends<Cell>(): usize {
  return sizeof<Cell>() == 2 ? 0x8000 : 0x80000000;
}

// Returns where the look-ahead of a state ends for a hit: in a final state, which is negative, and -1 if nothing may match;
// elsewhere if more bytes would be needed than may be read, before `limit`, or without a look-ahead.
function lookAhead(keywords: usize, hit: usize, limit: usize): i32 {
  const ahead = <usize>load<u32>(aheads + (keywords << 2));
  if (ahead == 0) return 0;
  const rows = <usize>load<u32>(ahead);
  let state = load<i32>(ahead, 4);
  let at = hit;
  const stop = min(limit, hit + REACH);
  while (state > 0 && at < stop) {
    state = load<i32>(rows + ((state + load<u8>(ahead + load<u8>(at), 12)) << 2));
    at++;
  }
  if (state == -1) store<u32>(ahead, load<u32>(ahead, 8) + 1, 8);
  return state;
}

// @ts-ignore: decorator
@inline
function copied(to: usize, from: usize): usize {
  store<u64>(to, load<u64>(from));
  store<u32>(to, load<u32>(from, 8), 8);
  return to + 12;
}

// Puts what was found before `to` into `hits`, in the order of the addresses and without that after which nothing matches.
// Lanes end at the given addresses, the last one anywhere, and each has its records in order. Returns their number. Apart
// from the search, whose loop has no register to spare.
function collect(to: usize, end0: usize, end1: usize, end2: usize, limit: usize): i32 {
  const first = hits + capacity * 12;
  let kept = first;
  let lane0 = hits;
  let lane1 = hits;
  let lane2 = hits;
  let lane3 = hits;
  for (let each = hits + capacity * 24; each < to; each += 8) {
    const at = <usize>load<u32>(each);
    const outcome = lookAhead(load<u32>(each, 4), at, limit);
    if (outcome == -1) continue;
    store<u64>(kept, load<u64>(each));
    store<i32>(kept, outcome, 8);
    kept += 12;
    if (at <= end0) lane1 += 12;
    if (at <= end1) lane2 += 12;
    if (at <= end2) lane3 += 12;
  }
  for (let each = first; each < kept; each += 12) {
    const at = <usize>load<u32>(each);
    if (at <= end0) lane0 = copied(lane0, each);
    else if (at <= end1) lane1 = copied(lane1, each);
    else if (at <= end2) lane2 = copied(lane2, each);
    else lane3 = copied(lane3, each);
  }
  return <i32>((lane3 - hits) / 12);
}

// Returns the state before `at`: a keyword that ends after `at` began at most `warm` bytes before it.
function stateAt<Cell>(at: usize, floor: usize): usize {
  let from = at - floor > warm ? at - warm : floor;
  let state: usize = 0;
  while (from < at) {
    state = next<Cell>(state, from) & ~ends<Cell>();
    from++;
  }
  return state;
}

// Finds keywords that end in (begin, end] and after which something may match; may read bytes from `floor` on and before
// `limit`. Returns the number of hits, or -1 if they are too many.
export function scan(begin: usize, end: usize, floor: usize, limit: usize): i32 {
  return scanLanes<u16>(begin, end, floor, limit);
}

// Like `scan`, for more states than a u16 has numbers.
export function scanWide(begin: usize, end: usize, floor: usize, limit: usize): i32 {
  return scanLanes<u32>(begin, end, floor, limit);
}

function scanLanes<Cell>(begin: usize, end: usize, floor: usize, limit: usize): i32 {
  const flag = ends<Cell>();
  const quarter = (end - begin) >> 2;
  let a0 = begin;
  let a1 = a0 + quarter;
  let a2 = a1 + quarter;
  let a3 = a2 + quarter;
  const stop = a1;
  let s0 = stateAt<Cell>(a0, floor);
  let s1 = stateAt<Cell>(a1, floor);
  let s2 = stateAt<Cell>(a2, floor);
  let s3 = stateAt<Cell>(a3, floor);
  let hit = hits + capacity * 24;
  const full = hit + capacity * 8;
  while (a0 < stop) {
    s0 = next<Cell>(s0, a0);
    s1 = next<Cell>(s1, a1);
    s2 = next<Cell>(s2, a2);
    s3 = next<Cell>(s3, a3);
    a0++;
    a1++;
    a2++;
    a3++;
    if (((s0 | s1 | s2 | s3) & flag) == 0) continue;
    if (hit + 32 > full) return -1;
    if (s0 & flag) {
      s0 &= ~flag;
      store<u32>(hit, <u32>a0);
      store<u32>(hit, <u32>s0, 4);
      hit += 8;
    }
    if (s1 & flag) {
      s1 &= ~flag;
      store<u32>(hit, <u32>a1);
      store<u32>(hit, <u32>s1, 4);
      hit += 8;
    }
    if (s2 & flag) {
      s2 &= ~flag;
      store<u32>(hit, <u32>a2);
      store<u32>(hit, <u32>s2, 4);
      hit += 8;
    }
    if (s3 & flag) {
      s3 &= ~flag;
      store<u32>(hit, <u32>a3);
      store<u32>(hit, <u32>s3, 4);
      hit += 8;
    }
  }
  while (a3 < end) {
    s3 = next<Cell>(s3, a3);
    a3++;
    if (s3 & flag) {
      if (hit == full) return -1;
      s3 &= ~flag;
      store<u32>(hit, <u32>a3);
      store<u32>(hit, <u32>s3, 4);
      hit += 8;
    }
  }
  // The first three lanes have reached their ends.
  return collect(hit, a0, a1, a2, limit);
}

// Like `scan`, for few keywords of three bytes or more: while the automaton is at its root, tests sixteen places at
// once for the first three bytes of any keyword.
export function scanFew(begin: usize, end: usize, floor: usize, limit: usize): i32 {
  const flag = ends<u16>();
  let hit = hits + capacity * 24;
  const full = hit + capacity * 8;
  const nibble = i8x16.splat(0x0f);
  const low0 = v128.load(beginnings);
  const high0 = v128.load(beginnings, 16);
  const low1 = v128.load(beginnings, 32);
  const high1 = v128.load(beginnings, 48);
  const low2 = v128.load(beginnings, 64);
  const high2 = v128.load(beginnings, 80);
  let at = begin;
  let state = stateAt<u16>(begin, floor);
  while (at < end) {
    if (state == 0 && at + 18 <= end) {
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
      state = next<u16>(state, at);
      at++;
      if (state & flag) {
        if (hit == full) return -1;
        state &= ~flag;
        store<u32>(hit, <u32>at);
        store<u32>(hit, <u32>state, 4);
        hit += 8;
      }
    } while (state != 0 && at < end);
  }
  return collect(hit, end, end, end, limit);
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
  recordsEnd = hits + capacity * 8;
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
