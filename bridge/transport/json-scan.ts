/**
 * Takes the members of an object, or the elements of a list (then `keyStart` and `keyEnd` are -1), as byte positions; ends
 * are exclusive, keys include their quotes. `false` stops the scan.
 */
export type VisitPart = (valueStart: number, valueEnd: number, keyStart: number, keyEnd: number) => boolean

const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const dot = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const escapable = new Uint8Array(256)
for (const character of '"\\/bfnrt') escapable[character.charCodeAt(0)] = 1
/** 1 for what may stand in a string as it is. */
const plain = new Uint8Array(256).fill(1, space)
plain[quote] = 0
plain[backslash] = 0
const literals = ['true', 'false', 'null'].map((word) => Buffer.from(word))

/**
 * Finds the parts of the object or list that the text is, without making values of them; a number, string or literal has
 * none. Returns whether the text is JSON (RFC 8259), to the last byte as strict as `JSON.parse`, or the visitor stopped.
 * That the bytes are UTF-8 is not checked.
 */
export function scanJson(bytes: Buffer, visit: VisitPart): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const start = skipSpace(bytes, 0)
  const first = bytes[start]
  if (first !== openBrace && first !== openBracket) return isEnd(bytes, skipValue(bytes, view, start))
  return scanParts(bytes, view, start, first === openBrace, visit)
}

function scanParts(
  bytes: Buffer,
  view: DataView,
  start: number,
  inObject: boolean,
  visit: VisitPart,
): boolean {
  const close = inObject ? closeBrace : closeBracket
  let at = skipSpace(bytes, start + 1)
  if (bytes[at] === close) return isEnd(bytes, at + 1)
  for (;;) {
    const valueStart = inObject ? skipKey(bytes, view, at) : at
    const valueEnd = valueStart === -1 ? -1 : skipValue(bytes, view, valueStart)
    if (valueEnd === -1) return false
    const goesOn = inObject
      ? visit(valueStart, valueEnd, at, skipString(bytes, view, at))
      : visit(valueStart, valueEnd, -1, -1)
    if (!goesOn) return true
    const next = skipSpace(bytes, valueEnd)
    if (bytes[next] === close) return isEnd(bytes, next + 1)
    if (bytes[next] !== comma) return false
    at = skipSpace(bytes, next + 1)
  }
}

/**
 * The values of those members of the object that the text is, by name, as they stand in the text; of one that comes twice
 * the last. Empty for what is no object; of what is no JSON, the members before the fault.
 */
export function membersOf(bytes: Buffer, names: readonly string[]): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>()
  scanJson(bytes, (valueStart, valueEnd, keyStart, keyEnd) => {
    if (keyStart === -1) return false
    const name: unknown = JSON.parse(bytes.toString('utf8', keyStart, keyEnd))
    if (typeof name === 'string' && names.includes(name))
      found.set(name, bytes.subarray(valueStart, valueEnd))
    return true
  })
  return found
}

function isEnd(bytes: Buffer, at: number): boolean {
  return at !== -1 && skipSpace(bytes, at) === bytes.length
}

/** Each of these returns the position behind what it skips, or -1 when that is not there. */
function skipKey(bytes: Buffer, view: DataView, at: number): number {
  const end = bytes[at] === quote ? skipString(bytes, view, at) : -1
  if (end === -1) return -1
  const next = skipSpace(bytes, end)
  return bytes[next] === colon ? skipSpace(bytes, next + 1) : -1
}

/** Containers are a list and no recursion: a hostile peer may nest a million of them. */
function skipValue(bytes: Buffer, view: DataView, start: number): number {
  const open: number[] = []
  let at = start
  for (;;) {
    const byte = byteAt(bytes, at)
    if (byte === openBrace || byte === openBracket) {
      at = skipSpace(bytes, at + 1)
      // The closing character is two behind the opening one, for both kinds.
      if (byteAt(bytes, at) === byte + 2) at += 1
      else {
        open.push(byte)
        if (byte === openBrace) at = skipKey(bytes, view, at)
        if (at === -1) return -1
        continue
      }
    } else at = skipScalar(bytes, view, at, byte)
    if (at === -1 || open.length === 0) return at
    at = skipToNextValue(bytes, view, at, open)
    if (at === -1 || open.length === 0) return at
  }
}

/** Closes as many containers as end here, then goes to the next value of the one that does not. */
function skipToNextValue(bytes: Buffer, view: DataView, start: number, open: number[]): number {
  let at = skipSpace(bytes, start)
  for (;;) {
    const innermost = open[open.length - 1] ?? 0
    const byte = byteAt(bytes, at)
    if (byte === comma) {
      at = skipSpace(bytes, at + 1)
      return innermost === openBrace ? skipKey(bytes, view, at) : at
    }
    if (byte !== innermost + 2) return -1
    at += 1
    open.pop()
    if (open.length === 0) return at
    at = skipSpace(bytes, at)
  }
}

