import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJsonc, readJsonEntries, removeJsonEntry, setJsonEntry } from './jsonc-edit.ts'
import { thrownBy } from '../../../tests/support/thrown-by.ts'

const entry = { command: 'node', args: ['a'] }
const set = (text: string): string => setJsonEntry(text, ['mcpServers'], 'me', entry)
const remove = (text: string): string => removeJsonEntry(text, ['mcpServers'], 'me')

describe('a new entry', () => {
  it.each([
    ['nothing', '', '{\n  "mcpServers": {\n    "me": {'],
    ['an empty object', '{}', '{\n  "mcpServers": {\n    "me": {'],
    ['comments alone', '// mine\n', '// mine\n{\n  "mcpServers": {'],
    ['tabs', '{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"me": {\n\t\t\t"command"'],
    ['four blanks', '{\n    "a": 1\n}', '{\n    "a": 1,\n    "mcpServers": {\n        "me": {'],
    ['CRLF', '{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "me": {\r\n'],
    ['a comment at the end', '{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "mcpServers": {'],
    ['a trailing comma', '{\n  "a": 1,\n}', '{\n  "a": 1,\n  "mcpServers": {'],
    ['one line', '{ "a": 1 }', '{ "a": 1,\n  "mcpServers": {\n    "me": {'],
    ['minified', '{"a":1}', '{"a":1,\n  "mcpServers": {\n    "me": {'],
    ['an object of comments', '{ /* none */ }', '{ /* none */\n  "mcpServers": {'],
    ['a line comment in it', '{\n  // none\n}', '{\n  // none\n  "mcpServers": {'],
  ])('is laid out as the file: %s', (_, before, beginning) => {
    const after = set(before)
    expect(after.slice(0, beginning.length)).toBe(beginning)
    expect(readJsonEntries(after, ['mcpServers'])).toEqual(new Map([['me', entry]]))
  })

  it('keeps a trailing comma that the file has', () => {
    expect(set('{\n  "mcpServers": {\n    "a": {},\n  },\n}')).toMatch(/\n {4}},\n {2}},\n}$/)
  })

  it('replaces the value alone when the name is there', () => {
    const before = '{\n  "mcpServers": { // c\n    "me": 1, // mine\n    "b": 2\n  }\n}'
    expect(set(before)).toBe(
      before.replace('1,', `${JSON.stringify(entry, undefined, 2).replaceAll('\n', '\n    ')},`),
    )
  })
})

describe('a removed entry', () => {
  it.each([
    ['alone', '{"mcpServers":{"me":{}}}', '{"mcpServers":{}}'],
    [
      'first',
      '{\n  "mcpServers": {\n    "me": 1,\n    "b": 2\n  }\n}',
      '{\n  "mcpServers": {\n    "b": 2\n  }\n}',
    ],
    ['last', '{ "mcpServers": { "b": 2, "me": 1 } }', '{ "mcpServers": { "b": 2 } }'],
    [
      'with a comment behind it',
      '{ "mcpServers": {\n    "a": 1,\n    "me": 2, // mine\n    "b": 3\n} }',
      '{ "mcpServers": {\n    "a": 1,\n     // mine\n    "b": 3\n} }',
    ],
    [
      'below a line comment, with the brace on its line',
      '{ "mcpServers": {\n  "a": 1, // c\n  "me": 2 } }',
      '{ "mcpServers": {\n  "a": 1 // c\n   } }',
    ],
    [
      'with a comment before its comma',
      '{ "mcpServers": { "me": 1 /* c */, "b": 2 } }',
      '{ "mcpServers": { /* c */ "b": 2 } }',
    ],
    ['not there', '{ "mcpServers": { } }', '{ "mcpServers": { } }'],
    ['of no list', '{ "a": 1 }', '{ "a": 1 }'],
  ])('leaves the rest as it is: %s', (_, before, after) => {
    expect(remove(before)).toBe(after)
    expect(() => parseJsonc(after)).not.toThrow()
  })
})

