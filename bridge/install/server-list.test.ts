import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import type { Client } from './client.ts'
import { findClient } from './client-table.ts'
import { readConfigFile } from './config-file.ts'
import { readServerList } from './server-list.ts'

const cursor = findClient('cursor')
const missing = readConfigFile('/nowhere/mcp.json')
const entry = { command: 'node', args: ['x'] }

const listIn = (text: string, client: Client = cursor): ReturnType<typeof readServerList> =>
  readServerList(client, { ...missing, text })

/** Returns the text with `app` set to an entry, or without it. */
function written(text: string, value: typeof entry | undefined): string {
  const { write } = listIn(text)
  if (typeof write === 'string') throw new Error(write)
  return write('app', value)
}

/** Lists every member of a JSON value by its path, in order, except in the entry `app`. */
function others(value: unknown, path: readonly string[] = []): unknown[] {
  if (path.length === 2 && path.join('.') === 'mcpServers.app') return []
  if (typeof value !== 'object' || value === null) return [[path, value]]
  const rows = Object.entries(value).flatMap(([key, member]) => others(member, [...path, key]))
  // The list of servers may come or stay empty with the entry.
  return path.join() === 'mcpServers' ? rows : [[path, Array.isArray(value)], ...rows]
}

describe('writing an entry', () => {
  const json = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('mcp', 'constructor', 'theme')),
    fc.jsonValue({ maxDepth: 4 }),
  )
  const servers = fc.dictionary(fc.oneof(fc.string(), fc.constant('app')), fc.jsonValue({ maxDepth: 2 }))
  const layout = fc.record({
    indent: fc.constantFrom(undefined, 2, 4, '\t'),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    end: fc.constantFrom('', '\n', '\r\n'),
  })

  it('writing an entry changes only that entry in any JSON file, and keeps the order of keys, the indentation and the end', () => {
    fc.assert(
      fc.property(json, fc.option(servers), layout, (members, list, { indent, lineEnd, end }) => {
        const value = list === null ? members : { ...members, mcpServers: list }
        const text = JSON.stringify(value, undefined, indent).replaceAll('\n', lineEnd) + end
        for (const wanted of [entry, undefined]) {
          const after = written(text, wanted)
          const parsed = JSON.parse(after) as { mcpServers?: Record<string, unknown> }
          expect(others(parsed)).toEqual(others(JSON.parse(text)))
          expect(new Map(Object.entries(parsed.mcpServers ?? {})).get('app')).toEqual(wanted)
          expect(after.endsWith(end)).toBe(true)
          const otherLineEnd = lineEnd === '\n' ? /\r/ : /(?<!\r)\n/
          if (text.includes(lineEnd) && text.trimEnd() !== '{}')
            expect(after.slice(0, after.trimEnd().length)).not.toMatch(otherLineEnd)
        }
      }),
    )
  })

  it.each([
    ['two blanks', '{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "mcpServers": {\n    "app": {'],
    ['four blanks', '{\n    "a": 1\n}', '{\n    "a": 1,\n    "mcpServers": {\n        "app": {'],
    ['tabs', '{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"app": {'],
    ['CRLF', '{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "app": {\r\n'],
    ['one line', '{"a":1}', '{"a":1,"mcpServers":{"app":{"command":"node","args":["x"]}}}'],
    ['an empty object', '{}', '{\n  "mcpServers": {\n    "app": {'],
    ['an empty file', '', '{\n  "mcpServers": {\n    "app": {'],
    ['blanks only', ' \n', '{\n  "mcpServers": {\n    "app": {'],
  ])('writing an entry keeps the layout of %s', (_, before, start) => {
    expect(written(before, entry).slice(0, start.length)).toBe(start)
    expect(written(before, entry).endsWith('}\n')).toBe(before.trim() === '' || before.endsWith('\n'))
  })

  it('writing an entry replaces an entry in its place', () => {
    const text = JSON.stringify({ mcpServers: { a: 1, app: 2, b: 3 } })
    expect(written(text, entry)).toBe(JSON.stringify({ mcpServers: { a: 1, app: entry, b: 3 } }))
  })

  it('writing an entry keeps members named like parts of JavaScript objects, and escapes by value', () => {
    const text = '{"__proto__":{"x":1},"constructor":2,"mcpServers":{"__proto__":{"y":1}},"t":"\\u00e9\\/"}'
    expect(written(text, entry)).toBe(
      `{"__proto__":{"x":1},"constructor":2,"mcpServers":{"__proto__":{"y":1},"app":${JSON.stringify(entry)}},"t":"é/"}`,
    )
  })

  it.skipIf(JSON.rawJSON === undefined)('writing an entry keeps numbers as they were written', () => {
    const text = '{"a":12345678901234567890,"b":1.0,"c":1e400,"mcpServers":{}}'
    expect(written(text, entry)).toContain('{"a":12345678901234567890,"b":1.0,"c":1e400,')
  })
})

describe('a file that is left to the user', () => {
  it.each([
    ['a line comment', '{ // mine\n "mcpServers": { "b": { "command": "y" } } }'],
    ['a comment in a block', '{ "mcpServers": { /* "c": 1 } */ "b": { "command": "y" } } }'],
    ['a trailing comma', '{ "mcpServers": { "b": { "command": "y", }, }, }'],
    ['comments alone', '// mine\n'],
    ['a comment behind the last comma', '{ "mcpServers": { "b": { "command": "y" }, /* c */ \n // d\n } }'],
  ])('a file with %s is read and not written', (_, text) => {
    const { entries, write } = listIn(text)
    expect(write).toBe('it has comments or trailing commas, which would be lost')
    expect([...(entries ?? [])]).toEqual(text.includes('"b"') ? [['b', { command: 'y' }]] : [])
  })

  it('a file with strings that look like comments is read', () => {
    const text = '{ "mcpServers": { "b": { "url": "https://a.example/*x*/", "q": "\\", ]//" } }, }'
    expect(listIn(text).entries?.get('b')).toEqual({ url: 'https://a.example/*x*/', q: '", ]//' })
  })

  it.each([
    ['a key twice', '{"a":1,"a":2}'],
    ['a key twice, far down', '{"a":[{"b":1,"b":1}]}'],
    ['keys that JavaScript sorts', '{"10":1,"2":2}'],
  ])('a file with %s is not written', (_, text) => {
    expect(listIn(text).write).toBe('it has repeated keys or numbers, which writing it would change')
  })

  it('a TOML file is not read', () => {
    const { entries, write } = listIn('a = 1', findClient('codex'))
    expect([entries, write]).toEqual([undefined, 'it is TOML, which is not edited here'])
  })
})

describe('an invalid file', () => {
  it.each([
    ['{', 'it is not valid JSON.'],
    ['{ "token": s3cret }', 'it is not valid JSON.'],
    ['[]', 'its content is not an object.'],
    ['{"mcpServers":[]}', '"mcpServers" is not an object.'],
    ['{"mcpServers":null, }', '"mcpServers" is not an object.'],
  ])('an invalid file is refused: %s', (text, message) => {
    const error = thrownBy(() => listIn(text))
    expect(error?.message).toContain(message)
    expect(error?.message).not.toContain('s3cret')
  })

  it('an invalid file is refused in time that grows with its length alone', () => {
    const long = 100_000
    for (const text of [
      `"${'\\"'.repeat(long)}`,
      `{/*${'/*'.repeat(long)}`,
      `{${','.repeat(long)}`,
      `{"a":"${'\\\n'.repeat(long)}`,
    ])
      expect(thrownBy(() => listIn(text))?.message).toContain('is left as it is')
  })
})
