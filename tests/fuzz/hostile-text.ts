import type { Chance } from './chance.ts'

// Typical problems for parsers: separators, escapes, line ends, extreme numbers, members that every object has.
const common: readonly string[] = [
  ...' \t\0\n,;:=&+%"\'\\/.-_@#?[]{}<>*|~`^$()'.split(''),
  '',
  '\r\n',
  '//',
  '..',
  '%00',
  '%2e%2e',
  '%zz',
  '%c3%28',
  '<script>',
  '0',
  '-1',
  '1e999',
  '9007199254740993',
  'null',
  'true',
  'NaN',
  '__proto__',
  'constructor',
  'toString',
  '\u{1f600}',
  '\ud800',
  '\u202e',
  '\ufeff',
  'İ',
  'é',
  'aaaaaaaa',
]

const repeatable: readonly string[] = [...'a .,%=[/0\t;\\-:"'.split(''), '{"a":', '.a', ' ,']
const maxRepeats = 3000

/** Returns text from `fragments` known to a parser, mixed with unexpected characters, and occasionally very long. */
export function hostileText(chance: Chance, fragments: readonly string[] = []): string {
  let text = ''
  const pieces = chance.below(9)
  for (let index = 0; index < pieces; index += 1) text += piece(chance, fragments)
  return chance.once(40)
    ? text + chance.pick(repeatable).repeat(chance.below(maxRepeats)) + piece(chance, fragments)
    : text
}

function piece(chance: Chance, fragments: readonly string[]): string {
  const kind = chance.below(8)
  if (kind < 5 && fragments.length > 0) return chance.pick(fragments)
  if (kind < 7) return chance.pick(common)
  return String.fromCharCode(chance.below(chance.once(2) ? 128 : 65_536), 32 + chance.below(95))
}

/** Returns {@link hostileText} that is valid in a header: bytes, without line ends. */
export function hostileHeader(chance: Chance, fragments: readonly string[] = []): string {
  return hostileText(chance, fragments).replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
}

/** Returns JSON of any type with limited depth. */
export function hostileJson(chance: Chance, fragments: readonly string[], depth = 3): unknown {
  const kind = chance.below(depth > 0 ? 9 : 6)
  const few = chance.below(4)
  switch (kind) {
    case 0:
      return null
    case 1:
      return chance.once(2)
    case 2:
      return chance.pick([0, -1, 1.5, 1e300, -0, 2 ** 53, 2 ** 31, 1e-9])
    case 6:
      return Array.from({ length: few }, () => hostileJson(chance, fragments, depth - 1))
    case 7:
    case 8:
      return Object.fromEntries(
        Array.from({ length: few }, () => [
          hostileText(chance, fragments),
          hostileJson(chance, fragments, depth - 1),
        ]),
      )
    default:
      return hostileText(chance, fragments)
  }
}

/**
 * Returns `good` as from a JSON parser, with up to three members changed, removed or added; occasionally not an
 * object.
 */
export function damaged(
  chance: Chance,
  good: Readonly<Record<string, unknown>>,
  fragments: readonly string[],
): unknown {
  if (chance.once(20)) return hostileJson(chance, fragments)
  const members = new Map(Object.entries(good))
  const names = [...members.keys(), '__proto__', 'constructor']
  for (let changes = chance.below(4); changes > 0; changes -= 1) {
    const name = chance.pick(names)
    if (chance.once(4)) members.delete(name)
    else members.set(name, hostileJson(chance, fragments, 2))
  }
  // Through text, so that `__proto__` is an ordinary member.
  const text = [...members]
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join(',')
  return JSON.parse(`{${text}}`) as unknown
}
