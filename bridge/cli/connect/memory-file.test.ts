import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { memoryOf } from './memory-file.ts'

describe('the memory of a server', () => {
  let home: string
  const notes: string[] = []
  beforeEach(() => {
    home = temporaryFolder()
    notes.length = 0
  })
  const open = (at = home): ReturnType<typeof memoryOf> => {
    const oauth = { serverUrl: 'https://a.example/mcp', profile: 'default' }
    return memoryOf({ oauth, credentials: { home: at } } as BridgeConfig, (text) => notes.push(text))
  }

  it('the memory of a server is read back as it was written', () => {
    const memory = {
      era: 'legacy' as const,
      transport: 'http' as const,
      initializeResult: { protocolVersion: '2025-11-25' },
      tools: [{ name: 'a' }],
    }
    open().write(memory)
    expect(open().read()).toEqual(memory)
    const [name = '', ...others] = readdirSync(join(home, 'servers'))
    expect([others, statSync(join(home, 'servers', name)).mode & 0o777]).toEqual([[], 0o600])
  })

  it.each(['', '{', '[]', '{"version":2,"era":"legacy","transport":"http","at":1}'])(
    'the memory of a server ignores a file with %s',
    (text) => {
      open().write({ era: 'legacy', transport: 'http' })
      const folder = join(home, 'servers')
      for (const name of readdirSync(folder)) writeFileSync(join(folder, name), text)
      expect(open().read()).toBeUndefined()
    },
  )

  it('the memory of a server does not throw if its file is missing or cannot be written', () => {
    expect(open().read()).toBeUndefined()
    writeFileSync(join(home, 'file'), '')
    const file = open(join(home, 'file'))
    expect(file.read()).toBeUndefined()
    file.write({ era: 'legacy', transport: 'http' })
    expect(notes).toHaveLength(1)
  })
})