function skipScalar(bytes: Buffer, view: DataView, at: number, first: number): number {
  if (first === quote) return skipString(bytes, view, at)
  if (first === minus || isDigit(first)) return skipNumber(bytes, at)
  const literal = literals.find((word) => word[0] === first)
  if (literal === undefined) return -1
  for (let index = 1; index < literal.length; index += 1)
    if (byteAt(bytes, at + index) !== literal[index]) return -1
  return at + literal.length
}

/**
 * Byte by byte at first, then four at a time, and a long stretch without quote, backslash and control character is jumped
 * over with `indexOf`: each way is the fastest for its length, and many times slower than the others for another.
 */
function skipString(bytes: Buffer, view: DataView, start: number): number {
  let ahead: Ahead | undefined
  let at = start + 1
  for (;;) {
    const shortEnd = at + 16
    while (at < shortEnd && plain[byteAt(bytes, at)] === 1) at += 1
    if (at === shortEnd) {
      ahead ??= { quote: -1 }
      at = skipLong(bytes, view, at, ahead)
      while (plain[byteAt(bytes, at)] === 1) at += 1
    }
    const byte = byteAt(bytes, at)
    if (byte === quote) return at + 1
    if (byte !== backslash) return -1
    at = skipEscape(bytes, at)
    if (at === -1) return -1
  }
}

/** Where the next quote is, so that a string with many backslashes is not searched for its end again after each. */
interface Ahead {
  quote: number
}

function skipLong(bytes: Buffer, view: DataView, start: number, ahead: Ahead): number {
  const longStart = start + 240
  const at = skipPlain(view, start, Math.min(bytes.length, longStart))
  if (at < longStart) return at
  if (ahead.quote < at) ahead.quote = bytes.indexOf(quote, at)
  // An unfinished string: to its end, which is no end.
  if (ahead.quote === -1) return bytes.length
  const slash = bytes.subarray(at, ahead.quote).indexOf(backslash)
  return skipUncontrolled(view, at, slash === -1 ? ahead.quote : at + slash)
}

/** To the first four bytes that have a quote, a backslash or a control character among them, or fewer than four to the end. */
function skipPlain(view: DataView, start: number, end: number): number {
  let at = start
  for (; at <= end - 4; at += 4) {
    const word = view.getInt32(at, true)
    const quotes = word ^ 0x22222222
    const slashes = word ^ 0x5c5c5c5c
    const found =
      ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes) | ((word - 0x20202020) & ~word)
    if ((found & 0x80808080) !== 0) break
  }
  return at
}

/** The same for control characters alone. */
function skipUncontrolled(view: DataView, start: number, end: number): number {
  let at = start
  for (; at <= end - 8; at += 8) {
    const first = view.getInt32(at, true)
    const second = view.getInt32(at + 4, true)
    const found = ((first - 0x20202020) & ~first) | ((second - 0x20202020) & ~second)
    if ((found & 0x80808080) !== 0) break
  }
  return at
}

function skipEscape(bytes: Buffer, at: number): number {
  const kind = byteAt(bytes, at + 1)
  if (kind !== 0x75) return escapable[kind] === 1 ? at + 2 : -1
  for (let digit = at + 2; digit < at + 6; digit += 1) if (!isHexDigit(byteAt(bytes, digit))) return -1
  return at + 6
}

function skipNumber(bytes: Buffer, start: number): number {
  let at = byteAt(bytes, start) === minus ? start + 1 : start
  at = byteAt(bytes, at) === zero ? at + 1 : skipDigits(bytes, at)
  if (at !== -1 && byteAt(bytes, at) === dot) at = skipDigits(bytes, at + 1)
  // `| 0x20` makes the letter small.
  if (at !== -1 && (byteAt(bytes, at) | 0x20) === 0x65) {
    const sign = byteAt(bytes, at + 1)
    at = skipDigits(bytes, sign === plus || sign === minus ? at + 2 : at + 1)
  }
  return at
}

function skipDigits(bytes: Buffer, start: number): number {
  let at = start
  while (isDigit(byteAt(bytes, at))) at += 1
  return at === start ? -1 : at
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    const byte = byteAt(bytes, at)
    if (byte > space || (byte !== space && byte !== lineFeed && byte !== carriageReturn && byte !== tab))
      return at
    at += 1
  }
}

/** 0 behind the end. Reading past the end of a buffer, for `undefined`, makes all reads of that place slow. */
function byteAt(bytes: Buffer, at: number): number {
  return at < bytes.length ? (bytes[at] ?? 0) : 0
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine
}

function isHexDigit(byte: number): boolean {
  const small = byte | 0x20
  return isDigit(byte) || (small >= 0x61 && small <= 0x66)
}
