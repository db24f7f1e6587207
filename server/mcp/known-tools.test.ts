import { expect, it } from 'vitest'
import type { Call } from '../core/access/call-record.ts'
import { KnownTools } from './known-tools.ts'

const tool = (name: string): Call => ({ event: 'tool_called', field: 'tool', name })
const policy = { allow: ['*'], deny: [], publicTools: new Set<string>(), scopes: [] }
const named = (...names: string[]): { name: string }[] => names.map((name) => ({ name }))
const page = { isFirst: true, isLast: true }

it('a tool is known once a call of it has succeeded, until the list is complete', () => {
  const known = new KnownTools(policy)
  expect([known.has(tool('a')), known.succeeded(tool('a')), known.has(tool('a'))]).toEqual([
    undefined,
    true,
    true,
  ])
  known.list(named('b'), page)
  expect(known.succeeded(tool('c'))).toBeUndefined()
  expect(['a', 'b', 'c'].map((name) => known.has(tool(name)))).toEqual([true, true, false])
})

it('a list of tools is complete with its last page, if it was read from the first', () => {
  const known = new KnownTools(policy)
  known.list(named('b'), { isFirst: false, isLast: true })
  expect(known.has(tool('c'))).toBeUndefined()
  known.list(named('a'), { isFirst: true, isLast: false })
  expect(known.has(tool('c'))).toBeUndefined()
  known.list(named('b'), { isFirst: false, isLast: true })
  expect(['a', 'b', 'c'].map((name) => known.has(tool(name)))).toEqual([true, true, false])
})

it('a successful call leaves the mark that a list gave its tool, also while that list is incomplete', () => {
  const known = new KnownTools({ ...policy, scopes: [['@writes', 'write']] })
  const annotations = { readOnlyHint: true }
  known.list([{ name: 'read', annotations }], { isFirst: true, isLast: false })
  known.succeeded(tool('read'))
  expect([known.scopeOf('read'), known.scopeInDoubt('read')]).toEqual([undefined, undefined])
})

it('the scope of a tool that was called and never listed stays in doubt', () => {
  const known = new KnownTools({ ...policy, scopes: [['@writes', 'write']] })
  known.succeeded(tool('read'))
  expect(known.scopeInDoubt('read')).toBe('write')
  known.list(named('read'), page)
  expect(known.scopeInDoubt('read')).toBeUndefined()
})

it('of 10,000 known tools each is a write again once a list comes without its mark', () => {
  const known = new KnownTools({ ...policy, scopes: [['@writes', 'write']] })
  const annotations = { readOnlyHint: true }
  const tools = Array.from({ length: 10_000 }, (_, index) => ({ name: String(index), annotations }))
  known.list(tools, page)
  expect(known.scopeOf('9999')).toBeUndefined()
  known.list(named('9999'), page)
  expect(known.scopeOf('9999')).toBe('write')
})

it('at most 10,000 names of tools are kept', () => {
  const known = new KnownTools(policy)
  known.list(
    Array.from({ length: 10_001 }, (_, index) => ({ name: String(index) })),
    page,
  )
  expect([known.has(tool('9999')), known.has(tool('10000'))]).toEqual([true, false])
})