describe('a text that cannot be edited', () => {
  it.each([
    ['{ "a": }', { kind: 'syntax', line: 1, column: 8, detail: 'value expected' }],
    ['{\n  "a": 1\n  "b": 2\n}', { kind: 'syntax', line: 3, column: 3, detail: 'comma expected' }],
    ['{} {}', { kind: 'syntax', line: 1, column: 4, detail: 'end of file expected' }],
    ['[]', { kind: 'not_object', path: [] }],
    ['{ "mcpServers": [] }', { kind: 'not_object', path: ['mcpServers'] }],
    ['{ "mcpServers": null }', { kind: 'not_object', path: ['mcpServers'] }],
    ['{ "mcpServers": {}, "mcpServers": {} }', { kind: 'duplicate', path: ['mcpServers'] }],
    ['{ "mcpServers": { "me": 1, "me": 2 } }', { kind: 'duplicate', path: ['mcpServers', 'me'] }],
  ])('%s', (text, fault) => {
    for (const edit of [set, remove]) expect(thrownBy(() => edit(text))).toHaveProperty('fault', fault)
  })
})

/** White space and comments, with the line end that a line comment needs. */
const trivia = fc
  .array(fc.constantFrom(' ', '\n', '\r\n', '\t', '/* x */', '/* , } " */', '// ", {\n', '// c\r\n'), {
    maxLength: 3,
  })
  .map((parts) => parts.join(''))

const { value: randomValue } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value)),
    tie('object'),
  ),
  object: objectOf(fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 3 })),
}))

/** Generates an object as text, with any trivia between its tokens. */
function objectOf(members: fc.Arbitrary<(readonly [string, string])[]>): fc.Arbitrary<string> {
  return fc
    .tuple(members, fc.array(trivia, { minLength: 20, maxLength: 20 }), fc.boolean())
    .map(([list, blanks, trailing]) => {
      const unique = [...new Map(list)]
      let at = 0
      const blank = (): string => blanks[at++ % blanks.length] ?? ''
      const text = unique
        .map(([key, value]) => blank() + JSON.stringify(key) + blank() + ':' + blank() + value + blank())
        .join(',')
      return `{${text}${trailing && unique.length > 0 ? ',' : ''}${blank()}}`
    })
}

const otherName = fc.string().filter((name) => name !== 'me' && name !== 'mcpServers')
const others = fc.tuple(
  fc.array(fc.tuple(otherName, randomValue), { minLength: 1, maxLength: 3 }),
  fc.array(fc.tuple(otherName, randomValue), { maxLength: 2 }),
)
/** Generates a file with a list of at least one foreign server. */
const file = others.chain(([servers, members]) =>
  objectOf(fc.constant(servers)).chain((list) =>
    fc
      .tuple(objectOf(fc.constant([...members, ['mcpServers', list] as const])), trivia, trivia)
      .map(([object, before, after]) => before + object + after),
  ),
)

function commentsOf(text: string): string[] {
  return text.match(/"(?:\\.|[^"\\])*"|\/\*.*?\*\/|\/\/[^\n]*/g)?.filter((part) => part.startsWith('/')) ?? []
}

describe('any file', () => {
  it('is byte for byte what it was after an entry came and went', () => {
    fc.assert(
      fc.property(file, (before) => {
        const after = set(before)
        expect(readJsonEntries(after, ['mcpServers']).get('me')).toEqual(entry)
        expect(commentsOf(after).map((comment) => comment.trimEnd())).toEqual(
          commentsOf(before).map((comment) => comment.trimEnd()),
        )
        expect(remove(after)).toBe(before)
      }),
      { numRuns: 500 },
    )
  })

  it('loses one entry and nothing else, whichever it is', () => {
    fc.assert(
      fc.property(file, fc.nat(), (before, pick) => {
        const entries = readJsonEntries(before, ['mcpServers'])
        const name = [...entries.keys()][pick % entries.size] ?? ''
        const after = removeJsonEntry(before, ['mcpServers'], name)
        entries.delete(name)
        expect(readJsonEntries(after, ['mcpServers'])).toEqual(entries)
      }),
      { numRuns: 500 },
    )
  })
})
