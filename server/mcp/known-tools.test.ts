import { expect, it } from 'vitest'
import { KnownTools, ToolCatalogue } from './known-tools.ts'

let now = 0
const nowMs = (): number => now
const known = new KnownTools({ learnsFromCalls: false })

it('the tool catalogue requests all pages when a name is unknown, once for all callers, and not again at once', async () => {
  const asked: unknown[] = []
  const pages: Record<string, object> = {
    first: { tools: [{ name: 'a' }, 'rubbish'], nextCursor: 'second' },
    second: { tools: [{ name: 'b' }] },
  }
  const catalogue = new ToolCatalogue(
    known,
    async (cursor) => {
      asked.push(cursor)
      return pages[cursor ?? 'first']
    },
    nowMs,
  )
  expect(await Promise.all(['b', 'c', 'b'].map((name) => catalogue.knows(name)))).toEqual([true, false, true])
  expect(await catalogue.knows('c')).toBe(false)
  expect(asked).toEqual([undefined, 'second'])
  now += 1000
  expect(await catalogue.knows('c')).toBe(false)
  expect(asked).toHaveLength(4)
  catalogue.expire()
  pages['second'] = { tools: [{ name: 'c' }] }
  expect(await catalogue.knows('c')).toBe(true)
})

it.each([
  ['that has no end', async () => ({ tools: [], nextCursor: 'more' })],
  ['that is none', async () => ({})],
  ['that fails', () => Promise.reject(new Error('No.'))],
])('the tool catalogue decides nothing about a name after a list %s', async (_, list) => {
  const catalogue = new ToolCatalogue(known, list, nowMs)
  expect(await catalogue.knows('a')).toBeUndefined()
})
