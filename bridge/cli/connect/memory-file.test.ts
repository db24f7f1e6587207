import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createMemoryFile } from './memory-file.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

describe('the memory of a server', () => {
  let folder: string
  let path: string
  const notes: string[] = []
  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'servers', 'a.json')
    notes.length = 0
  })
  const open = (at = path): ReturnType<typeof createMemoryFile> =>
    createMemoryFile(at, (text) => notes.push(text))

  it('is read as it was written', () => {
    const memory = {
      era: 'legacy' as const,
      transport: 'http' as const,
      at: 5,
      lacks: { era: 'modern' as const, at: 4 },
      initializeResult: { protocolVersion: '2025-11-25' },
      tools: [{ name: 'a' }],
    }
    open().write(memory)
    expect(open().read()).toEqual(memory)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder, 'servers'))).toEqual(['a.json'])
  })

  it('leaves nothing of a process that was killed while it wrote', () => {
    const memory = { era: 'legacy' as const, transport: 'http' as const, at: 5 }
    open().write(memory)
    for (const name of ['a.json.0123456789ab', 'a.json.ba9876543210', 'b.json']) {
      writeFileSync(join(folder, 'servers', name), '{')
      if (!name.endsWith('0')) utimesSync(join(folder, 'servers', name), 1, 1)
    }
    open().write(memory)
    // The other one may be somebody's who writes right now.
    expect(readdirSync(join(folder, 'servers'))).toEqual(['a.json', 'a.json.ba9876543210', 'b.json'])
  })

  it.each([
    '',
    '{',
    '[]',
    '{"version":2,"era":"legacy","transport":"http","at":1}',
    '{"version":1,"era":"old","transport":"http","at":1}',
    '{"version":1,"era":"legacy","transport":"carrier pigeon","at":1}',
  ])('of %s is none', (text) => {
    const file = open(join(folder, 'b.json'))
    writeFileSync(join(folder, 'b.json'), text)
    expect(file.read()).toBeUndefined()
  })

  it('is without members that nobody can use', () => {
    writeFileSync(
      join(folder, 'b.json'),
      '{"version":1,"era":"legacy","transport":"http","tools":[1,{"name":"a"}],"discoverResult":7,"lacks":"modern"}',
    )
    expect(open(join(folder, 'b.json')).read()).toEqual({
      era: 'legacy',
      transport: 'http',
      at: 0,
      tools: [{ name: 'a' }],
    })
  })

  it('that is not there, or cannot be written, ends nothing', () => {
    expect(open().read()).toBeUndefined()
    open('/dev/null/nowhere/a.json').write({ era: 'legacy', transport: 'http', at: 1 })
    expect(notes).toHaveLength(1)
  })

  it('is not kept when it is huge', () => {
    open().write({ era: 'legacy', transport: 'http', at: 1, tools: [{ text: 'x'.repeat(9_000_000) }] })
    expect(open().read()).toBeUndefined()
  })
})
