/** Texts that a driver must preserve and distinguish, in names and in values. */
export const awkwardTexts: readonly (readonly [what: string, text: string])[] = [
  ['nothing', ''],
  ['quotes and SQL', `'; DROP TABLE client; -- "x" \\`],
  ['several scripts and an emoji', 'Ünïcødé Ωμέγα 日本語 👩‍🚀'],
  ['a NUL in the middle', 'before\0after'],
  ['line ends and a byte order mark', '\uFEFFa\r\nb\u2028c'],
  ['a combining form', 'e\u0301 is not \u00E9'],
  ['an escape sequence of something else', String.raw`\0 \x00 \u0000 %00 E'\\x00'`],
]

/** Too long for an index key: only values may be so long. */
export const longText: string = 'x'.repeat(1_000_000)
