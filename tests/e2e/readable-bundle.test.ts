import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

// Operators compare it with its source, and read its names in the stacks of logs.
describe.each([
  ['server', /class StoreUnavailableError|StoreUnavailableError = class /],
  ['bridge', /async function connect\(/],
])('the bundle of the %s', (program, name) => {
  it('the bundle keeps the names of its classes and functions, and its lines', () => {
    const all = globSync(`${program}/dist/*.mjs`, { cwd: root }).map(read).join('\n')
    expect(all).toMatch(name)
    expect(all.length / all.split('\n').length).toBeLessThan(80)
  })

  it('the bundle has source maps with paths of the repository only', () => {
    const maps = globSync(`${program}/dist/*.mjs.map`, { cwd: root })
    expect(maps.length).toBeGreaterThan(10)
    for (const path of maps) {
      const { sources } = JSON.parse(read(path)) as { sources: string[] }
      expect(
        sources.filter((source) => !/^(?:\.\.\/)+(?!\.)/.test(source)),
        path,
      ).toEqual([])
    }
  })
})
